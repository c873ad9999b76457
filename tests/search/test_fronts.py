"""Fronts, crowding and hypervolume."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.search.fronts import (
    crowding,
    first_front,
    front_numbers,
    hypervolume,
    ranking,
    sampled_gains,
    volume_gains,
)
from evener.search.judged import Judged
from evener.search.variation import stream

sets = st.tuples(st.integers(1, 12), st.integers(1, 3), st.integers(0, 999))


def points(count: int, objectives: int, seed: int) -> np.ndarray:
    return stream(seed).integers(0, 6, (count, objectives)).astype(float)  # small, so that some tie


def judged(objectives: np.ndarray, violations: np.ndarray | None = None) -> Judged:
    count = len(objectives)
    broken = np.zeros(count) if violations is None else violations
    return Judged(np.zeros((count, 1), bool), objectives, broken, np.ones(count, bool))


def beats(one: np.ndarray, other: np.ndarray) -> bool:
    return bool((one <= other).all() and (one < other).any())


@given(sets)
def test_each_front_is_what_none_of_the_rest_beats(some: tuple[int, int, int]) -> None:
    objectives = points(*some)
    numbers = front_numbers(judged(objectives))

    for index, number in enumerate(numbers):
        rest = objectives[numbers >= number]
        before = objectives[numbers == number - 1]
        assert not any(beats(other, objectives[index]) for other in rest)
        assert number == 0 or any(beats(other, objectives[index]) for other in before)


@given(sets)
def test_the_first_front_is_front_0_without_what_is_equal(some: tuple[int, int, int]) -> None:
    objectives = points(*some)

    front = objectives[first_front(objectives)]

    wanted = np.unique(objectives[front_numbers(judged(objectives)) == 0], axis=0)
    assert front.tolist() == wanted.tolist()  # both sorted by the first objective


def test_who_keeps_the_limits_comes_before_who_is_better_but_breaks_them() -> None:
    objectives = np.array([[1.0, 1.0], [9.0, 9.0], [2.0, 2.0]])
    broken = np.array([0.5, 0.0, 0.1])

    assert front_numbers(judged(objectives, broken)).tolist() == [2, 0, 1]


def test_the_ends_of_a_front_come_first_then_the_loneliest() -> None:
    objectives = np.array([[0.0, 9.0], [1.0, 8.0], [2.0, 2.0], [9.0, 0.0], [9.0, 9.0]])

    assert ranking(judged(objectives)).tolist() == [0, 3, 2, 1, 4]


def test_members_without_objectives_are_not_lonely() -> None:
    assert crowding(np.full((3, 2), np.inf)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_hypervolume_is_the_count_of_cells_that_are_dominated(objectives: int) -> None:
    for seed in range(10):
        some = points(8, objectives, seed)
        cells = np.indices((6,) * objectives).reshape(objectives, -1).T
        dominated = (some[:, None] <= cells[None]).all(axis=2).any(axis=0).sum()

        assert hypervolume(some, np.full(objectives, 6.0)) == dominated


@given(sets, st.integers(0, 99))
def test_a_gain_is_the_hypervolume_with_a_point_less_that_without(
    some: tuple[int, int, int], seed: int
) -> None:
    front, reference = points(*some), np.full(some[1], 4.0)
    candidates = points(5, some[1], seed)

    gains = volume_gains(front, candidates, reference)

    whole = [hypervolume(np.vstack([front, one]), reference) for one in candidates]
    assert gains == pytest.approx(np.array(whole) - hypervolume(front, reference))


@pytest.mark.parametrize("objectives", [3, 4])
def test_a_sampled_gain_is_the_exact_one_to_a_thousandth(objectives: int) -> None:
    rng = np.random.default_rng(objectives)
    some = rng.random((40, objectives))
    front, candidates = some[first_front(some)], rng.random((40, objectives)) - 0.2

    gains = sampled_gains(front, candidates)

    exact = volume_gains(front, np.clip(candidates, 0, None), np.ones(objectives))
    beyond = np.clip(-candidates[:, 0], 0, None) * np.prod(
        1 - np.clip(candidates[:, 1:], 0, None), axis=1
    )  # the first objective has no least value, the others begin at 0
    assert np.abs(gains - exact - beyond).max() < 2e-3
    assert gains.max() > 0.05


def test_a_sampled_gain_never_grows_with_the_front() -> None:
    rng = np.random.default_rng(1)
    front, candidates = rng.random((10, 4)), rng.random((30, 4))

    before = sampled_gains(front[:5], candidates)
    after = sampled_gains(front, candidates)

    assert (after <= before).all()
    assert (after < before).any()


def test_members_beyond_the_reference_change_no_sampled_gain() -> None:
    candidates = np.random.default_rng(2).random((10, 3))
    beyond = np.array([[1.5, 0.0, 0.0], [0.0, 1.5, 0.0]])

    gains = sampled_gains(beyond, candidates)

    assert (gains == sampled_gains(np.empty((0, 3)), candidates)).all()


def test_what_is_beyond_the_reference_adds_nothing() -> None:
    assert hypervolume(np.array([[3.0, 0.0], [5.0, 5.0]]), np.array([3.0, 3.0])) == 0
