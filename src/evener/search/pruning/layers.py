"""Describe a small network in plain arrays: layers in a graph, with weights and masks.

A layer adds up what its sources send, and its biases, and applies its activation. A dense layer
gets every source through weights; a sum gets them as they are, so they must be equally wide: that
is what a skip connection is made of.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evener.errors import InvalidNetworkError
from evener.search.chaos.activation import ACTIVATIONS, Floats, Name

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer, and what it gets from others.

    Attributes:
        biases: of its neurons: [width].
        activation: of its sums.
        sources: the layers that it gets values from, by index, each less than its own.
        weights: from each source, [width of the source, width]; none for a sum.
        masks: which of those links are there, in the same shapes.
    """

    biases: Floats
    activation: Name = "identity"
    sources: tuple[int, ...] = ()
    weights: tuple[Floats, ...] = ()
    masks: tuple[Mask, ...] = ()

    @property
    def width(self) -> int:
        """How many neurons it has."""
        return len(self.biases)

    @property
    def sums(self) -> bool:
        """Whether it adds up its sources as they are."""
        return bool(self.sources) and not self.weights

    def live_weights(self) -> list[Floats]:
        """Return the weights from each source, 0 where no link is."""
        return [np.where(*each, 0.0) for each in zip(self.masks, self.weights, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Net:
    """Layers, each behind its sources: the first is the input, the last the output.

    Attributes:
        layers: the biases of the first are not used, only their number.
    """

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        if not self.layers or self.layers[0].sources:
            raise InvalidNetworkError("a network begins with a layer without sources: its input")
        for index, layer in enumerate(self.layers):
            self._check(index, layer)

    def _check(self, index: int, layer: Layer) -> None:
        if any(not 0 <= source < index for source in layer.sources):
            raise InvalidNetworkError(
                f"layer {index} gets values from layers {list(layer.sources)}: name layers before "
                "it only",
                node=str(index),
            )
        widths = [self.layers[source].width for source in layer.sources]
        if layer.sums:
            if any(width != layer.width for width in widths) or layer.masks:
                raise InvalidNetworkError(
                    f"layer {index} adds up layers that are {widths} neurons wide, and is "
                    f"{layer.width} wide: make them equal, or give it weights",
                    node=str(index),
                )
            return
        wanted = [(width, layer.width) for width in widths]
        for arrays in (layer.weights, layer.masks):
            if [array.shape for array in arrays] != wanted:
                raise InvalidNetworkError(
                    f"layer {index} needs weights and masks of shapes {wanted} from layers "
                    f"{list(layer.sources)}, and has {[array.shape for array in arrays]}",
                    node=str(index),
                )

    @property
    def links(self) -> int:
        """How many links it has."""
        return sum(int(mask.sum()) for layer in self.layers for mask in layer.masks)

    @property
    def weights(self) -> int:
        """How many numbers its weight matrices hold: what it costs to compute it densely."""
        return sum(mask.size for layer in self.layers for mask in layer.masks)


def dense(
    sources: Sequence[tuple[int, Floats]], biases: Floats, activation: Name = "identity"
) -> Layer:
    """Make a layer that has every link.

    Args:
        sources: which layers it gets values from, and by which weights.
        biases: of its neurons.
        activation: of its sums.
    """
    weights = tuple(weight for _, weight in sources)
    masks = tuple(np.ones(weight.shape, dtype=bool) for weight in weights)
    return Layer(biases, activation, tuple(index for index, _ in sources), weights, masks)


def values(net: Net, rows: Floats) -> list[Floats]:
    """Compute every layer's values.

    Args:
        net: the network.
        rows: [rows, inputs].

    Returns:
        [rows, width] of each layer, the input first.
    """
    found: list[Floats] = [rows]
    for layer in net.layers[1:]:
        sums = np.broadcast_to(layer.biases, (len(rows), layer.width))
        if layer.sums:
            sums = sum((found[source] for source in layer.sources), start=sums)
        else:
            for source, weights in zip(layer.sources, layer.live_weights(), strict=True):
                sums = sums + found[source] @ weights
        found.append(ACTIVATIONS[layer.activation].value(sums))
    return found


def answer(net: Net, rows: Floats) -> Floats:
    """Compute the last layer's values: [rows, outputs].

    Example:
        >>> double = dense([(0, np.array([[2.0]]))], np.array([1.0]))
        >>> answer(Net((Layer(np.zeros(1)), double)), np.array([[3.0]]))
        array([[7.]])
    """
    return values(net, rows)[-1]
