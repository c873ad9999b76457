"""Proposing architectures."""

from itertools import pairwise
from math import log

from hypothesis import given
from hypothesis import strategies as st

from evener.search.candidates import propose


@given(st.integers(1, 2000), st.integers(2, 500), st.integers(1, 12), st.integers(0, 9))
def test_as_many_different_ones_as_asked_for_cheapest_first(
    features: int, classes: int, count: int, seed: int
) -> None:
    proposed = propose(features, classes, count, seed)

    costs = [one.macs(features, classes) for one in proposed]
    assert len({one.id for one in proposed}) == count
    assert costs == sorted(costs)
    assert all(1 <= len(one.hidden) <= 2 for one in proposed)


def test_the_same_seed_proposes_the_same_and_another_seed_others() -> None:
    assert propose(64, 10, 6, seed=3) == propose(64, 10, 6, seed=3)
    assert propose(64, 10, 6, seed=3) != propose(64, 10, 6, seed=4)


def test_costs_are_spread_by_about_equal_factors() -> None:
    for seed in range(10):
        costs = [one.macs(64, 10) for one in propose(64, 10, 6, seed)]
        steps = [log(next_ / one) for one, next_ in pairwise(costs)]
        assert costs[-1] > 30 * costs[0]
        assert max(steps) < 2.5 * sum(steps) / len(steps)


def test_more_than_there_are_gives_all_there_are() -> None:
    everything = propose(4, 3, 10_000, seed=0)

    assert len(everything) < 10_000
    assert propose(4, 3, len(everything) + 1, seed=1) == everything
