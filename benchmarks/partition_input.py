"""Read a published partitioning graph, and contract what must or may as well stay together.

The format is that of github.com/msr-fiddle/dnn-partitioning: nodes with a latency on a CPU and on
an accelerator, in milliseconds, edges whose cost is the time to move the output of their source,
and colours: nodes of one colour run on one device.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, inf, isclose
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from evener.errors import InputError
from evener.plan.dag import Dag, Kind, Tensor, members
from evener.plan.problem import Integers

MS: Final = 1e3  # in a second


class Node(msgspec.Struct, rename="camel", frozen=True):
    """A node as published.

    Attributes:
        id: what edges call it.
        cpu_latency: milliseconds on a CPU.
        fpga_latency: milliseconds on an accelerator.
        supported_on_fpga: whether an accelerator can run it.
        is_backward_node: whether it belongs to training.
        color_class: nodes of one class run on one device; None: it is free.
        size: bytes of an accelerator's memory.
    """

    id: int
    cpu_latency: float
    fpga_latency: float
    supported_on_fpga: bool | int
    is_backward_node: bool | int = False
    color_class: int | None = None
    size: float = 0.0


class Edge(msgspec.Struct, rename="camel", frozen=True):
    """An edge as published.

    Attributes:
        source_id: the node whose output it carries.
        dest_id: the node that reads it.
        cost: milliseconds to move the output into an accelerator or out of one.
    """

    source_id: int
    dest_id: int
    cost: float


class Graph(msgspec.Struct, frozen=True):
    """A graph as published.

    Attributes:
        accelerators: how many there are.
        cpus: how many there are.
        memory: bytes of each accelerator.
        nodes: in the order of the file.
        edges: in the order of the file.
    """

    accelerators: int = msgspec.field(name="maxFPGAs")
    cpus: int = msgspec.field(name="maxCPUs")
    memory: float = msgspec.field(name="maxSizePerFPGA")
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Contracted:
    """A graph as it is planned.

    Attributes:
        dag: accelerators are its kind 0, CPUs its kind 1; times in seconds.
        groups: for each of its nodes, what was contracted into it.
    """

    dag: Dag
    groups: tuple[tuple[int, ...], ...]

    def ids(self, nodes: int) -> frozenset[int]:
        """Return the ids of the published nodes in a set of nodes."""
        return frozenset(name for node in members(nodes) for name in self.groups[node])


def read_graph(path: Path) -> Graph:
    """Read a graph for inference.

    Args:
        path: of the JSON file.

    Raises:
        InputError: the file cannot be read, is of another form, or has nodes for training.
    """
    try:
        graph = msgspec.json.decode(path.read_bytes(), type=Graph)
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(f"{path} is no partitioning graph: {error}") from error
    names = {node.id for node in graph.nodes}
    lost = [edge for edge in graph.edges if not {edge.source_id, edge.dest_id} <= names]
    if lost or len(names) < len(graph.nodes):
        raise InputError(
            f"{path}: {len(graph.nodes)} nodes with {len(names)} ids, and {len(lost)} edges that "
            f"join no two of them, {lost[:1]}. Every id must be there, once"
        )
    if any(node.is_backward_node for node in graph.nodes):
        raise InputError(f"{path} is for training: give a graph for inference")
    costs: dict[int, float] = {}
    for edge in graph.edges:
        if not isclose(costs.setdefault(edge.source_id, edge.cost), edge.cost, abs_tol=1e-6):
            raise InputError(
                f"{path}: moving the output of node {edge.source_id} costs {edge.cost} and "
                f"{costs[edge.source_id]}; it must cost the same on all edges"
            )
    return graph


def contract(graph: Graph) -> Contracted:
    """Join nodes that run on one device in every split, or in a best one.

    Colours say which must. Groups that read from each other in a circle must too, if the order of
    stages is to be one. And a group that takes no time on any device and has one neighbour may as
    well run where that one does: its device pays for moving their tensor, and now none does.
    """
    place = {node.id: number for number, node in enumerate(graph.nodes)}
    ends = np.array(
        [(place[edge.source_id], place[edge.dest_id]) for edge in graph.edges], np.int64
    ).reshape(-1, 2)  # also where there is no edge
    colours: dict[object, int] = {}
    group_of = np.array(
        [
            colours.setdefault(
                node.color_class if node.color_class is not None else ("free", node.id),
                len(colours),
            )
            for node in graph.nodes
        ]
    )
    while True:
        group_of = _join_circles(group_of, ends)
        pair = _free_group(graph, group_of, ends)
        if pair is None:
            break
        group_of = _numbered(np.where(group_of == pair[0], pair[1], group_of))
    groups = tuple(
        tuple(graph.nodes[number].id for number in np.flatnonzero(group_of == group))
        for group in range(group_of.max() + 1)
    )
    return Contracted(_dag(graph, group_of, ends), groups)


def _join_circles(group_of: Integers, ends: Integers) -> Integers:
    """Give the groups that read from each other in a circle one number."""
    count = int(group_of.max()) + 1
    source, target = group_of[ends].T
    reads = coo_array((np.ones(len(ends)), (source, target)), shape=(count, count))
    _, circle_of = connected_components(reads, directed=True, connection="strong")
    return _numbered(circle_of[group_of])


def _numbered(group_of: Integers) -> Integers:
    """Number the groups in the order of their first nodes."""
    _, first, group_of = np.unique(group_of, return_index=True, return_inverse=True)
    ranks: Integers = np.argsort(np.argsort(first))[group_of]
    return ranks


def _free_group(graph: Graph, group_of: Integers, ends: Integers) -> tuple[int, int] | None:
    """Find a group that may as well run where its one neighbour does; return both."""
    roomy = sum(node.size for node in graph.nodes) <= graph.memory
    held = {
        int(group)
        for group, node in zip(group_of, graph.nodes, strict=True)
        if node.cpu_latency > 0
        or node.fpga_latency > 0
        or not node.supported_on_fpga
        or not (roomy or node.size == 0)
    }
    neighbours = defaultdict[int, set[int]](set)
    for source, target in group_of[ends].tolist():
        if source != target:
            neighbours[source].add(target)
            neighbours[target].add(source)
    for group, others in neighbours.items():
        if group not in held and len(others) == 1:
            return group, min(others)
    return None


def _dag(graph: Graph, group_of: Integers, ends: Integers) -> Dag:
    groups = range(int(group_of.max()) + 1)
    consumers = defaultdict[int, set[int]](set)
    transfer_s: dict[int, float] = {}
    for (source, target), edge in zip(ends.tolist(), graph.edges, strict=True):
        transfer_s[source] = edge.cost / MS
        if group_of[source] != group_of[target]:
            consumers[source].add(int(group_of[target]))

    def per_group(values: Sequence[float]) -> tuple[float, ...]:
        return tuple(fsum(np.array(values)[group_of == group].tolist()) for group in groups)

    accelerator_s = [
        node.fpga_latency / MS if node.supported_on_fpga else inf for node in graph.nodes
    ]
    kinds = [
        Kind(graph.accelerators, per_group(accelerator_s), memory_bytes=graph.memory),
        Kind(graph.cpus, per_group([node.cpu_latency / MS for node in graph.nodes]), moves=False),
    ]
    return Dag(
        tensors=tuple(
            Tensor(int(group_of[source]), tuple(sorted(readers)), transfer_s[source])
            for source, readers in consumers.items()
        ),
        kinds=tuple(kinds),
        sizes_bytes=per_group([node.size for node in graph.nodes]),
    )
