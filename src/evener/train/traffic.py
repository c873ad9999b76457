"""How many weights each rank has, and how many values it receives from whom, layer by layer.

Nothing of the size of a layer's weights is allocated, so that a thousand ranks can be looked at.
Shapes in names: R ranks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from evener.artifacts.topology import Topology
from evener.train.carriage import Carriage, adds_up
from evener.train.one_row import worth_holding
from evener.train.reach import received_from
from evener.train.sharding import (
    Indices,
    Placement,
    block_bounds,
    coarse_groups,
    most_seeing,
    sources_of,
)

VALUE_BYTES: Final = 4  # weights and values are f32
Received = tuple[Mapping[int, int], ...]
"""Of each rank: how many values it receives from each other one, for a row of a batch."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerTraffic:
    """What the ranks have of one layer, and what they want to see of the one before.

    Attributes:
        weights_R: weights of each rank, biases left out.
        carried_R: what collectives carry of each rank: its values of the layer before, or the sums
            of its neurons.
        received: values that travel forward; nothing where collectives carry them.
        everything: whether every rank is to see every value, so that collectives carry them.
        summed: whether they carry sums instead, behind the layer.
        dense: whether a rank's weights are one matrix.
        held: whether steps of one row are held back; see `evener.train.one_row`.
        shards_R: shards of each rank that have neurons of the layer.
        gradient_bytes: of a value that travels back.
    """

    weights_R: Indices
    carried_R: Indices
    received: Received
    everything: bool
    summed: bool
    dense: bool
    held: bool
    shards_R: Indices
    gradient_bytes: int

    @property
    def returned(self) -> Received:
        """What travels back: who sent values receives their gradients."""
        back: tuple[dict[int, int], ...] = tuple({} for _ in self.received)
        for rank, peers in enumerate(self.received):
            for peer, values in peers.items():
                back[peer][rank] = values
        return back


def traffic_of(
    topology: Topology,
    widths: Sequence[int],
    placement: Placement,
    *,
    carriage: Carriage = "cheapest",
) -> list[LayerTraffic]:
    """Count for each layer but the input what `evener.train.ranked` has and sends.

    Args:
        topology: which shard sees what.
        widths: neurons of each layer, the input first.
        placement: which rank has which shards.
        carriage: what travels where everyone sees everything.

    Example:
        >>> (layer,) = traffic_of(Topology(shards=4, halo=1, input="sharded"), (8, 4),
        ...                       Placement.even(4, 2))
        >>> layer.weights_R.tolist(), layer.received
        ([8, 8], ({1: 2}, {0: 2}))
    """
    return [_layer(topology, widths, placement, layer, carriage) for layer in range(1, len(widths))]


def _layer(
    topology: Topology, widths: Sequence[int], placement: Placement, layer: int, carriage: Carriage
) -> LayerTraffic:
    before_R = np.diff(placement.bounds(widths[layer - 1]))
    rows_S = np.diff(block_bounds(widths[layer], topology.shards))
    firsts = np.concatenate([[0], np.cumsum(placement.counts)[:-1]])
    shards_R = np.add.reduceat((rows_S > 0).astype(np.int64), firsts)
    replicated = layer == 1 and topology.input == "replicated"
    if topology.halo == "full":
        here_R = np.diff(placement.bounds(widths[layer]))
        summed = adds_up(topology, widths, layer, placement.ranks, carriage)
        weights_R = before_R * widths[layer] if summed else here_R * widths[layer - 1]
        everything = placement.ranks > 1 and not replicated
        return LayerTraffic(
            weights_R=weights_R,
            carried_R=here_R if summed else before_R,
            received=_nothing(placement),
            everything=everything,
            summed=summed,
            dense=True,
            held=worth_holding(widths[layer - 1] * widths[layer]),
            shards_R=shards_R,
            gradient_bytes=VALUE_BYTES,
        )
    groups = coarse_groups(topology, widths, layer)
    coarse = 0 if groups is None else len(groups) - 1
    seen_S = np.array(
        [
            len(sources_of(topology, widths, layer, shard).indices) + coarse if rows else 0
            for shard, rows in enumerate(rows_S)
        ],
        np.int64,
    )
    weights_R = np.add.reduceat(rows_S * seen_S, firsts)
    received = _nothing(placement)
    if not replicated:
        received = tuple(
            received_from(topology, widths, placement, layer, rank)
            for rank in range(placement.ranks)
        )
    few = most_seeing(topology, widths, layer) <= 2  # see `RankedNetwork`: more add up in f64
    return LayerTraffic(
        weights_R=weights_R,
        carried_R=np.zeros_like(before_R),
        received=received,
        everything=False,
        summed=False,
        dense=False,
        held=worth_holding(widths[0] * widths[1] if replicated else int((rows_S * seen_S).max())),
        shards_R=shards_R,
        gradient_bytes=VALUE_BYTES if few else 2 * VALUE_BYTES,
    )


def _nothing(placement: Placement) -> Received:
    return tuple({} for _ in range(placement.ranks))
