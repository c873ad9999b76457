"""Take out the hidden units of a trained network that matter least: search's rules."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Network
from evener.errors import InputError
from evener.search.chaos.activation import Floats
from evener.search.pruning.channels import (
    Channel,
    Kernels,
    least_channels,
    rank_channels,
    without_channels,
)
from evener.search.pruning.dead import as_dense
from evener.search.pruning.layers import Layer, Net, dense
from evener.search.pruning.vectors import Gradient, Neuron, cut, least, rank

if TYPE_CHECKING:
    from evener.train.population.weights import Weights

_UnitT = TypeVar("_UnitT", Neuron, Channel)


def shrink(
    network: Network, weights: "Weights", gradients: "Iterable[Weights]", share: float
) -> "tuple[Network, Weights]":
    """Return a network without a share of its hidden units, or of the channels of its blocks.

    A unit matters as much as the loss of a part of the rows changes, to first order, if all that
    leads into it were 0, added up over the parts: over all rows together the gradients of a network
    that was trained are next to nothing. One unit of each layer is left.

    Args:
        network: a graph of layers, or blocks.
        weights: of it.
        gradients: of the loss over parts of the rows, in the shapes of the weights.
        share: of the hidden units, or of the channels, that go.

    Returns:
        The smaller network and its weights; it answers as the other whose units send nothing.

    Raises:
        InputError: it is neither.
    """
    if isinstance(network, ConvStack):
        kernels = _kernels(weights)
        parts = (rank_channels(network, kernels, _kernels(one)) for one in gradients)
        ranked = _added_up(parts)
        gone = least_channels(network, ranked, share)
        small, left = without_channels(network, kernels, gone)
        return small, _stacked(left)
    if isinstance(network, LayerGraph):
        net = net_of(network, weights)
        looks = (rank(net, _gradients(net, one)) for one in gradients)
        return _graph_of(as_dense(cut(net, least(net, _added_up(looks), share))), network)
    raise InputError(f"{network}: units are taken out of graphs of layers and of blocks alone")


def net_of(graph: LayerGraph, weights: "Weights") -> Net:
    """Return a graph of layers with its weights as plain arrays, the sums of the output last."""
    inputs = next(array.shape[0] for (start, _), array in weights.links.items() if start == 0)
    layers = [Layer(np.zeros(inputs))]
    for node, biases in enumerate(weights.biases, 1):
        sources = [
            (start, _exact(array))
            for (start, end), array in sorted(weights.links.items(), key=lambda one: one[0])
            if end == node
        ]
        last = node == graph.output
        layers.append(
            dense(
                sources,
                _exact(biases),
                "identity" if last else graph.activation,
            )
        )
    return Net(tuple(layers))


def _gradients(net: Net, weights: "Weights") -> list[Gradient]:
    found = [Gradient(np.zeros(net.layers[0].width), ())]
    for node, layer in enumerate(net.layers[1:], 1):
        into = tuple(_exact(weights.links[source, node]) for source in layer.sources)
        found.append(Gradient(_exact(weights.biases[node - 1]), into))
    return found


def _graph_of(net: Net, before: LayerGraph) -> "tuple[LayerGraph, Weights]":
    """Return a net whose layers are those of a graph, which only became narrower."""
    from evener.train.population.weights import Weights

    widths = tuple(layer.width for layer in net.layers[1:-1])
    links = {
        (source, node): array.astype(np.float32)
        for node, layer in enumerate(net.layers)
        for source, array in zip(layer.sources, layer.weights, strict=True)
    }
    biases = tuple(layer.biases.astype(np.float32) for layer in net.layers[1:])
    return msgspec.structs.replace(before, widths=widths), Weights(links, biases)


def _kernels(weights: "Weights") -> Kernels:
    return Kernels(tuple(map(_exact, weights.links.values())), tuple(map(_exact, weights.biases)))


def _stacked(kernels: Kernels) -> "Weights":
    from evener.train.population.weights import Weights

    places = pairwise(range(len(kernels.weights) + 1))
    return Weights(dict(zip(places, kernels.weights, strict=True)), kernels.biases)


def _exact(array: NDArray[np.floating]) -> Floats:
    return array.astype(np.float64)


def _added_up(looks: Iterable[list[_UnitT]]) -> list[_UnitT]:
    """Return the units of several looks with their importance of all, the least important first."""
    total: dict[Any, _UnitT] = {}
    for look in looks:
        for one in look:
            unit = replace(one, importance=0.0)
            known = total.get(unit)
            total[unit] = (
                one if known is None else replace(one, importance=known.importance + one.importance)
            )
    return sorted(total.values(), key=lambda one: one.importance)  # equals stay as a look has them
