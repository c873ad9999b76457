"""The operators: parents, crossover, inversion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.search.bandit import LEARNED, Arm, learn, pull
from evener.search.control import Control
from evener.search.judged import Judged, best_first, judged_of
from evener.search.variation import cross, cut, invert, stream, tournament, truncate


def judged(*objectives: float, violations: tuple[float, ...] = ()) -> Judged:
    count = len(objectives)
    return Judged(
        np.eye(count, dtype=bool),
        np.array(objectives, np.float64)[:, None],
        np.array(violations or (0.0,) * count),
        np.ones(count, bool),
    )


def test_the_best_come_first_then_failures_and_broken_limits_by_how_much() -> None:
    inf = np.inf
    some = judged(3, 1, inf, inf, inf, 1, violations=(0, 0, 0.5, inf, 0.1, 0))

    assert best_first(some).tolist() == [1, 5, 0, 4, 2, 3]


def test_truncation_keeps_the_best_few() -> None:
    assert truncate(judged(3, 1, 2), 2).objectives.ravel().tolist() == [1, 2]


def test_judged_genomes_become_plain_and_back_to_the_bit() -> None:
    some = judged(0.1, np.inf, 1 / 3, violations=(0, np.inf, 0.7))

    back = judged_of(some.plain())

    assert (back.genomes == some.genomes).all()
    assert (back.objectives == some.objectives).all()
    assert (back.violations == some.violations).all()
    assert (back.fresh == some.fresh).all()


@given(st.integers(1, 40), st.integers(0, 99))
def test_a_child_is_one_parent_up_to_a_point_and_then_the_other(length: int, seed: int) -> None:
    first, second = np.zeros((6, length), bool), np.ones((6, length), bool)

    children = cross(first, second, cut(np.ones(6), length, stream(seed)))

    assert (np.diff(children.astype(int), axis=1) >= 0).all()  # zeros, then ones
    assert not children[:, 0].any()
    assert length == 1 or children[:, -1].all()


def test_crossing_happens_as_often_as_its_rate_says() -> None:
    first, second = np.zeros((20_000, 9), bool), np.ones((20_000, 9), bool)
    rates = np.repeat([0.0, 0.3, 1.0, 1.0], 5000)

    children = cross(first, second, cut(rates, 9, stream(0)))
    crossed = children.any(axis=1).reshape(4, -1).mean(axis=1)

    assert crossed[[0, 2]].tolist() == [0.0, 1.0]
    assert abs(crossed[1] - 0.3) < 0.02


def test_every_point_is_as_likely() -> None:
    first, second = np.zeros((24_000, 9), bool), np.ones((24_000, 9), bool)

    ones = cross(first, second, cut(np.ones(24_000), 9, stream(1))).sum(axis=1)

    assert (np.abs(np.bincount(ones)[1:] / 24_000 - 1 / 8) < 0.01).all()


def test_bits_are_inverted_as_often_as_their_rate_says() -> None:
    genomes = stream(2).random((3, 40_000)) < 0.5

    changed = (invert(genomes, np.array([0.0, 0.1, 1.0]), stream(3)) != genomes).mean(axis=1)

    assert changed[[0, 2]].tolist() == [0.0, 1.0]
    assert abs(changed[1] - 0.1) < 0.01


def test_a_tournament_of_all_is_won_by_the_best_and_of_one_by_anyone() -> None:
    places = np.array([2, 0, 1])

    assert (tournament(places, 5, 8, stream(0)) == 1).all()
    drawn = np.bincount(tournament(places, 1, 9000, stream(0))) / 9000
    assert (np.abs(drawn - 1 / 3) < 0.02).all()


def test_a_tournament_of_two_of_three_is_won_by_the_best_in_two_of_three() -> None:
    won = np.bincount(tournament(np.array([2, 0, 1]), 2, 9000, stream(0)), minlength=3) / 9000

    assert won[0] == 0
    assert abs(won[1] - 2 / 3) < 0.02


@pytest.mark.parametrize(("new", "factor"), [(0, 1.1), (4, 1.0), (12, 1.0), (20, 1 / 1.1)])
def test_the_rate_is_corrected_only_outside_the_band(new: int, factor: float) -> None:
    after = Control(rate=0.1).after(made=20, new=new)

    assert after.rate == pytest.approx(0.1 * factor)
    assert after.lambda_ == new / 20


def test_the_share_is_not_believed_before_there_are_enough_offspring() -> None:
    control = Control(rate=0.1)
    for _ in range(2):
        control = control.after(made=10, new=0)  # 18 after the second
    assert control.rate == 0.1

    assert control.after(made=10, new=0).rate == pytest.approx(0.11)


def test_the_rate_stays_between_its_bounds() -> None:
    low, high = Control(rate=1e-4), Control(rate=0.49)
    for _ in range(50):
        low, high = low.after(made=100, new=100), high.after(made=100, new=0)

    assert (low.rate, high.rate) == (1e-4, 0.5)


def test_the_open_band_leaves_the_rate_alone() -> None:
    control = Control(rate=0.1, low=0.0, high=1.0)

    assert control.after(100, 0).rate == control.after(100, 100).rate == 0.1


def test_older_outcomes_count_less() -> None:
    arms = (Arm(wins=100.0, losses=20.0), Arm())

    one, other = learn(arms, np.array([0, 1, 1]), np.array([True, True, False]))

    assert (one.wins, one.losses) == (96.0, 19.0)
    assert (other.wins, other.losses) == (1.0, 1.0)


def test_the_bandit_finds_the_arm_that_wins_most() -> None:
    arms: tuple[Arm, ...] = LEARNED
    chances = np.array([0.1, 0.1, 0.5, 0.1])
    for generation in range(60):
        rng = stream(7, generation)
        pulled = pull(arms, 10, rng)
        arms = learn(arms, pulled, rng.random(10) < chances[pulled])

    assert np.bincount(pull(arms, 1000, stream(0)), minlength=4).argmax() == 2
    assert (pull(arms, 1000, stream(0)) == 2).mean() > 0.8
