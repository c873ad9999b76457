"""State what a stage of a graph costs whose node times add up: its nodes, and what it moves.

This is the model of Tarnawski et al., "Efficient Algorithms for Device Placement of DNN Graph
Operators" (NeurIPS 2020, arXiv 2006.16423): devices of a few kinds, and a stage on an accelerator
pays for every tensor that enters it or leaves it, once each however many nodes take it, while one
on a CPU, where the tensors lie, pays for its nodes alone. `dag_split.py` splits such a graph.

A set of nodes is an integer whose bit `n` says whether it holds node `n`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from evener.errors import InfeasibleError, InputError


@dataclass(frozen=True, slots=True)
class Tensor:
    """What a node hands on.

    Attributes:
        producer: the node that makes it.
        consumers: the nodes that read it.
        transfer_s: seconds to move it into a device, or out of one.
    """

    producer: int
    consumers: tuple[int, ...]
    transfer_s: float


@dataclass(frozen=True, slots=True)
class Kind:
    """Devices that are all alike.

    Attributes:
        count: how many there are.
        times_s: seconds of each node; inf where the device cannot run it.
        moves: whether a stage pays for the tensors that enter and leave it.
        memory_bytes: what the nodes of a stage may take together.
    """

    count: int
    times_s: tuple[float, ...]
    moves: bool = True
    memory_bytes: float = inf


@dataclass(frozen=True, slots=True)
class Dag:
    """Nodes, what they hand on, and what may run them.

    Attributes:
        tensors: what nodes hand on; one that nobody reads costs nothing.
        kinds: of devices.
        sizes_bytes: memory that each node takes.
    """

    tensors: tuple[Tensor, ...]
    kinds: tuple[Kind, ...]
    sizes_bytes: tuple[float, ...]

    def __post_init__(self) -> None:
        nodes = len(self.sizes_bytes)
        for number, kind in enumerate(self.kinds):
            if len(kind.times_s) != nodes:
                raise InputError(
                    f"kind {number} of device gives {len(kind.times_s)} times for {nodes} nodes: "
                    "give one time for each node"
                )
            if kind.count < 1 or not all(time_s >= 0 for time_s in kind.times_s):
                raise InputError(
                    f"kind {number} of device has a count of {kind.count} and times from "
                    f"{min(kind.times_s, default=0.0)} s: there must be 1 or more, and no time "
                    "below 0"
                )
        stuck = [node for node, least_s in enumerate(self.least_s) if least_s == inf]
        if stuck:
            raise InfeasibleError(
                f"nodes {stuck} run on none of the {len(self.kinds)} kinds of devices. Add a "
                "device that runs them"
            )
        for tensor in self.tensors:
            if not 0 <= tensor.transfer_s < inf or not all(
                0 <= node < nodes for node in (tensor.producer, *tensor.consumers)
            ):
                raise InputError(
                    f"a tensor from node {tensor.producer} to {list(tensor.consumers)} of {nodes} "
                    f"nodes takes {tensor.transfer_s} s: nodes count from 0 and a time is 0 or more"
                )

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.sizes_bytes)

    @property
    def least_s(self) -> tuple[float, ...]:
        """For each node, its time where it is quickest."""
        return tuple(map(min, zip(*(kind.times_s for kind in self.kinds), strict=True)))

    @property
    def ratios(self) -> tuple[float, ...]:
        """For each kind of device, the most least time of nodes that a second of it can do."""
        least_s = self.least_s
        costly = [node for node, time_s in enumerate(least_s) if time_s > 0]
        return tuple(
            max((least_s[node] / kind.times_s[node] for node in costly), default=1.0)
            for kind in self.kinds
        )

    @property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """For each node, those that it reads from."""
        before: list[set[int]] = [set() for _ in range(self.nodes)]
        for tensor in self.tensors:
            for node in tensor.consumers:
                before[node].add(tensor.producer)
        return tuple(tuple(sorted(each)) for each in before)

    def load_s(self, kind: int, stage: int) -> float:
        """Return seconds per frame of a stage on a device; inf if it cannot run it.

        Args:
            kind: index of the kind of device.
            stage: the set of its nodes.

        Example:
            Two nodes on an accelerator: the first one's tensor stays inside, the second's leaves.

            >>> tensors = (Tensor(0, (1,), 5.0), Tensor(1, (2,), 0.5))
            >>> dag = Dag(tensors, (Kind(2, (1.0, 2.0, 4.0)),), (0, 0, 0))
            >>> dag.load_s(0, 0b011)
            3.5
        """
        device = self.kinds[kind]
        inside = tuple(members(stage))
        if sum(self.sizes_bytes[node] for node in inside) > device.memory_bytes:
            return inf
        work_s = sum(device.times_s[node] for node in inside)
        return work_s + (self._moved_s(stage) if device.moves else 0.0)

    def _moved_s(self, stage: int) -> float:
        """Return seconds to move each tensor that enters or leaves a stage."""
        moved_s = 0.0
        for tensor in self.tensors:
            made = stage >> tensor.producer & 1
            if any(stage >> node & 1 != made for node in tensor.consumers):
                moved_s += tensor.transfer_s
        return moved_s


def members(nodes: int) -> Iterator[int]:
    """Yield the nodes of a set, least first.

    Example:
        >>> list(members(0b1101))
        [0, 2, 3]
    """
    while nodes:
        least = nodes & -nodes
        yield least.bit_length() - 1
        nodes ^= least
