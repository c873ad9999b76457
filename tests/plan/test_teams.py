"""Listing what a stage can run on, at which clocks."""

from collections.abc import Callable
from itertools import combinations

import pytest

from evener.artifacts.profile import Profile
from evener.plan.problem import make_problem

ProfileOf = Callable[..., Profile]
Offered = list[tuple[int, float | None]]


def core_sets(profile: Profile) -> Offered:
    return [(one.cores, one.clock_hz) for one in make_problem(profile).core_sets]


def test_a_whole_processor_is_offered_at_every_clock_and_its_cores_at_the_highest(
    profile_of: ProfileOf,
) -> None:
    keys = [(1, 1e9), (1, 2e9), (2, 1e9), (2, 2e9)]
    times = {("cpu0", cores, clock): (lambda *_: 1.0) for cores, clock in keys}

    assert core_sets(profile_of(1, {"cpu0": 2}, times)) == [(1, 2e9), (2, 2e9), (2, 1e9)]


def test_where_the_system_chooses_for_the_cores_it_may_for_the_processor(
    profile_of: ProfileOf,
) -> None:
    times = {
        ("cpu0", 1): lambda *_: 2.0,
        ("cpu0", 2): lambda *_: 1.0,
        ("cpu0", 2, 1e9): lambda *_: 1.5,
    }

    assert core_sets(profile_of(1, {"cpu0": 2}, times)) == [(1, None), (2, None), (2, 1e9)]


def test_no_plan_can_set_a_processor_to_two_clocks(profile_of: ProfileOf) -> None:
    keys = [(1, 1e9), (1, 2e9), (3, 1e9), (3, 2e9)]
    times = {("cpu0", cores, clock): (lambda *_: 1.0) for cores, clock in keys}
    problem = make_problem(profile_of(3, {"cpu0": 3}, times))

    for one, other in combinations([*problem.teams, *problem.teams], 2):
        if one.usage[0] + other.usage[0] <= problem.grains[0]:
            clocks = {problem.core_sets[index].clock_hz for index, _ in (*one.lanes, *other.lanes)}
            assert len(clocks) == 1


@pytest.mark.parametrize("clocks", [(), (1e9, 2e9)])
def test_a_device_without_times_is_offered_once(
    profile_of: ProfileOf, clocks: tuple[float, ...]
) -> None:
    times = {("gpu0", 1, clock): (lambda *_: None) for clock in clocks}

    assert core_sets(profile_of(1, {"gpu0": 1}, times)) == [(1, None)]
