"""What a split of a published graph costs, and what is wrong with it."""

from pathlib import Path

import pytest
from partition_check import Part, cost, read_split
from partition_input import Edge, Graph, Node

from evener.errors import InputError

# 1 feeds 2 and 3, which both feed 4.
GRAPH = Graph(
    accelerators=2,
    cpus=1,
    memory=3.0,
    nodes=(
        Node(1, 100.0, 1.0, supported_on_fpga=True, size=1.0),
        Node(2, 200.0, 2.0, supported_on_fpga=True, size=1.0),
        Node(3, 300.0, 3.0, supported_on_fpga=True, size=1.0, color_class=5),
        Node(4, 400.0, 4.0, supported_on_fpga=False, size=1.0, color_class=5),
    ),
    edges=(Edge(1, 2, 0.1), Edge(1, 3, 0.1), Edge(2, 4, 0.2), Edge(3, 4, 0.3)),
)


def on_accelerator(*ids: int) -> Part:
    return Part("accelerator", frozenset(ids))


def on_cpu(*ids: int) -> Part:
    return Part("cpu", frozenset(ids))


def test_a_split_that_holds_costs_its_largest_load() -> None:
    found = cost(GRAPH, [on_accelerator(1), on_accelerator(2), on_cpu(3, 4)])

    assert found.faults == ()
    assert found.loads_ms == pytest.approx((1 + 0.1, 2 + 0.1 + 0.2, 700))
    assert found.period_ms == 700


def test_parts_may_be_given_in_any_order() -> None:
    assert not cost(GRAPH, [on_cpu(3, 4), on_accelerator(2), on_accelerator(1)]).faults


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        (
            [on_accelerator(1), on_accelerator(2), on_accelerator(3, 4)],
            "3 parts for 2 devices of kind accelerator",
        ),
        ([on_cpu(1, 2), on_cpu(3, 4)], "2 parts for 1 devices of kind cpu"),
        ([on_cpu(1, 2, 3)], "0 nodes are in two parts; in none, or unknown, are [4]"),
        ([on_cpu(1, 2, 3, 4, 9)], "0 nodes are in two parts; in none, or unknown, are [9]"),
        ([on_cpu(1, 2, 3, 4), on_accelerator(1)], "1 nodes are in two parts"),
        ([on_cpu(1, 2), on_accelerator(3, 4)], "part 1: it cannot run node 4"),
        ([on_accelerator(1, 2, 3, 4)], "part 0: it has 3 bytes, not 4"),
        ([on_accelerator(1, 2, 3), on_cpu(4)], "colour 5 is in 2 parts"),
        ([on_accelerator(2), on_cpu(1, 3, 4)], "parts read from each other in a circle"),
    ],
)
def test_what_the_model_forbids_is_said(parts: list[Part], fault: str) -> None:
    assert any(each.startswith(fault) for each in cost(GRAPH, parts).faults)


def test_a_split_is_read_without_its_idle_devices(tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    path.write_text(
        '{"cpus": [{"load": 0, "nodes": []}], "maxLoad": -1,'
        ' "fpgas": [{"nodes": [1, 2]}, {"nodes": [3]}]}'
    )

    assert read_split(path) == (on_accelerator(1, 2), on_accelerator(3))


def test_what_is_no_split_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    path.write_text('{"cpus": []}')

    with pytest.raises(InputError, match="split.json is no split of a partitioning graph: Object"):
        read_split(path)
