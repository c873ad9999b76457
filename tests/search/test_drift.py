"""Warnings where chance decides as much as selection about what a population keeps."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.search.drift import MOST_LOST, drift_warning, lost_by_chance
from evener.search.markov import fate
from evener.search.truncation import truncated

as_in_table_1 = partial(drift_warning, elite=1, mutation=1 / 31, generations=9)


def test_a_small_population_is_warned_of_and_a_large_one_is_not() -> None:
    warning = drift_warning(10)

    assert warning is not None
    assert "20 % fitter, and that half of them had, within 100 generations with probabil" in warning
    assert "with probability 0.14; by chance alone it would with 0.50" in warning
    enough = int(warning.rsplit(" ", 2)[1])
    assert drift_warning(enough) is None
    assert drift_warning(enough - 2) is not None
    assert drift_warning(32) is None


def test_the_settings_of_the_papers_table_are_warned_of_and_what_is_advised_is_not() -> None:
    warning = as_in_table_1(10, 4)

    assert warning is not None
    assert "a population of 10, of which the best 4 breed, loses a link" in warning
    assert "with probability 0.17; by chance alone it would with 0.25" in warning
    assert "Let the best 8 of 20 breed: parents = 8, population = 20." in warning
    assert as_in_table_1(20, 8) is None
    assert as_in_table_1(18, 7) is not None


def test_where_nothing_helps_it_says_so() -> None:
    warning = drift_warning(10, advantage=1.0001)

    assert warning is not None
    assert warning.endswith("Not even 200 networks would keep it.")


@given(st.integers(2, 30).map(lambda half: 2 * half), st.floats(1.0, 3.0))
def test_in_the_long_run_it_is_the_fate_of_the_link(population: int, advantage: float) -> None:
    lost = lost_by_chance(population, advantage=advantage, generations=5000)

    assert lost == pytest.approx(fate(population, advantage).lost[population // 2], abs=1e-6)


def test_mutation_brings_links_back_and_an_elite_keeps_them() -> None:
    plain = lost_by_chance(10, 4, generations=9)
    back = lost_by_chance(10, 4, generations=9, mutation=0.1)
    kept = lost_by_chance(10, 4, generations=9, elite=3)

    one_by_one = np.eye(11)[5]
    for _ in range(9):
        one_by_one = one_by_one @ truncated(10, 4, 1.2)
    assert plain == pytest.approx(one_by_one[0])
    assert back < MOST_LOST * 2 < kept < plain


def test_of_large_populations_it_is_known_at_once_and_small_bottlenecks_count() -> None:
    wide = lost_by_chance(10_000, 4_000, generations=9)
    narrow = lost_by_chance(10_000, 4, generations=9)

    assert wide < 1e-6
    assert narrow > 0.1
