"""Take hidden units out of a network that was trained, and leave a smaller one without masks.

Which units go is decided by whoever calls: training offers the weights, and the gradients of the
loss over parts of the rows that were learned from.
"""

from collections.abc import Iterable, Iterator
from math import ceil
from typing import Final, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from evener.artifacts.networks import Network
from evener.errors import InputError
from evener.train.conv_model import ConvLayers
from evener.train.graph import GraphLayers
from evener.train.loop import one_thread
from evener.train.model import Classifier
from evener.train.population.weights import Weights

_LOOKS: Final = 64  # parts of the rows that gradients are of, at most
_FEWEST: Final = 32  # rows of a part


class Shrink(Protocol):
    """Decides which units of a network go."""

    def __call__(
        self, network: Network, weights: Weights, gradients: Iterable[Weights], share: float, /
    ) -> tuple[Network, Weights]:
        """Return the smaller network and its weights; it answers as the other without the units.

        Args:
            network: that was trained.
            weights: of it.
            gradients: of the loss over parts of the rows, in the shapes of the weights.
            share: of the hidden units that go.
        """
        ...


def smaller(
    model: Classifier,
    network: Network,
    features: NDArray[np.float32],
    targets: NDArray[np.float32],
    shrink: Shrink,
    share: float,
) -> tuple[Network, Weights]:
    """Return what is left of a network, and its weights.

    Args:
        model: the network, trained; it stays as it is.
        network: what it is.
        features: that it learned from.
        targets: that it learned.
        shrink: decides which units go.
        share: of the hidden units that go.

    Raises:
        InputError: it is neither a graph of layers nor of blocks.
    """
    layers = prunable_layers(model, network)
    with one_thread():
        return shrink(network, layers.read(), _gradients(model, layers, features, targets), share)


def prunable_layers(model: Classifier, network: Network) -> GraphLayers | ConvLayers:
    """Return the layers of a model, whose weights can be read and written.

    Raises:
        InputError: it is neither a graph of layers nor of blocks.
    """
    if isinstance(model.layers, GraphLayers | ConvLayers):
        return model.layers
    raise InputError(f"{network}: units are taken out of graphs of layers and of blocks alone")


def _gradients(
    model: Classifier,
    layers: GraphLayers | ConvLayers,
    features: NDArray[np.float32],
    targets: NDArray[np.float32],
) -> Iterator[Weights]:
    """Yield the gradients of the loss over parts of the rows, in their order."""
    x, wanted = torch.tensor(features), model.head.wanted(targets)
    model.eval()
    for rows in torch.split(torch.arange(len(x)), max(_FEWEST, ceil(len(x) / _LOOKS))):
        model.zero_grad()
        torch.autograd.backward(model.head.loss(model.sums(x[rows]), wanted[rows]))
        yield layers.read(gradients=True)
    model.zero_grad()
