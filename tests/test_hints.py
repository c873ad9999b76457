"""Which known name a wrong one was probably meant to be."""

import pytest

from evener.hints import did_you_mean

KNOWN = ["accuracy", "Size", "latency_p99"]


@pytest.mark.parametrize(
    ("name", "meant"), [("acuracy", "accuracy"), ("SIZE", "Size"), ("latency_p90", "latency_p99")]
)
def test_the_nearest_name_is_shown_as_it_is_written(name: str, meant: str) -> None:
    assert did_you_mean(name, KNOWN) == f"did you mean '{meant}'? "


def test_nothing_is_asked_where_no_name_is_near() -> None:
    assert did_you_mean("colour", KNOWN) == ""
    assert did_you_mean("size", []) == ""


def test_a_lower_cutoff_finds_names_that_are_less_alike() -> None:
    assert did_you_mean("late", KNOWN) == ""
    assert did_you_mean("late", KNOWN, cutoff=0.5) == "did you mean 'latency_p99'? "
