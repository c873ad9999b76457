"""Splitting a graph into stages over its downsets, the loads it rests on, and its bounds."""

from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.errors import InfeasibleError, InputError
from evener.network.downsets import downsets
from evener.plan.chain import quickest_by_stages
from evener.plan.dag import Dag, Kind, Tensor
from evener.plan.dag_bound import price_bound_s, work_bound_s
from evener.plan.dag_lattice import Lattice
from evener.plan.dag_problem import dag_problem
from evener.plan.dag_split import plan_dag, split_dag

# Whole numbers: sums of them are exact, so that twins agree to the bit.
TIMES = st.integers(0, 9).map(float)
CHAIN = (Tensor(0, (1,), 1.0), Tensor(1, (2,), 1.0))


@st.composite
def dags(draw: st.DrawFn) -> Dag:
    """Draw up to six nodes, in any numbering, on two or three devices of one or two kinds."""
    nodes = draw(st.integers(1, 6))
    name = draw(st.permutations(range(nodes)))
    tensors = tuple(
        Tensor(
            name[node],
            tuple(name[later] for later in range(node + 1, nodes) if draw(st.integers(0, 2)) == 0),
            draw(TIMES),
        )
        for node in range(nodes)
    )
    times = st.lists(TIMES | st.just(inf), min_size=nodes, max_size=nodes)
    first = Kind(
        draw(st.integers(1, 2)),
        tuple(draw(times)),
        memory_bytes=draw(st.sampled_from([inf, 3.0, 5.0])),
    )
    last = Kind(1, tuple(draw(st.lists(TIMES, min_size=nodes, max_size=nodes))), moves=False)
    sizes = tuple(draw(st.lists(st.integers(0, 2).map(float), min_size=nodes, max_size=nodes)))
    return Dag(tensors, (first, last), sizes)


def in_order(dag: Dag, parts: list[int]) -> bool:
    """Tell whether the parts can stand in a row so that none reads from a later one."""
    left = [part for part in parts if part]
    done = 0
    while left:
        ready = [
            part
            for part in left
            if all(
                (done | part) >> tensor.producer & 1
                for tensor in dag.tensors
                if any(part >> node & 1 for node in tensor.consumers)
            )
        ]
        if not ready:
            return False
        done |= ready[0]
        left.remove(ready[0])
    return True


def period_by_trying_all(dag: Dag) -> float:
    """Give every node to every device, and keep what can stand in a row."""
    kinds = [number for number, kind in enumerate(dag.kinds) for _ in range(kind.count)]
    best = inf
    for devices in product(range(len(kinds)), repeat=dag.nodes):
        parts = [0] * len(kinds)
        for node, device in enumerate(devices):
            parts[device] |= 1 << node
        if in_order(dag, parts):
            loads = [
                dag.load_s(kind, part) for kind, part in zip(kinds, parts, strict=True) if part
            ]
            best = min(best, max(loads))
    return best


def all_downsets(dag: Dag) -> tuple[int, ...]:
    found = downsets(dag.predecessors, most=64)
    assert found is not None
    return found


@given(dags())
@settings(max_examples=150, deadline=None)
def test_no_other_split_is_better(dag: Dag) -> None:
    # The last kind runs everything and moves nothing, so that there always is a split.
    assert plan_dag(dag).split.period_s == period_by_trying_all(dag)


@given(dags())
def test_no_split_has_to_be_known_to_find_the_best(dag: Dag) -> None:
    split = split_dag(dag, all_downsets(dag))

    assert split is not None
    assert split.period_s == plan_dag(dag).split.period_s


@given(dags())
def test_stages_run_every_node_once_after_what_it_reads(dag: Dag) -> None:
    split = plan_dag(dag).split

    done = 0
    for stage in split.stages:
        assert stage.nodes
        assert not done & stage.nodes
        done |= stage.nodes
        assert done in all_downsets(dag)
    assert done == (1 << dag.nodes) - 1
    for kind in range(len(dag.kinds)):
        assert sum(stage.kind == kind for stage in split.stages) <= dag.kinds[kind].count


@given(dags())
def test_loads_between_downsets_are_those_of_the_stages(dag: Dag) -> None:
    sets = all_downsets(dag)
    lattice = Lattice(dag, sets)
    for start in range(len(sets)):
        ends, loads = lattice.loads(start, inf)
        found = {
            (kind, int(end)): loads[kind, column]
            for column, end in enumerate(ends)
            for kind in range(len(dag.kinds))
        }
        for end in range(start + 1, len(sets)):
            nested = sets[start] & ~sets[end] == 0
            for kind in range(len(dag.kinds)):
                load_s = dag.load_s(kind, sets[end] & ~sets[start]) if nested else inf
                assert found.get((kind, end), inf) == load_s


@given(dags())
@settings(max_examples=50, deadline=None)
def test_the_planner_of_chains_finds_the_same_period(dag: Dag) -> None:
    chains = quickest_by_stages(dag_problem(dag, all_downsets(dag)))

    period_s = min(chain.period_s for chain in chains)
    assert period_s == pytest.approx(plan_dag(dag).split.period_s, abs=1e-12)


@given(dags(), st.floats(0, 1))
def test_bounds_are_never_above_the_best_split(dag: Dag, share: float) -> None:
    period_s = plan_dag(dag).split.period_s
    bound_s = price_bound_s(
        dag, all_downsets(dag), [[1 - share, share], [0.5, 0.5]], known_s=period_s + 1
    )

    assert work_bound_s(dag) <= period_s * (1 + 1e-12)
    assert bound_s <= period_s * (1 + 1e-12)


def test_prices_know_what_work_does_not_that_moving_costs() -> None:
    dag = Dag(CHAIN, (Kind(3, (2.0, 2.0, 2.0)),), (0, 0, 0))

    assert work_bound_s(dag) == 2
    assert price_bound_s(dag, all_downsets(dag), [[1.0]], known_s=6.0) == pytest.approx(8 / 3)


def test_work_is_bounded_by_the_longest_node() -> None:
    assert work_bound_s(Dag(CHAIN, (Kind(3, (1.0, 7.0, 1.0)),), (0, 0, 0))) == 7


def test_devices_that_help_nobody_are_left_idle() -> None:
    split = plan_dag(Dag((Tensor(0, (1,), 9.0),), (Kind(5, (1.0, 1.0)),), (0, 0))).split

    assert [stage.nodes for stage in split.stages] == [0b11]


def test_memory_makes_a_split_where_time_would_not() -> None:
    dag = Dag((Tensor(0, (1,), 9.0),), (Kind(2, (1.0, 1.0), memory_bytes=1),), (1, 1))

    assert plan_dag(dag).split.period_s == 10


def test_nothing_is_found_that_does_not_beat_what_is_known() -> None:
    dag = Dag(CHAIN, (Kind(2, (4.0, 4.0, 6.0)),), (0, 0, 0))

    assert split_dag(dag, all_downsets(dag), below_s=9.0) is None
    assert split_dag(dag, all_downsets(dag), below_s=9.5) is not None


def test_where_downsets_are_too_many_the_best_along_some_orders_is_taken() -> None:
    free = Dag((), (Kind(2, (1.0,) * 40),), (0,) * 40)  # has 2**40 downsets

    plan = plan_dag(free, most_downsets=1000)

    assert not plan.best
    assert plan.downsets is None
    assert plan.split.period_s == plan.along_orders_s == 20


def test_the_whole_search_beats_a_single_order() -> None:
    # Two rows side by side whose nodes must be paired across: no order along a branch does.
    rng = np.random.default_rng(3)
    times = tuple(rng.integers(1, 20, 12).astype(float).tolist())
    rows = tuple(Tensor(node, (node + 2,), 0.0) for node in range(10))
    dag = Dag(rows, (Kind(4, times),), (0,) * 12)

    plan = plan_dag(dag)

    assert plan.best
    assert plan.split.period_s < plan.along_orders_s


def test_the_same_seed_gives_the_same_plan() -> None:
    rows = tuple(Tensor(node, (node + 3,), 1.0) for node in range(12))
    dag = Dag(rows, (Kind(3, tuple(float(node % 7 + 1) for node in range(15))),), (0,) * 15)

    assert plan_dag(dag, seed=5) == plan_dag(dag, seed=5)


def test_too_little_memory_on_all_devices_is_said() -> None:
    dag = Dag(CHAIN, (Kind(2, (1.0, 1.0, 1.0), memory_bytes=1),), (1, 1, 1))

    with pytest.raises(InfeasibleError, match="no row of stages fits 3 nodes into 2 devices: each"):
        plan_dag(dag)
    with pytest.raises(InfeasibleError, match="8 topological orders were tried.* more than 2 down"):
        plan_dag(dag, most_downsets=2)


def test_nodes_in_a_circle_are_named() -> None:
    circle = (Tensor(1, (2,), 1.0), Tensor(2, (1,), 1.0), Tensor(0, (1,), 1.0))

    with pytest.raises(InputError, match=r"nodes \[1, 2\] read from each other in a circle"):
        plan_dag(Dag(circle, (Kind(2, (1.0, 1.0, 1.0)),), (0, 0, 0)))


@pytest.mark.parametrize("sets", [[], [0b001, 0b111], [0, 0b011]])
def test_downsets_must_go_from_none_to_all(sets: list[int]) -> None:
    with pytest.raises(InputError, match="the first must be empty, and the last hold all nodes"):
        split_dag(Dag(CHAIN, (Kind(2, (1.0, 1.0, 1.0)),), (0, 0, 0)), sets)
