"""Trials and generations follow the speed of the machine and the budget."""

import pytest

from evener.artifacts.search_section import SearchSection
from evener.workflow.pace import Pace, children_of, epochs_of, first_children_of

SECTION = SearchSection(population=10, generations=6, epochs=15)


@pytest.mark.parametrize(
    ("each_s", "limit_s", "epochs"),
    [(None, 1.0, 15), (0.0, 1.0, 15), (0.01, 450.0, 15), (2.0, 480.0, 10), (60.0, 90.0, 1)],
)
def test_a_trial_has_as_many_epochs_as_twelve_networks_have_time_for(
    each_s: float | None, limit_s: float, epochs: int
) -> None:
    assert epochs_of(SECTION, each_s, limit_s) == epochs


@pytest.mark.parametrize(
    ("pace", "children"),
    [
        (Pace(done=1, tried=20, took_s=20.0, left_s=None), 10),
        (Pace(done=1, tried=0, took_s=0.0, left_s=1.0), 10),
        (Pace(done=1, tried=20, took_s=20.0, left_s=100.0), 10),
        (Pace(done=1, tried=20, took_s=20.0, left_s=50.0), 5),
        (Pace(done=5, tried=10, took_s=10.0, left_s=14.0), 7),
        (Pace(done=1, tried=20, took_s=20.0, left_s=1.0), 2),
        (Pace(done=6, tried=20, took_s=20.0, left_s=1.0), 10),
    ],
)
def test_generations_are_smaller_where_there_is_no_time_for_large_ones(
    pace: Pace, children: int
) -> None:
    assert children_of(SECTION, pace) == children


@pytest.mark.parametrize(
    ("each_s", "epochs", "limit_s", "children"),
    [
        (None, 15, 1.0, 10),
        (0.01, 15, 450.0, 10),
        (2.0, 10, 480.0, 6),  # where epochs are cut for them, the twelve come first
        (1.0, 1, 30.0, 7),
        (60.0, 1, 90.0, 2),
    ],
)
def test_the_first_generation_is_over_in_time(
    each_s: float | None, epochs: int, limit_s: float, children: int
) -> None:
    assert first_children_of(SECTION, each_s, epochs, limit_s) == children
