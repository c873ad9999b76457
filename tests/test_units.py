"""Quantities are parsed into SI units and shown to three digits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener import units
from evener.errors import InputError


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("20 ms", "time", 0.02),
        ("20ms", "time", 0.02),
        (" 1.5 h ", "time", 5400),
        ("2 MiB", "size", 2**21),
        ("30 /min", "rate", 0.5),
        ("5 mJ", "energy", 0.005),
        ("97 %", "number", 0.97),
        ("1e3", "number", 1000),
    ],
)
def test_units_become_si(text: str, dimension: units.Dimension, value: float) -> None:
    assert units.parse(text, dimension) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "dimension", "message"),
    [
        ("fast", "rate", "is not a rate"),
        ("", "time", "is not a time"),
        ("20", "time", "has no unit"),
        ("20 MB", "time", "has the unit 'MB', and is no time"),
        ("nan s", "time", "is not a time"),
        ("1e999 s", "time", "'1e999 s' is too large to hold: write '20 ms'"),
    ],
)
def test_a_wrong_quantity_says_what_to_write(
    text: str, dimension: units.Dimension, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        units.parse(text, dimension)


@pytest.mark.parametrize(
    ("value", "dimension", "shown"),
    [
        (0.9996, "time", "1 s"),
        (999.7, "rate", "1000 /s"),
        (999_800.0, "size", "1 MB"),
        (12_345.6, "rate", "12346 /s"),
        (-0.9996, "time", "-1 s"),
    ],
)
def test_what_rounds_up_to_the_next_unit_is_shown_in_it(
    value: float, dimension: units.Dimension, shown: str
) -> None:
    assert units.show(value, dimension) == shown


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_what_is_shown_reads_back_within_three_digits(value: float) -> None:
    assert units.parse(units.show(value, "time"), "time") == pytest.approx(value, rel=5.1e-3)
