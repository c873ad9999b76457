"""Trials and generations follow the speed of the machine and the budget."""

import pytest

from evener.artifacts.search_section import SearchSection
from evener.workflow.pace import Pace, children_of, epochs_of, first_children_of, pool_of, rows_of

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


@pytest.mark.parametrize(
    ("each_s", "limit_s", "generations", "pool"),
    [
        (0.0, 450.0, 6, 500),
        (0.008, 450.0, 6, 500),
        (0.07, 450.0, 6, 125),  # 214, were it not for the halves
        (0.06, 450.0, 6, 250),
        (0.25, 450.0, 6, 31),
        (9.0, 10.0, 6, 31),  # there is a choice whatever the time
    ],
)
def test_candidates_are_fewer_by_halves_where_a_fifth_of_the_time_prices_no_more(
    each_s: float, limit_s: float, generations: int, pool: int
) -> None:
    assert pool_of(each_s, limit_s, children=10, generations=generations) == pool


@pytest.mark.parametrize(
    ("count", "each_s", "limit_s", "rows"),
    [
        (48_000, None, 30.0, None),
        (48_000, 1.0, 30.0, None),
        (48_000, 12.0, 30.0, 5000),
        (48_000, 1e6, 30.0, 1000),
        (900, 1e6, 30.0, None),  # fewer than the least already
    ],
)
def test_rows_are_fewer_where_one_epoch_over_all_is_too_long(
    count: int, each_s: float | None, limit_s: float, rows: int | None
) -> None:
    assert rows_of(count, each_s, limit_s) == rows
