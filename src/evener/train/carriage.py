"""Decide what travels between ranks of which each needs everything: values, or sums of products."""

from collections.abc import Sequence
from typing import Literal

from evener.artifacts.topology import Topology

Carriage = Literal["cheapest", "gather", "sums", "broadcast", "messages"]
"""How a dense layer's ranks come to what they need of one another.

* gather: each has the weights of its own neurons; values are gathered before the layer, and the
  sums of their gradients scattered behind it.
* sums: each has the weights that read its own values; sums of products are scattered behind the
  layer, and gradients gathered before it on the way back.
* broadcast: as gather, but each rank sends its values to all in turn.
* messages: as gather, by messages between two ranks: what the others are held against.
* cheapest: of gather and sums whichever sends fewer values, layer by layer.
"""


def adds_up(
    topology: Topology,
    widths: Sequence[int],
    layer: int,
    ranks: int,
    carriage: Carriage = "cheapest",
) -> bool:
    """Whether a layer's ranks add up sums, instead of seeing all values.

    A rank sends its values to all others, or a sum for each of their neurons: so sums are cheaper
    where a layer has fewer neurons than the one before it. The first layer gathers, if anything.

    Args:
        topology: which neurons see which.
        widths: neurons of each layer, the input first.
        layer: from 1.
        ranks: that compute the network.
        carriage: what is asked for.

    Example:
        >>> large = (2048, 32768, 8192, 4096, 2048)
        >>> [adds_up(Topology(shards=2), large, layer, 2) for layer in (1, 2, 3, 4)]
        [False, True, True, True]
        >>> adds_up(Topology(shards=2), (2048, 4096, 4096), 2, 2)
        False
    """
    before, here = widths[layer - 1], widths[layer]
    possible = topology.halo == "full" and layer > 1 and 1 < ranks <= min(before, here)
    if carriage == "cheapest":
        return possible and here < before
    return possible and carriage == "sums"
