"""Estimate what the arrays of a training take on all ranks together, in bytes.

Weights, their gradients where steps write them, what an optimiser remembers, and the values and
gradients of neurons; Python and its libraries are left out.
"""

from typing import Final

from evener.train.shape import Shape
from evener.train.sharding import Placement
from evener.train.traffic import VALUE_BYTES, traffic_of

_BOTH: Final = 2  # values and their gradients


def arrays_bytes(
    shape: Shape, *, ranks: int, replicas: int, batch: int, remembered: int | None
) -> int:
    """Return what the arrays of a training take on all ranks together, in bytes.

    Args:
        shape: the network; its shards are placed as evenly as can be.
        ranks: all of them.
        replicas: copies of the network, each on as many ranks.
        batch: rows of an iteration, divided among the replicas.
        remembered: numbers that the optimiser keeps for each weight; None for plain gradient
            descent, which on one replica writes no gradient either.

    Example:
        Three weights and their biases, and one row of three inputs and one answer:

        >>> arrays_bytes(Shape((3, 1), ("relu",)), ranks=1, replicas=1, batch=1, remembered=None)
        36
    """
    placement = Placement.even(shape.topology.shards, ranks // replicas)
    rows = -(-batch // replicas)
    written = remembered is not None or replicas > 1
    numbers_each = 1 + written + (remembered or 0)
    numbers = 0
    for number, layer in enumerate(traffic_of(shape.topology, shape.widths, placement)):
        before, here = shape.widths[number : number + 2]
        biases, seen = here, placement.ranks * before
        if layer.summed:  # each rank has a sum and a bias for every neuron, and sees its own values
            biases, seen = placement.ranks * here, before
            numbers += rows * biases
        elif not layer.dense and (number or shape.topology.input == "sharded"):
            seen = before + sum(sum(peers.values()) for peers in layer.received)
        numbers += numbers_each * (int(layer.weights_R.sum()) + biases)
        numbers += rows * seen * (_BOTH if number else 1)
    numbers += _BOTH * rows * shape.widths[-1]
    return VALUE_BYTES * numbers * replicas
