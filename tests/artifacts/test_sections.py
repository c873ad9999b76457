"""A value of [data] or [search] that nothing can be done with is refused by its key."""

from typing import Any

import pytest

from evener.artifacts.data_section import DataSection
from evener.artifacts.project import parse_project
from evener.artifacts.search_section import PRESETS
from evener.errors import InvalidProjectError

SHARDS: dict[str, Any] = {"links": "chain", "shards": [1, 2], "halos": ["full", 1]}


@pytest.mark.parametrize(
    ("section", "key", "message"),
    [
        ({"target": []}, "data.target", "name columns, and one of them has no name"),
        ({"text": [""]}, "data.target", "name columns, and one of them has no name"),
        ({"target": ["a", "a"]}, "data.target", "name 'a' twice"),
        ({"target": "a", "text": "a"}, "data.target", "name 'a' twice"),
        ({"target": "a", "drop": ["b", "a"]}, "data.drop", "names 'a', which data.target or"),
        ({"test_source": "b.csv", "split_column": "c"}, "data.split_column", "keep one"),
        ({"only": ["c"]}, "data.only", 'no column and its value: write "c=value"'),
        ({"size": [0, 3]}, "data.size", "must be a width and a height above 0"),
        ({"separator": ""}, "data.separator", "is empty"),
        ({"text_features": 0}, "data.text_features", "must be at least 1"),
        ({"size": [1025, 8]}, "data.size", "must be a width and a height up to 1024"),
    ],
)
def test_data_that_cannot_be_read_so(section: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(InvalidProjectError, match=message) as caught:
        parse_project({"data": {"source": "a.csv", **section}})

    assert caught.value.key == key


@pytest.mark.parametrize(
    ("section", "key", "message"),
    [
        ({"preset": "table2"}, "preset", "is none; there is table1"),
        ({"population": 1}, "population", "must be at least 2"),
        ({"evaluations": 0}, "evaluations", "must be at least 1"),
        ({"seeds": 2}, "seeds", "must be at least 3"),
        ({"depth": 51}, "depth", "must be at most 50"),
        ({"stages": 9}, "stages", "must be at most 8: the first block of each may halve the pict"),
        ({"blocks": 51}, "blocks", "must be at most 50"),
        ({"algorithm": "paper", "parents": 11}, "parents", "must be at most the population, 10"),
        ({"density": 0.0}, "density", "must be above 0, and 1 at most"),
        ({"crossover": 1.5}, "crossover", "must be above 0, and 1 at most"),
        ({"mutation": 0.0}, "mutation", "must be above 0, and 1 at most"),
        ({"widths": [8, 8]}, "widths", "numbers from 1 up, in rising order"),
        ({"channels": [0, 8]}, "channels", "numbers from 1 up, in rising order"),
        ({"channels": []}, "channels", "is empty"),
        ({"activations": []}, "activations", "is empty"),
        ({"elite": 10}, "elite", "must be below the population, 10"),
        ({"shards": [4, 2], "halos": [1]}, "shards", "numbers from 1 up, in rising order"),
        ({"shards": [1, 2]}, "shards", "without search.halos: write halos = "),
        ({"halos": [1]}, "halos", "without search.shards: write shards = "),
        ({"shards": [2], "halos": ["full"]}, "halos", "divides no network: write halos = "),
        ({"shards": [1], "halos": [1]}, "shards", "divides no network: write shards = "),
        (
            {"shards": [2], "halos": [1, "boundary"]},
            "halos",
            "different numbers from 0 up, or full",
        ),
        ({"shards": [2], "halos": [-1]}, "halos", "different numbers from 0 up, or full"),
        ({"shards": [2048], "halos": [1]}, "shards", "at most 1024 each"),
        ({"shards": [2], "halos": [1]}, "links", 'write "chain", or leave out shards and halos'),
        (
            {"algorithm": "coevolution", "shards": [2], "halos": [1]},
            "algorithm",
            "write another algorithm, or leave out shards",
        ),
        (SHARDS | {"recipes": True}, "recipes", "write false, or leave out shards and halos"),
        (SHARDS | {"networks": "blocks"}, "networks", 'write "layers", or leave out shards'),
        ({"band": [0.6, 0.2], "algorithm": "paper"}, "band", "from 0 to 1, the smaller first"),
        ({"band": [-0.1, 0.2], "algorithm": "paper"}, "band", "from 0 to 1, the smaller first"),
        ({"band": [0.2, 1.5], "algorithm": "nsga2"}, "band", "from 0 to 1, the smaller first"),
        ({"band": [0.2, 0.6]}, "band", "sorts out children that are not new before they count"),
        ({"band": "off", "algorithm": "random"}, "band", "which mutates nothing: leave it out"),
        (
            {"band": "off", "algorithm": "coevolution"},
            "band",
            "have a rate of mutation of their own: leave it out, or write one of paper, regu",
        ),
        (
            {"operators": "learned", "algorithm": "regularized"},
            "operators",
            "have one parent and nothing but mutation: leave it out, or write one of screened",
        ),
        ({"operators": "learned", "algorithm": "random"}, "operators", "which has no operators"),
        ({"operators": "learned", "algorithm": "coevolution"}, "operators", "rates of their own"),
        ({"budget": "soon"}, "budget", "'soon'"),
        ({"budget": "0 s"}, "budget", "must be above 0"),
    ],
)
def test_a_search_that_cannot_be_made(section: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(InvalidProjectError, match=message) as caught:
        parse_project({"data": {"source": "digits"}, "search": section})

    assert caught.value.key == f"search.{key}"


@pytest.mark.parametrize(
    ("band", "message"),
    [("on", "search.band"), ([0.2], "search.band"), (True, "search.band"), ("", "search.band")],
)
def test_a_band_is_two_shares_or_off(band: object, message: str) -> None:
    with pytest.raises(InvalidProjectError, match=message):
        parse_project(
            {"data": {"source": "digits"}, "search": {"algorithm": "paper", "band": band}}
        )


def test_a_preset_gives_way_to_the_keys_beside_it() -> None:
    raw = {"data": {"source": "digits"}, "search": {"preset": "table1", "population": 20}}

    search = parse_project(raw).search

    assert (search.population, search.algorithm) == (20, PRESETS["table1"]["algorithm"])


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ({"test_source": "b.csv"}, "test_source"),
        ({"split_column": "c"}, "split_column"),
        ({"only": ("c=1",)}, "only"),
        ({"drop": ("c",)}, "drop"),
        ({"separator": ","}, "separator"),
    ],
)
def test_choices_for_tables_are_refused_where_there_is_none(
    section: dict[str, Any], key: str
) -> None:
    with pytest.raises(InvalidProjectError, match=rf"data\.{key} is for tables, and digits is"):
        DataSection(source="digits", **section).check_numbers()
