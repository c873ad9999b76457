"""Which neurons each shard sees, layer by layer, and which shards each rank has: lists of indices.

Nothing here communicates or computes. Layers are counted from 0, the input; the sources of a layer
are neurons of the one before it. Shapes in names: S shards, N neurons, R ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.topology import Topology
from evener.artifacts.windows import count_weights as count_weights
from evener.artifacts.windows import groups_of, windows_of
from evener.errors import InputError

Indices = NDArray[np.int64]


def block_bounds(neurons: int, shards: int) -> Indices:
    """Return where each shard's neurons begin, and at the end where the last one's end, (S+1,).

    Sizes differ by at most one. Of fewer neurons than shards, which have none is spread evenly.

    Example:
        >>> block_bounds(10, 4).tolist(), block_bounds(2, 4).tolist()
        ([0, 2, 5, 7, 10], [0, 0, 1, 1, 2])
    """
    return np.arange(shards + 1, dtype=np.int64) * neurons // shards


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """What one shard of a layer sees of the layer before.

    Attributes:
        start: first neuron of a window on the ring, which may be below 0; None where the sources
            are no window.
        indices: the neurons in the order of the shard's columns of weights; each at most once.
    """

    start: int | None
    indices: Indices


def sources_of(topology: Topology, widths: Sequence[int], layer: int, shard: int) -> Sources:
    """List the neurons that a shard of a layer sees, the coarse values left out.

    Args:
        topology: the rule.
        widths: neurons of each layer, the input first.
        layer: 1 for the first hidden layer.
        shard: which.
    """
    before = widths[layer - 1]
    window = windows_of(topology, widths, layer)[shard]
    if window.count == before:
        return Sources(0, np.arange(before, dtype=np.int64))
    indices = np.arange(window.start, window.start + window.count, dtype=np.int64) % before
    if topology.shuffle and layer > 1 and window.count:
        return Sources(None, shuffle_order(before, topology.shards)[indices])
    return Sources(window.start, indices)


def shuffle_order(neurons: int, shards: int) -> Indices:
    """Return the neurons in the order in which they are dealt out: one of each shard in turn.

    Example:
        >>> shuffle_order(6, 2).tolist()
        [0, 3, 1, 4, 2, 5]
    """
    bounds = block_bounds(neurons, shards)
    sizes = np.diff(bounds)
    offset_N = np.arange(neurons) - np.repeat(bounds[:-1], sizes)
    shard_N = np.repeat(np.arange(shards), sizes)
    return np.lexsort((shard_N, offset_N)).astype(np.int64)


def coarse_groups(topology: Topology, widths: Sequence[int], layer: int) -> Indices | None:
    """Return where the groups begin whose means all shards of a layer see, and where the last ends.

    None where the layer sees no coarse values: there are none, or it sees everything anyway.

    Args:
        topology: the rule.
        widths: neurons of each layer, the input first.
        layer: 1 for the first hidden layer.
    """
    means = groups_of(topology, widths, layer)
    if not means:
        return None
    before = widths[layer - 1]
    shards = min(topology.shards, before)
    bounds = block_bounds(before, shards)
    each = means // shards
    inner = [start + block_bounds(stop - start, each)[:-1] for start, stop in pairwise(bounds)]
    return np.concatenate([*inner, bounds[-1:]]).astype(np.int64)


def most_seeing(topology: Topology, widths: Sequence[int], layer: int) -> int:
    """Return how many shards of a layer see one and the same neuron or coarse value, at most.

    Args:
        topology: the rule.
        widths: neurons of each layer, the input first.
        layer: 1 for the first hidden layer.

    Example:
        >>> [most_seeing(Topology(shards=4, halo=halo), (8, 16, 16), 2) for halo in (0, 1, 2, 3)]
        [1, 2, 2, 3]
    """
    shards = min(topology.shards, widths[layer])
    if coarse_groups(topology, widths, layer) is not None or topology.halo == "full":
        return shards
    seen = np.zeros(widths[layer - 1], np.int64)
    for shard in range(topology.shards):
        seen[sources_of(topology, widths, layer, shard).indices] += 1
    return int(seen.max())


@dataclass(frozen=True, slots=True)
class Placement:
    """Which shards each rank computes: neighbouring ones, every shard once.

    Attributes:
        counts: how many each rank has, at least one.
    """

    counts: tuple[int, ...]

    @classmethod
    def even(cls, shards: int, ranks: int) -> Self:
        """Divide shards among ranks as evenly as can be.

        Raises:
            InputError: fewer shards than ranks.

        Example:
            >>> Placement.even(5, 2).counts
            (2, 3)
        """
        if shards < ranks:
            raise InputError(
                f"{ranks} ranks for {shards} shard{'s' * (shards > 1)}: a rank has one or more; "
                f"start {shards} rank{'s' * (shards > 1)}, or give the network {ranks} shards"
            )
        return cls(tuple(np.diff(block_bounds(shards, ranks)).tolist()))

    def __post_init__(self) -> None:
        """Check that every rank has a shard.

        Raises:
            InputError: one has none.
        """
        if not self.counts or min(self.counts) < 1:
            raise InputError(f"a placement of {list(self.counts)} shards: each rank has 1 or more")

    @property
    def ranks(self) -> int:
        """How many ranks."""
        return len(self.counts)

    @property
    def shards(self) -> int:
        """How many shards."""
        return sum(self.counts)

    def shards_of(self, rank: int) -> range:
        """Return the shards of a rank."""
        first = sum(self.counts[:rank])
        return range(first, first + self.counts[rank])

    def bounds(self, neurons: int) -> Indices:
        """Return where each rank's neurons of a layer begin, and where the last one's end, (R+1,).

        Args:
            neurons: of the layer.
        """
        of_shards = block_bounds(neurons, self.shards)
        firsts = np.concatenate([[0], np.cumsum(self.counts)])
        return np.asarray(of_shards[firsts], np.int64)
