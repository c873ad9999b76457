"""Trying every chain of stages."""

from collections.abc import Callable

import pytest

from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError, InputError
from evener.plan.exhaustive import front, pareto_front
from evener.plan.problem import make_problem
from evener.testing.chains import every_chain

ProfileOf = Callable[..., Profile]


def test_all_chains_of_two_blocks_on_two_cores(profile_of: ProfileOf) -> None:
    problem = make_problem(profile_of(2, {"cpu0": 2}, {}))

    found = {
        tuple(
            (step.first_block, step.last_block, problem.core_sets[index].cores, lanes)
            for step in steps
            for index, lanes in step.team.lanes
        )
        for steps in every_chain(problem)
    }

    assert found == {
        ((0, 1, 1, 1),),  # one core
        ((0, 1, 2, 1),),  # both together
        ((0, 1, 1, 2),),  # two copies
        ((0, 0, 1, 1), (1, 1, 1, 1)),  # two stages
    }


def test_the_front_of_a_case_done_by_hand(profile_of: ProfileOf) -> None:
    times = {
        ("cpu0", 1): lambda first, last: 2.0 * (last - first + 1),
        ("cpu0", 2): lambda first, last: 1.5 * (last - first + 1),
    }
    problem = make_problem(profile_of(2, {"cpu0": 2}, times))

    assert [(each.credits, each.period_s) for each in front(problem)] == [(1, 3.0), (2, 2.0)]


def test_teams_that_others_beat_are_no_part_of_any_front(profile_of: ProfileOf) -> None:
    """By hand: one block, two clocks; the lower takes longer and half the energy."""
    times = {("gpu0", 1, 1e9): lambda *_: 4.0, ("gpu0", 1, 2e9): lambda *_: 2.0}
    joules = {("gpu0", 1, 1e9): lambda *_: 3.0, ("gpu0", 1, 2e9): lambda *_: 6.0}
    problem = make_problem(profile_of(1, {"gpu0": 1}, times, energies=joules, idle_w=1.0))

    quickest = [(each.period_s, each.energy_j) for each in front(problem)]
    weighed = [(each.period_s, each.energy_j) for each in pareto_front(problem)]

    assert quickest == [(2.0, 6.0 + 2.0)]
    assert weighed == [(2.0, 6.0 + 2.0), (4.0, 3.0 + 4.0)]


def test_too_many_chains_to_try_are_refused_with_their_number(profile_of: ProfileOf) -> None:
    times = {("cpu0", 1): lambda *_: 1.0}
    problem = make_problem(profile_of(30, {"cpu0": 8}, times))

    with pytest.raises(InputError, match=r"trying all \d{7,} plans of 30 blocks .* method 'dp'"):
        front(problem)


def test_blocks_without_times_are_refused(profile_of: ProfileOf) -> None:
    with pytest.raises(InfeasibleError, match=r"blocks \[0, 1\] of 2 have no time"):
        front(make_problem(profile_of(2, {"cpu0": 2}, {})))
