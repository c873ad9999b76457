"""Reading and contracting published partitioning graphs."""

import json
from itertools import product
from math import inf
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partition_check import Part, cost
from partition_input import MS, Edge, Graph, Node, contract, read_graph

from evener.errors import InputError
from evener.plan.dag_split import plan_dag

NODES = st.builds(
    Node,
    id=st.just(0),
    cpu_latency=st.integers(0, 2).map(float),
    fpga_latency=st.integers(0, 2).map(float),
    supported_on_fpga=st.sampled_from([True, True, False]),
    color_class=st.none() | st.integers(0, 2),
    size=st.integers(0, 2).map(float),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw up to five nodes on two accelerators and a CPU; colours may close circles."""
    nodes = draw(st.lists(NODES, min_size=1, max_size=5))
    costs = [draw(st.integers(0, 3).map(float)) for _ in nodes]
    return Graph(
        accelerators=2,
        cpus=1,
        memory=draw(st.sampled_from([3.0, 100.0])),
        nodes=tuple(
            Node(
                10 + number,
                node.cpu_latency,
                node.fpga_latency,
                node.supported_on_fpga,
                color_class=node.color_class,
                size=node.size,
            )
            for number, node in enumerate(nodes)
        ),
        edges=tuple(
            Edge(10 + source, 10 + target, costs[source])
            for source in range(len(nodes))
            for target in range(source + 1, len(nodes))
            if draw(st.booleans())
        ),
    )


def graph(edges: list[tuple[int, int]], **of_nodes: dict[int, Any]) -> Graph:
    """Make a graph of nodes of a millisecond each; `of_nodes` gives what differs, by node."""
    count = 1 + max(max(edge) for edge in edges)
    fields: list[dict[str, Any]] = [
        {"id": n, "cpu_latency": 10.0, "fpga_latency": 1.0, "supported_on_fpga": True}
        for n in range(count)
    ]
    for field, values in of_nodes.items():
        for node, value in values.items():
            fields[node][field] = value
    return Graph(
        accelerators=2,
        cpus=1,
        memory=10.0,
        nodes=tuple(Node(**each) for each in fields),
        edges=tuple(Edge(source, target, 0.5) for source, target in edges),
    )


def period_by_trying_all(given_graph: Graph) -> float:
    """Give every published node to every device, by the check that knows no planner."""
    devices: tuple[Literal["accelerator", "cpu"], ...] = ("accelerator", "accelerator", "cpu")
    best = inf
    for chosen in product(range(3), repeat=len(given_graph.nodes)):
        ids: list[set[int]] = [set(), set(), set()]
        for node, device in zip(given_graph.nodes, chosen, strict=True):
            ids[device].add(node.id)
        parts = [Part(d, frozenset(i)) for d, i in zip(devices, ids, strict=True) if i]
        found = cost(given_graph, parts)
        if not found.faults:
            best = min(best, found.period_ms)
    return best


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_contracting_loses_no_best_split(drawn: Graph) -> None:
    period_s = plan_dag(contract(drawn).dag).split.period_s

    assert period_s * MS == pytest.approx(period_by_trying_all(drawn), abs=1e-9)


@given(graphs())
def test_every_node_is_in_one_group(drawn: Graph) -> None:
    found = contract(drawn)

    everything = found.ids((1 << found.dag.nodes) - 1)
    assert sorted(everything) == [node.id for node in drawn.nodes]
    assert sum(map(len, found.groups)) == len(drawn.nodes)


def test_nodes_of_a_colour_are_one() -> None:
    found = contract(graph([(0, 1), (1, 2)], color_class={1: 7, 2: 7}))

    assert found.groups == ((0,), (1, 2))
    assert found.dag.kinds[0].times_s == pytest.approx((0.001, 0.002))
    assert [(t.producer, t.consumers) for t in found.dag.tensors] == [(0, (1,))]


def test_colours_that_read_from_each_other_in_a_circle_are_one() -> None:
    found = contract(graph([(0, 1), (1, 2), (2, 3)], color_class={0: 7, 2: 7, 1: 8}))

    assert found.groups == ((0, 1, 2), (3,))


def test_what_costs_nothing_runs_where_its_one_neighbour_does() -> None:
    nothing = {"cpu_latency": {0: 0.0}, "fpga_latency": {0: 0.0}}

    assert contract(graph([(0, 1), (1, 2)], **nothing)).groups == ((0, 1), (2,))


@pytest.mark.parametrize(
    "differs",
    [
        {"cpu_latency": {0: 0.0}},
        {"fpga_latency": {0: 0.0}},
        {"cpu_latency": {0: 0.0}, "fpga_latency": {0: 0.0}, "size": {0: 1.0, 1: 10.0}},
        {"cpu_latency": {0: 0.0}, "fpga_latency": {0: 0.0}, "supported_on_fpga": {0: False}},
    ],
    ids=["time on an accelerator", "time on a CPU", "memory that may lack", "cannot run there"],
)
def test_what_may_cost_something_stays_apart(differs: dict[str, dict[int, Any]]) -> None:
    assert contract(graph([(0, 1), (1, 2)], **differs)).groups == ((0,), (1,), (2,))


def test_a_free_node_between_two_others_stays_apart() -> None:
    nothing = {"cpu_latency": {1: 0.0}, "fpga_latency": {1: 0.0}}

    assert contract(graph([(0, 1), (1, 2)], **nothing)).groups == ((0,), (1,), (2,))


def test_a_tensor_for_a_colour_is_moved_once() -> None:
    found = contract(graph([(0, 1), (0, 2), (3, 2)], color_class={1: 7, 2: 7}))

    assert [(t.producer, t.consumers, t.transfer_s) for t in found.dag.tensors] == [
        (0, (1,), 0.0005),
        (2, (1,), 0.0005),
    ]


def published(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 -- whatever a file may say
    node = {"cpuLatency": 10.0, "fpgaLatency": 1.0, "supportedOnFpga": 1, "isBackwardNode": 0}
    return {
        "maxFPGAs": 2,
        "maxCPUs": 1,
        "maxSizePerFPGA": 1e9,
        "nodes": [{"id": 4, "colorClass": 3, "size": 5.0, "name": "in", **node}, {"id": 9, **node}],
        "edges": [{"sourceId": 4, "destId": 9, "cost": 0.25, "size": 8}],
        **changes,
    }


def test_a_file_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(published()))

    found = read_graph(path)

    assert (found.accelerators, found.cpus, found.memory) == (2, 1, 1e9)
    assert found.nodes[0] == Node(4, 10.0, 1.0, 1, color_class=3, size=5.0)
    assert found.nodes[1] == Node(9, 10.0, 1.0, 1)
    assert found.edges == (Edge(4, 9, 0.25),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 3}, "is no partitioning graph: Expected `array`, got `int`"),
        ({"edges": [{"sourceId": 4, "destId": 5, "cost": 1}]}, "2 nodes with 2 ids, and 1 edges"),
        ({"nodes": [published()["nodes"][0]] * 2}, "2 nodes with 1 ids"),
        (
            {"nodes": [dict(node, isBackwardNode=1) for node in published()["nodes"]]},
            "is for training: give a graph for inference",
        ),
        (
            {"edges": [{"sourceId": 4, "destId": 9, "cost": cost} for cost in (1, 2)]},
            "moving the output of node 4 costs 2.0 and 1.0",
        ),
    ],
)
def test_a_file_that_cannot_be_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(published(**changes)))

    with pytest.raises(InputError, match=message):
        read_graph(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gone.json is no partitioning graph"):
        read_graph(tmp_path / "gone.json")
