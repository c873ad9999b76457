"""What one rank holds of a layer so that its shards of the next one can compute, and who sends it.

A rank keeps a buffer of rows, a neuron each: its own, and *ghosts* of other ranks that its shards
see. Where those lie in a row on the ring, so do the rows, and the ring may meet the rank itself.
Going back, gradients take the same way in the other direction: the lists are their own transpose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evener.artifacts.topology import Topology
from evener.train.sharding import Indices, Placement, Sources, coarse_groups, sources_of


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """The buffer of one rank before one layer; rows are counted from 0.

    Attributes:
        held: which neuron each row is; coarse values follow the layer's neurons, in order.
        own: rows of the rank's own neurons.
        own_coarse: rows of the coarse values of the rank's own shards.
        columns: for each of the rank's shards the rows that it sees, in the order of its weights.
        receives: rows that each rank fills, this one too where the ring meets itself.
        sends: rows, all of them own, that fill those of each rank, in the same order.
    """

    held: Indices
    own: slice
    own_coarse: slice
    columns: tuple[Indices, ...]
    receives: Mapping[int, Indices]
    sends: Mapping[int, Indices]

    @property
    def rows(self) -> int:
        """How many rows the buffer has."""
        return len(self.held)


def reach_of(
    topology: Topology, widths: Sequence[int], placement: Placement, layer: int, rank: int
) -> Reach:
    """Lay out a rank's buffer before a layer.

    Args:
        topology: which shard sees what.
        widths: neurons of each layer, the input first.
        placement: which rank has which shards.
        layer: the layer that reads the buffer, from 1.
        rank: whose buffer.
    """
    here = _Layout(topology, widths, placement, layer, rank)
    sends: dict[int, Indices] = {}
    for peer in range(placement.ranks):
        theirs = here if peer == rank else _Layout(topology, widths, placement, layer, peer)
        rows = theirs.receives().get(rank)
        if rows is not None:
            sends[peer] = here.rows_of_own(theirs.held[rows])
    return Reach(
        held=here.held,
        own=here.own,
        own_coarse=here.own_coarse,
        columns=here.columns(),
        receives=here.receives(),
        sends=sends,
    )


def received_from(
    topology: Topology, widths: Sequence[int], placement: Placement, layer: int, rank: int
) -> dict[int, int]:
    """Count the rows that each other rank fills of a rank's buffer, without asking the others.

    Args:
        topology: which shard sees what.
        widths: neurons of each layer, the input first.
        placement: which rank has which shards.
        layer: the layer that reads the buffer, from 1.
        rank: whose buffer.
    """
    received = _Layout(topology, widths, placement, layer, rank).receives()
    return {peer: len(rows) for peer, rows in received.items() if peer != rank}


class _Layout:
    """The rows of one rank's buffer, before it is known who takes from it."""

    def __init__(
        self,
        topology: Topology,
        widths: Sequence[int],
        placement: Placement,
        layer: int,
        rank: int,
    ) -> None:
        self._neurons = widths[layer - 1]
        self._rank = rank
        self._bounds = placement.bounds(self._neurons)
        self._low: int | None = None  # neuron of the first row, where the rows are a window
        self._replicated = layer == 1 and topology.input == "replicated"
        self._sources = [
            sources_of(topology, widths, layer, shard) for shard in placement.shards_of(rank)
        ]
        first, last = int(self._bounds[rank]), int(self._bounds[rank + 1])
        neurons, self.own = self._rows(first, last)
        groups = coarse_groups(topology, widths, layer)
        self._coarse_bounds = np.zeros(placement.ranks + 1, np.int64)
        if groups is not None:
            # A rank's own groups are those that begin among its own neurons.
            self._coarse_bounds = np.searchsorted(groups[:-1], self._bounds)
        count = int(self._coarse_bounds[-1])
        self._coarse = np.arange(self._neurons, self._neurons + count, dtype=np.int64)
        self._first_coarse_row = len(neurons)
        self.held = np.concatenate([neurons, self._coarse])
        mine = self._coarse_bounds[rank : rank + 2] + self._first_coarse_row
        self.own_coarse = slice(int(mine[0]), int(mine[1]))

    def _rows(self, first: int, last: int) -> tuple[Indices, slice]:
        """Choose the rows: all neurons, a window of the ring, or own ones and then a list."""
        seeing = [one for one in self._sources if len(one.indices)]
        if any(len(one.indices) == self._neurons for one in seeing):
            return np.arange(self._neurons, dtype=np.int64), slice(first, last)
        window = _window(seeing)
        if window is not None and window[0] <= first <= last <= window[1]:
            self._low, high = window
            held = np.arange(self._low, high, dtype=np.int64) % self._neurons
            return held, slice(first - self._low, last - self._low)
        own = np.arange(first, last, dtype=np.int64)
        seen = np.unique(np.concatenate([own[:0], *(one.indices for one in seeing)]))
        ghosts = seen[(seen < first) | (seen >= last)]
        return np.concatenate([own, ghosts]), slice(0, last - first)

    def columns(self) -> tuple[Indices, ...]:
        """Return the rows that each shard sees."""
        coarse_rows = np.arange(len(self._coarse), dtype=np.int64) + self._first_coarse_row
        return tuple(
            np.concatenate([self._rows_seen(one), coarse_rows if len(one.indices) else []]).astype(
                np.int64
            )
            for one in self._sources
        )

    def _rows_seen(self, one: Sources) -> Indices:
        neurons = self.held[: self._first_coarse_row]
        if self._low is not None and one.start is not None and len(one.indices):
            # Where the ring meets itself a neuron has several rows; a shard's lie in a row.
            begin = one.start - self._low
            return np.arange(begin, begin + len(one.indices), dtype=np.int64)
        order = np.argsort(neurons, kind="stable")
        return order[np.searchsorted(neurons, one.indices, sorter=order)].astype(np.int64)

    def receives(self) -> dict[int, Indices]:
        """Return the rows that are not own, by the rank that has the neuron."""
        if self._replicated:
            return {}
        rows = np.arange(len(self.held), dtype=np.int64)
        ghosts = rows[
            ((rows < self.own.start) | (rows >= self.own.stop))
            & ((rows < self.own_coarse.start) | (rows >= self.own_coarse.stop))
        ]
        owners = self._owners(self.held[ghosts])
        return {int(owner): ghosts[owners == owner] for owner in np.unique(owners)}

    def _owners(self, neurons: Indices) -> Indices:
        of_neurons = np.searchsorted(self._bounds, neurons, side="right") - 1
        of_coarse = np.searchsorted(self._coarse_bounds, neurons - self._neurons, side="right") - 1
        return np.asarray(np.where(neurons < self._neurons, of_neurons, of_coarse), np.int64)

    def rows_of_own(self, neurons: Indices) -> Indices:
        """Return the rows of some of the rank's own neurons and coarse values."""
        rows = neurons - self._bounds[self._rank] + self.own.start
        coarse = neurons - self._neurons - self._coarse_bounds[self._rank] + self.own_coarse.start
        return np.asarray(np.where(neurons < self._neurons, rows, coarse), np.int64)


def _window(sources: Sequence[Sources]) -> tuple[int, int] | None:
    """Return the span of windows on the ring; None where there is none, or not all are windows."""
    spans = [(one.start, one.start + len(one.indices)) for one in sources if one.start is not None]
    if not spans or len(spans) < len(sources):
        return None
    return min(start for start, _ in spans), max(stop for _, stop in spans)
