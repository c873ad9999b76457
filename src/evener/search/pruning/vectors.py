"""Prune whole neurons, so that matrices become smaller and answers come sooner.

How little a neuron matters is told by the change of the loss, to first order, if all that leads
into it were 0: |Σ gradient · weight| over its links and bias (P. Molchanov et al., Pruning
convolutional neural networks for resource efficient inference, ICLR 2017). Neurons that a sum
joins count together, and go together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from types import MappingProxyType
from typing import Final

import numpy as np

from evener.errors import InputError
from evener.search.chaos.activation import Floats
from evener.search.pruning.joined import free_groups
from evener.search.pruning.layers import Net

# The shares of the paper's table II.
PRESETS: Final[Mapping[str, float]] = MappingProxyType({"half": 0.5, "seven-tenths": 0.7})


@dataclass(frozen=True, slots=True)
class Neuron:
    """A neuron that may be pruned, in every layer that a sum joins.

    Attributes:
        layers: of its group, by index.
        index: of the neuron in each of them.
        importance: how much the loss changes without it, to first order.
    """

    layers: tuple[int, ...]
    index: int
    importance: float


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """The gradient of the loss in one layer.

    Attributes:
        biases: [width].
        weights: from each source, [width of the source, width].
    """

    biases: Floats
    weights: tuple[Floats, ...]


def rank(net: Net, gradients: Sequence[Gradient]) -> list[Neuron]:
    """Order the neurons that may be pruned, the least important first.

    Args:
        net: the network.
        gradients: of the loss, for each layer.

    Raises:
        InputError: there are not as many gradients as layers.
    """
    if len(gradients) != len(net.layers):
        raise InputError(
            f"{len(gradients)} gradients for {len(net.layers)} layers: give one for each, the "
            "input included"
        )
    found = []
    for group in free_groups(net):
        change: Floats = np.zeros(net.layers[group[0]].width)
        for index in group:
            layer, gradient = net.layers[index], gradients[index]
            change = change + gradient.biases * layer.biases
            for weights, down in zip(layer.live_weights(), gradient.weights, strict=True):
                change = change + (weights * down).sum(axis=0)
        found += [Neuron(tuple(group), at, abs(float(one))) for at, one in enumerate(change)]
    return sorted(found, key=lambda one: (one.importance, one.layers, one.index))


def cut(net: Net, neurons: Sequence[Neuron]) -> Net:
    """Take away all links that lead from some neurons; `remove_dead` then drops them.

    Args:
        net: the network; it stays as it is.
        neurons: which.
    """
    gone = [np.zeros(layer.width, dtype=bool) for layer in net.layers]
    for neuron in neurons:
        for index in neuron.layers:
            gone[index][neuron.index] = True
    return Net(
        tuple(
            replace(
                layer,
                masks=tuple(
                    mask & ~gone[source][:, None]
                    for source, mask in zip(layer.sources, layer.masks, strict=True)
                ),
            )
            if layer.masks
            else layer
            for layer in net.layers
        )
    )


def least(net: Net, ranked: Sequence[Neuron], share: float) -> list[Neuron]:
    """Pick the least important neurons, up to a share, and leave one of every group.

    Args:
        net: the network.
        ranked: its neurons, the least important first.
        share: of the neurons that may be pruned, from 0 to 1; see `PRESETS`.

    Returns:
        The picked ones; fewer than the share where groups would be left empty.

    Raises:
        InputError: the share is out of range.
    """
    if not 0 <= share <= 1:
        raise InputError(f"a share of {share:g} of the neurons to prune: give one from 0 to 1")
    left = {tuple(group): net.layers[group[0]].width for group in free_groups(net)}
    most = ceil(share * sum(left.values()) - 1e-9)
    picked: list[Neuron] = []
    for neuron in ranked:
        if len(picked) == most:
            break
        if left[neuron.layers] > 1:
            left[neuron.layers] -= 1
            picked.append(neuron)
    return picked
