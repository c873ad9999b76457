"""Connect a network again whose answers no longer depend on its input."""

from dataclasses import replace
from math import inf
from typing import Literal

import numpy as np

from evener.errors import InvalidNetworkError
from evener.search.chaos.activation import Floats
from evener.search.pruning.dead import connected
from evener.search.pruning.layers import Net

Manner = Literal["repair", "condemn"]


def repaired(net: Net, manner: Manner = "repair") -> Net | None:
    """Put back as few links as connect the input with the output; of equal ones the heaviest.

    Args:
        net: the network; it stays as it is.
        manner: "condemn" adds nothing: such a network is as unfit as can be.

    Returns:
        The network if it is connected, or the repaired one; None if it is condemned.

    Raises:
        InvalidNetworkError: no path of layers leads from the input to the output.
    """
    if connected(net):
        return net
    if manner == "condemn":
        return None
    steps, came = _cheapest(net)
    at = int(np.argmin(steps[-1]))
    if steps[-1][at] == inf:
        raise InvalidNetworkError(
            f"no layers lead from the input to layer {len(net.layers) - 1}, the output, so no link "
            "can connect them: give the output a source that is fed",
            node=str(len(net.layers) - 1),
        )
    layers = list(net.layers)
    index = len(layers) - 1
    while index:
        layer = layers[index]
        place, before = (int(one) for one in came[index][:, at])
        if not layer.sums:
            masks = list(layer.masks)
            masks[place] = masks[place].copy()
            masks[place][before, at] = True
            layers[index] = replace(layer, masks=tuple(masks))
        index, at = layer.sources[place], before
    return Net(tuple(layers))


def _cheapest(net: Net) -> tuple[list[Floats], list[np.ndarray]]:
    """Return how many links each neuron lacks to be reached, and where its best path comes from.

    The second is [2, width] of each layer: the place of the source, and the neuron there.
    """
    steps: list[Floats] = [np.zeros(net.layers[0].width)]
    came = [np.zeros((2, net.layers[0].width), dtype=np.intp)]
    for layer in net.layers[1:]:
        best: Floats = np.full(layer.width, inf)
        origin = np.zeros((2, layer.width), dtype=np.intp)
        for place, source in enumerate(layer.sources):
            if layer.sums:
                neuron, cost = np.arange(layer.width), steps[source]
            else:
                # Weights decide between paths of equally many links, and never against fewer.
                size = np.abs(layer.weights[place])
                light = 1e-6 * (1 - size / max(float(size.max()), 1e-300))
                price = steps[source][:, None] + np.where(layer.masks[place], 0.0, 1.0 + light)
                neuron = np.argmin(price, axis=0)
                cost = np.take_along_axis(price, neuron[None], axis=0)[0]
            better = cost < best
            best = np.where(better, cost, best)
            origin = np.where(better, [np.full(layer.width, place), neuron], origin)
        steps.append(best)
        came.append(origin)
    return steps, came
