"""A value that does not fit is named with every key on the way to it, and with its line."""

import tomllib

import msgspec
import pytest

from evener.artifacts.misfit import misfit


class Core(msgspec.Struct, forbid_unknown_fields=True):
    number: int
    shares: dict[str, list[float]] = {}


class File(msgspec.Struct, forbid_unknown_fields=True):
    cores: dict[str, Core]
    name: str = ""
    spare: Core | None = None


def told(text: str, *, lines: bool = True) -> str:
    raw = tomllib.loads(text)
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(raw, File)
    return misfit(raw, File, caught.value, text if lines else "")


TWO = """
[cores.big]
number = 4

[cores."lit tle"]
number = {little}
shares.half = [0.5, {half}]
"""


def test_the_key_that_msgspec_leaves_out_is_named_with_the_line_of_its_table() -> None:
    text = TWO.replace("{little}", '"five"').replace("{half}", "1.0")

    assert told(text) == (
        "cores.lit tle.number (its table begins in line 5): Expected `int`, got `str`"
    )


def test_keys_within_keys_and_places_in_arrays_are_named_too() -> None:
    text = TWO.replace("{little}", "5").replace("{half}", '"all"')

    assert told(text) == (
        "cores.lit tle.shares.half[1] (its table begins in line 5): Expected `float`, got `str`"
    )


def test_the_line_is_that_of_the_innermost_table() -> None:
    text = "[cores.big]\nnumber = 4\n[cores.big.shares]\nhalf = [\n[1.0],\n]"

    assert told(text) == (
        "cores.big.shares.half[0] (its table begins in line 3): Expected `float`, got `array`"
    )


def test_a_field_that_is_missing_is_told_of_the_table_without_it() -> None:
    assert told("[cores.big]\nnumber = 1\n[cores.gpu]\n") == (
        "cores.gpu (its table begins in line 3): Object missing required field `number`"
    )


def test_a_table_in_one_line_has_no_line_of_its_own() -> None:
    assert told('cores = {gpu = {number = "1"}}') == "cores.gpu.number: Expected `int`, got `str`"


def test_without_the_text_no_line_is_named() -> None:
    text = TWO.replace("{little}", '"five"').replace("{half}", "1.0")

    assert told(text, lines=False) == "cores.lit tle.number: Expected `int`, got `str`"


def test_what_is_wrong_at_the_top_is_said_as_it_is() -> None:
    assert told("nmae = 1\n[cores]") == "Object contains unknown field `nmae`"
