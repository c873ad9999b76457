"""Drop the neurons that the answers do not need, without changing an answer.

A neuron that no path leads to from the input has always the same value: it is added to the biases
of those that get it, before it goes. A neuron that no path leads from to the output just goes. One
sweep forward and one backward find them all: what they drop makes no other neuron dead. Where sums
join layers, a neuron goes only when it is dead in all of them (see `joined`).
"""

from dataclasses import dataclass, replace

import numpy as np

from evener.search.chaos.activation import ACTIVATIONS, Floats
from evener.search.pruning.joined import free_groups
from evener.search.pruning.layers import Layer, Mask, Net


@dataclass(frozen=True, slots=True, eq=False)
class Liveness:
    """Which neurons of each layer matter.

    Attributes:
        reached: whether the input has a path to each: [width] of each layer.
        used: whether each has a path to the output.
    """

    reached: tuple[Mask, ...]
    used: tuple[Mask, ...]


def liveness(net: Net) -> Liveness:
    """Find which neurons the input reaches, and which the output uses.

    Args:
        net: the network. A link counts whatever its weight is.
    """
    reached: list[Mask] = []
    for index, layer in enumerate(net.layers):
        hit = np.full(layer.width, index == 0)
        for place, source in enumerate(layer.sources):
            hit = hit | (reached[source] if layer.sums else reached[source] @ layer.masks[place])
        reached.append(hit)
    used = [np.zeros(layer.width, dtype=bool) for layer in net.layers]
    used[-1][:] = True
    for index in reversed(range(len(net.layers))):
        layer = net.layers[index]
        for place, source in enumerate(layer.sources):
            used[source] = used[source] | (
                used[index] if layer.sums else layer.masks[place] @ used[index]
            )
    return Liveness(tuple(reached), tuple(used))


def connected(net: Net) -> bool:
    """Say whether any answer depends on the input."""
    return bool(liveness(net).reached[-1].any())


def remove_dead(net: Net) -> Net:
    """Drop dead neurons, and layers of which none is left; answers stay as they are.

    Args:
        net: the network; it stays as it is.

    Returns:
        One that answers the same, to rounding. A second time changes nothing.
    """
    while True:  # what goes from one joined layer may leave others without a use
        small = _without_dead(net)
        if small.links == net.links and _widths(small) == _widths(net):
            return small
        net = small


def _widths(net: Net) -> list[int]:
    return [layer.width for layer in net.layers]


def _without_dead(net: Net) -> Net:
    live = liveness(net)
    folded = _fold(net, live.reached)
    stay = [np.ones(layer.width, dtype=bool) for layer in net.layers]
    for group in free_groups(net):
        needed = [live.reached[index] & live.used[index] for index in group]
        for index in group:
            stay[index] = np.any(needed, axis=0)
    return take(folded, stay)


def as_dense(net: Net) -> Net:
    """Make the small network to hand out: no dead neurons, and zeros where links are missing.

    Args:
        net: the network; it stays as it is.

    Returns:
        One that answers the same, to rounding, and needs no masks.
    """
    small = remove_dead(net)
    return Net(
        tuple(
            replace(
                layer,
                weights=tuple(layer.live_weights()),
                masks=tuple(np.ones_like(mask) for mask in layer.masks),
            )
            for layer in small.layers
        )
    )


def take(net: Net, stay: list[Mask]) -> Net:
    """Keep some neurons of each layer; those left out must be neither reached nor used.

    Args:
        net: the network.
        stay: which: [width] of each layer.

    Returns:
        The smaller network, without layers that have no neuron left.
    """
    place = {
        index: number
        for number, index in enumerate(i for i, kept in enumerate(stay) if kept.any() or i == 0)
    }
    layers = []
    for index in place:
        layer = net.layers[index]
        left = [(at, one) for at, one in enumerate(layer.sources) if one in place]
        cut = [(at, np.ix_(stay[one], stay[index])) for at, one in left]
        dense = not layer.sums
        layers.append(
            Layer(
                layer.biases[stay[index]],
                layer.activation,
                tuple(place[one] for _, one in left),
                tuple(layer.weights[at][part] for at, part in cut) if dense else (),
                tuple(layer.masks[at][part] for at, part in cut) if dense else (),
            )
        )
    return Net(tuple(layers))


def _fold(net: Net, reached: tuple[Mask, ...]) -> Net:
    """Add what neurons send that are always the same to biases, and cut their links."""
    always: list[Floats] = []  # their values; 0 for the others
    layers = []
    for index, layer in enumerate(net.layers):
        biases, masks = layer.biases, list(layer.masks)
        for at, source in enumerate(layer.sources if not layer.sums else ()):
            biases = biases + always[source] @ layer.live_weights()[at]
            masks[at] = masks[at] & reached[source][:, None]
        layers.append(replace(layer, biases=biases, masks=tuple(masks)))
        sums = biases
        for source in layer.sources if layer.sums else ():
            sums = sums + always[source]
        fixed = ACTIVATIONS[layer.activation].value(sums)
        always.append(np.where(reached[index], 0.0, fixed))
    return Net(tuple(layers))
