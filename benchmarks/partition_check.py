"""Compute what a split of a published graph costs, and what is wrong with it, from the file alone.

Nothing here is shared with the planner: nodes as published, sets of ids, sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Literal

import msgspec
from partition_input import Graph

from evener.errors import InputError


@dataclass(frozen=True)
class Part:
    """What one device runs.

    Attributes:
        device: what it is.
        ids: of the nodes.
    """

    device: Literal["accelerator", "cpu"]
    ids: frozenset[int]


@dataclass(frozen=True)
class Cost:
    """What a split comes to.

    Attributes:
        loads_ms: of each part.
        faults: what the model forbids; empty for a split that holds.
    """

    loads_ms: tuple[float, ...]
    faults: tuple[str, ...]

    @property
    def period_ms(self) -> float:
        """The largest load."""
        return max(self.loads_ms)


class _Machine(msgspec.Struct, frozen=True):
    nodes: tuple[int, ...]


class _Split(msgspec.Struct, frozen=True):
    cpus: tuple[_Machine, ...]
    fpgas: tuple[_Machine, ...]


def read_split(path: Path) -> tuple[Part, ...]:
    """Read a split in the format of the graphs.

    Args:
        path: of the JSON file.

    Raises:
        InputError: the file cannot be read, or is of another form.
    """
    try:
        split = msgspec.json.decode(path.read_bytes(), type=_Split)
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(f"{path} is no split of a partitioning graph: {error}") from error
    parts = [Part("accelerator", frozenset(machine.nodes)) for machine in split.fpgas]
    parts += [Part("cpu", frozenset(machine.nodes)) for machine in split.cpus]
    return tuple(part for part in parts if part.ids)


def cost(graph: Graph, parts: Sequence[Part]) -> Cost:
    """Add up the loads of a split and look for what the model forbids.

    Args:
        graph: as published.
        parts: one per device; their order does not matter.
    """
    return Cost(tuple(_load_ms(graph, part) for part in parts), tuple(_faults(graph, parts)))


def _load_ms(graph: Graph, part: Part) -> float:
    inside = [node for node in graph.nodes if node.id in part.ids]
    if part.device == "cpu":
        return fsum(node.cpu_latency for node in inside)
    moved = {
        edge.source_id: edge.cost
        for edge in graph.edges
        if (edge.source_id in part.ids) != (edge.dest_id in part.ids)
    }
    return fsum([*(node.fpga_latency for node in inside), *moved.values()])


def _faults(graph: Graph, parts: Sequence[Part]) -> list[str]:
    faults = [
        f"{used} parts for {most} devices of kind {device}"
        for device, most in (("accelerator", graph.accelerators), ("cpu", graph.cpus))
        if (used := sum(part.device == device for part in parts)) > most
    ]
    part_of = {name: number for number, part in enumerate(parts) for name in part.ids}
    twice = sum(len(part.ids) for part in parts) - len(part_of)
    names = {node.id for node in graph.nodes}
    if twice or names != part_of.keys():
        lost = sorted(names ^ part_of.keys())
        return [*faults, f"{twice} nodes are in two parts; in none, or unknown, are {lost}"]
    faults += [
        f"part {number}: {fault}"
        for number, part in enumerate(parts)
        if part.device == "accelerator"
        for fault in _refused(graph, part)
    ]
    colours: dict[int, set[int]] = {}
    for node in graph.nodes:
        if node.color_class is not None:
            colours.setdefault(node.color_class, set()).add(part_of[node.id])
    faults += [f"colour {one} is in {len(of)} parts" for one, of in colours.items() if len(of) > 1]
    if _circular(
        len(parts), {(part_of[edge.source_id], part_of[edge.dest_id]) for edge in graph.edges}
    ):
        faults.append("parts read from each other in a circle: no order of stages, not contiguous")
    return faults


def _refused(graph: Graph, part: Part) -> list[str]:
    """Say why an accelerator cannot run a part."""
    inside = [node for node in graph.nodes if node.id in part.ids]
    refused = [f"it cannot run node {node.id}" for node in inside if not node.supported_on_fpga]
    size = fsum(node.size for node in inside)
    if size > graph.memory:
        refused.append(f"it has {graph.memory:g} bytes, not {size:g}")
    return refused


def _circular(parts: int, reads: set[tuple[int, int]]) -> bool:
    """Tell whether parts read from each other in a circle: take away what reads from none left."""
    left = set(range(parts))
    while ready := {
        part for part in left if not any(b == part and a in left - {part} for a, b in reads)
    }:
        left -= ready
    return bool(left)
