"""Blocks that keep state from frame to frame run on one lane, and the rest is planned as ever."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.plan import candidates, chain, exhaustive, make_baseline, make_plan, pareto
from evener.plan.bound import find_bound
from evener.plan.problem import Problem, make_problem
from evener.plan.steps import Chain

ProfileOf = Callable[..., Profile]
Sizes = dict[str, int]


def even(sizes: Sizes, block_s: float = 1.0) -> dict[tuple[str, int], Callable[[int, int], float]]:
    """Let each block take a second on any core, and no less on two."""
    return {
        (name, cores): lambda first, last: block_s * (last - first + 1)
        for name, units in sizes.items()
        for cores in range(1, units + 1)
    }


def lanes(plan: Plan) -> list[int]:
    return [len(stage.lanes) for stage in plan.stages]


def periods_s(chains: tuple[Chain, ...]) -> dict[int, float]:
    return {each.credits: each.period_s for each in chains}


def random_problem(
    profile_of: ProfileOf, blocks: int, sizes: Sizes, states: list[int], random: Random
) -> Problem:
    times = {
        (name, cores): lambda *_: random.uniform(0.1, 9.0)
        for name, units in sizes.items()
        for cores in range(1, units + 1)
    }
    energies = {key: lambda *_: random.uniform(0.1, 9.0) for key in times}
    made = profile_of(blocks, sizes, times, energies=energies, states=states[:blocks])
    return make_problem(made)


instances = st.tuples(
    st.integers(1, 4),
    st.sampled_from([{"cpu0": 2}, {"cpu0": 3}, {"cpu0": 2, "cpu1": 1}, {"cpu0": 2, "gpu0": 1}]),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.randoms(use_true_random=False),
)


@settings(deadline=None, max_examples=40)
@given(instance=instances)
def test_the_fronts_are_those_of_all_plans(
    profile_of: ProfileOf, instance: tuple[int, Sizes, list[int], Random]
) -> None:
    problem = random_problem(profile_of, *instance)

    expected = periods_s(exhaustive.front(problem))
    assert periods_s(chain.front(problem)) == pytest.approx(expected)
    energies = [sorted(each.energy_j for each in module(problem)) for module in
                (pareto.front, exhaustive.pareto_front)]  # fmt: skip
    assert energies[0] == pytest.approx(energies[1])


@settings(deadline=None, max_examples=40)
@given(instance=instances)
def test_no_stage_with_a_state_has_two_lanes_and_no_plan_exceeds_the_bound(
    profile_of: ProfileOf, instance: tuple[int, Sizes, list[int], Random]
) -> None:
    problem = random_problem(profile_of, *instance)
    states = instance[2]

    for found in chain.front(problem):
        for step in found.steps:
            if any(states[step.first_block : step.last_block + 1]):
                assert sum(count for _, count in step.team.lanes) == 1
        assert 1 / found.period_s <= find_bound(problem).rate_hz


def test_what_lies_before_and_behind_the_state_still_has_copies(profile_of: ProfileOf) -> None:
    sizes = {"cpu0": 5}
    profile = profile_of(5, sizes, even(sizes), states=[0, 0, 1, 0, 0])

    plan = make_plan(profile)

    assert plan.rate_hz == pytest.approx(1.0)
    assert [(stage.first_block, stage.last_block) for stage in plan.stages if len(stage.lanes) == 1]
    assert sum(lanes(plan)) == 5
    assert all(
        len(stage.lanes) == 1 for stage in plan.stages if stage.first_block <= 2 <= stage.last_block
    )


def test_the_quickest_lane_of_the_state_bounds_every_plan(profile_of: ProfileOf) -> None:
    sizes = {"cpu0": 4}
    profile = profile_of(2, sizes, even(sizes), states=[0, 1])

    assert find_bound(make_problem(profile)).rate_hz == pytest.approx(1.0)
    without = profile_of(2, sizes, even(sizes))
    assert find_bound(make_problem(without)).rate_hz == pytest.approx(2.0)


def test_copies_of_a_network_with_state_are_one(profile_of: ProfileOf) -> None:
    sizes = {"cpu0": 2}
    profile = profile_of(2, sizes, even(sizes), states=[0, 1])

    assert lanes(make_baseline(profile, "copies")) == [1]
    assert lanes(make_baseline(profile, "single")) == [1]
    assert lanes(make_baseline(profile, "all_cores")) == [1]
    assert lanes(make_baseline(profile_of(2, sizes, even(sizes)), "copies")) == [2]


def test_no_candidate_splits_a_state(profile_of: ProfileOf) -> None:
    sizes = {"cpu0": 3}
    profile = profile_of(3, sizes, even(sizes), states=[0, 1, 0])

    for plan in candidates(profile, best=10):
        for stage in plan.stages:
            assert len(stage.lanes) == 1 or not stage.first_block <= 1 <= stage.last_block


def test_states_add_up_over_a_segment_and_may_be_taken_back(profile_of: ProfileOf) -> None:
    # By the rule "node" the second step takes back what the first did: only blocks 0 and 3 keep it.
    sizes = {"cpu0": 2}
    problem = make_problem(profile_of(4, sizes, even(sizes), states=[1, -1, 0, 1]))

    assert problem.stateful_BE is not None
    kept = [
        (first, last)
        for first in range(4)
        for last in range(first, 4)
        if problem.stateful_BE[first, last]
    ]
    assert kept == [(0, 0), (0, 3), (2, 3), (3, 3)]
