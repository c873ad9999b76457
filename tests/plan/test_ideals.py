"""Planning over nested downsets: what a network cut by the rule "node" asks of the planner."""

from collections.abc import Callable, Iterator
from math import inf

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.profile import Profile
from evener.network.downsets import downsets
from evener.plan import chain, exhaustive
from evener.plan.count import divisions, full_configurations, paper_configurations
from evener.plan.decide import make_plan
from evener.plan.problem import make_problem
from evener.testing.chains import every_chain

ProfileOf = Callable[..., Profile]
Costs = dict[str, list[float]]
SIZES = {"cpu0": 1, "cpu1": 1, "gpu0": 1}


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[list[int]], Costs]:
    """A graph of up to five nodes, and seconds of each node on each processor."""
    nodes = draw(st.integers(1, 5))
    needs = [
        draw(st.lists(st.integers(0, node - 1), unique=True, max_size=2)) if node else []
        for node in range(nodes)
    ]
    seconds = st.lists(st.integers(1, 9).map(float), min_size=nodes, max_size=nodes)
    return needs, {name: draw(seconds) for name in SIZES}


def places_of(needs: list[list[int]]) -> tuple[int, ...]:
    listed = downsets(needs, most=100)
    assert listed is not None
    return listed


def profiled(profile_of: ProfileOf, needs: list[list[int]], costs: Costs) -> Profile:
    """Time every segment between two nested downsets; its nodes add up."""
    places = places_of(needs)

    def timed(name: str) -> Callable[[int, int], float | None]:
        def seconds(first: int, last: int) -> float | None:
            before, after = places[first], places[last + 1]
            if before & ~after:
                return None
            ran = after & ~before
            return sum(cost for node, cost in enumerate(costs[name]) if ran >> node & 1)

        return seconds

    sizes = {name: SIZES[name] for name in costs}
    made = profile_of(len(places) - 1, sizes, {(name, 1): timed(name) for name in costs})
    return msgspec.structs.replace(made, granularity="node", max_live=9)


def shortest_period_s(needs: list[list[int]], costs: Costs) -> float:
    """Try every way to give each processor, in any order, the nodes between two downsets."""
    places = places_of(needs)
    everything = places[-1]

    def continued(done: int, left: frozenset[str]) -> float:
        if done == everything:
            return 0.0
        best = inf
        for name in left:
            for further in places:
                if further & done == done and further != done:
                    ran = further & ~done
                    time_s = sum(cost for at, cost in enumerate(costs[name]) if ran >> at & 1)
                    best = min(best, max(time_s, continued(further, left - {name})))
        return best

    return continued(0, frozenset(costs))


def sequences(needs: list[list[int]], stages: int, done: int = 0) -> Iterator[tuple[int, ...]]:
    """Yield every row of so many ever larger downsets that ends in all nodes."""
    places = places_of(needs)
    if stages == 0:
        if done == places[-1]:
            yield ()
        return
    for further in places:
        if further & done == done and further != done:
            for rest in sequences(needs, stages - 1, further):
                yield further, *rest


@given(case=graphs())
@settings(deadline=None, max_examples=40)
def test_the_plan_is_the_best_of_all_rows_of_nested_downsets(
    profile_of: ProfileOf, case: tuple[list[list[int]], Costs]
) -> None:
    needs, costs = case
    problem = make_problem(profiled(profile_of, needs, costs))

    quickest = chain.front(problem)[-1].period_s

    # A stage of several lanes may be quicker still; it is one in a row of downsets all the same.
    assert quickest <= shortest_period_s(needs, costs) * (1 + 1e-9)
    assert quickest == pytest.approx(exhaustive.front(problem)[-1].period_s)


@given(case=graphs())
@settings(deadline=None, max_examples=40)
def test_of_plans_without_replicas_the_best_is_exactly_the_best_row(
    profile_of: ProfileOf, case: tuple[list[list[int]], Costs]
) -> None:
    needs, costs = case
    problem = make_problem(profiled(profile_of, needs, costs))

    best = min(
        max(
            problem.lane_s(step.team, step.team.lanes[0][0], step.first_block, step.last_block, 0)
            for step in steps
        )
        for steps in every_chain(problem)
        if all(sum(count for _, count in step.team.lanes) == 1 for step in steps)
    )

    assert best == pytest.approx(shortest_period_s(needs, costs))


@given(case=graphs())
@settings(deadline=None, max_examples=40)
def test_only_plans_of_segments_that_exist_are_counted(
    profile_of: ProfileOf, case: tuple[list[list[int]], Costs]
) -> None:
    needs, costs = case
    problem = make_problem(profiled(profile_of, needs, costs))

    assert full_configurations(problem) == sum(1 for _ in every_chain(problem))
    assert divisions(problem.blocks, 4, problem.form_segment) == tuple(
        sum(1 for _ in sequences(needs, stages)) for stages in (1, 2, 3, 4)
    )


def test_the_paper_space_counts_pairs_of_nested_cuts(profile_of: ProfileOf) -> None:
    # Two free nodes between a first and a last one: of four cuts two are not nested.
    needs: list[list[int]] = [[], [0], [0], [1, 2]]
    costs = {name: [1.0, 1.0, 1.0, 1.0] for name in SIZES}
    problem = make_problem(profiled(profile_of, needs, costs), space="paper")

    plan = make_plan(profiled(profile_of, needs, costs), space="paper")

    assert plan.configurations == (4 * 3 // 2 - 1) * 6 == 30
    assert plan.configurations == paper_configurations(4, problem.form_segment)
    assert plan.configurations == sum(1 for _ in every_chain(problem, stages=3))
    assert (plan.cut_points, plan.max_live) == (4, 9)


def test_branches_that_no_single_tensor_parts_are_parted(profile_of: ProfileOf) -> None:
    # As one block the two heavy branches would take 9 s of any processor.
    needs: list[list[int]] = [[], [0], [0], [1, 2]]
    costs = {"cpu0": [1.0, 4.0, 4.0, 1.0], "cpu1": [1.0, 4.0, 4.0, 1.0]}

    plan = make_plan(profiled(profile_of, needs, costs), stages=2)

    assert plan.rate_hz == pytest.approx(1 / 5)
