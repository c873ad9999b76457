"""Trials are shortened to what a budget has time for, and no further."""

import pytest

from evener.artifacts.search_section import SearchSection
from evener.artifacts.search_state import SearchState
from evener.workflow.shortening import Shortening, outgrown, shorten, shortening_of

NOTHING = SearchState(search={}, rival={}, scored=(), random=(), generations=())
MNIST = 48_000


@pytest.mark.parametrize(
    ("epoch_s", "epochs", "rows", "children"),
    [
        (None, 15, None, 10),
        (0.1, 15, None, 10),
        (5.0, 3, None, 6),  # 360 s for 24 networks of 15 s
        (15.0, 1, None, 6),
        (30.0, 1, MNIST // 2, 6),
        (3e4, 1, 1000, 2),  # the least there may be, though not in time
    ],
)
def test_first_epochs_are_cut_then_rows_and_the_first_generation(
    epoch_s: float | None, epochs: int, rows: int | None, children: int
) -> None:
    found = shorten(SearchSection(budget="8 min"), epoch_s, 360.0, rows=MNIST)

    assert found == (Shortening(epochs, rows, 480.0), children)


def test_rows_are_cut_of_those_that_were_asked_for() -> None:
    section = SearchSection(rows=10_000)

    found, _ = shorten(section, 30.0, 360.0, rows=MNIST)

    assert found.rows == 5000
    assert found.of(section) == SearchSection(rows=5000, epochs=1)
    plain, _ = shorten(section, 0.1, 360.0, rows=MNIST)
    assert plain.of(section) == section


def test_algorithm_1_keeps_its_rows() -> None:
    section = SearchSection(algorithm="coevolution", epochs=6)

    found, children = shorten(section, 1.0, 360.0, rows=MNIST, expected=90)

    assert (found.epochs, found.rows, children) == (2, None, None)


def test_what_was_shortened_is_said_with_what_to_do() -> None:
    section = SearchSection(budget="40 s", epochs=15)

    assert Shortening(15, None, 40.0).warnings(section) == ()
    [said] = Shortening(4, None, 40.0).warnings(section)
    assert said.startswith("budget: trials have 4 epochs in place of 15, for which 40 s is too")
    assert "raise search.budget" in said


@pytest.mark.parametrize(
    ("epochs", "rows", "budget", "wanted"),
    [
        (15, None, "60 min", False),  # they were whole
        (4, None, "60 min", True),
        (15, 5000, "60 min", True),
        (4, None, "18 min", False),  # not so much longer that it pays to begin anew
        (4, None, "1 min", False),
    ],
)
def test_much_more_time_outgrows_short_trials(
    epochs: int, rows: int | None, budget: str, wanted: bool
) -> None:
    state = SearchState(
        search={}, rival={}, scored=(), random=(), generations=(), epochs=epochs, rows=rows,
        budget_s=600.0,
    )  # fmt: skip

    assert outgrown(SearchSection(budget=budget), state) is wanted
    assert shortening_of(state) == Shortening(epochs, rows, 600.0)


def test_before_anything_was_decided_nothing_is_outgrown() -> None:
    assert shortening_of(NOTHING) is None
    assert not outgrown(SearchSection(), NOTHING)
