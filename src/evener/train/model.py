"""A network as a torch module: raw features in, answers out.

Shapes in names: B rows of a batch, F features, O outputs.
"""

from itertools import pairwise
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from evener.artifacts.architecture import Architecture
from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.layer_graph import LayerGraph, Spread
from evener.artifacts.networks import Ends, Network, picture_of
from evener.errors import InputError
from evener.train.conv_layers import Picture
from evener.train.conv_model import ConvLayers, picture_standardisation
from evener.train.graph import GraphLayers
from evener.train.head import Head
from evener.train.leave_out import LeaveOut

_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "sigmoid": nn.Sigmoid,
}

WORDS_LENGTH: Final = 2.0
"""Of the words of a row, after standardisation, about."""

_COLUMNS: Final = 256  # that are standardised at a time
_TOGETHER: Final = 1000  # rows that go forward at a time


class Classifier(nn.Module):
    """Layers with the standardisation of their features and a head inside.

    Both are part of the network, so that whoever runs it needs no other code, and what
    is measured is all of it.

    Attributes:
        mean: (F,) what is taken from each feature.
        scale: (F,) what it is multiplied by then.
        per_deviation: (F,) one over the standard deviation of each feature, of words of all.
        head: makes answers of the sums of the last layer.
    """

    mean: Tensor
    scale: Tensor
    per_deviation: Tensor

    def __init__(
        self,
        network: Network,
        x_BF: NDArray[np.float32],
        head: Head,
        *,
        seed: int,
        spread: Spread | None = None,
        picture: Picture | None = None,
        words: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        mean_F, scale_F = standardisation_for(network, x_BF, picture, words)
        self.register_buffer("mean", torch.from_numpy(mean_F))
        self.register_buffer("scale", torch.from_numpy(scale_F))
        per_deviation_F = scale_F.copy()
        if words:
            per_deviation_F[-words:] *= words**0.5 / WORDS_LENGTH
        self.register_buffer("per_deviation", torch.from_numpy(per_deviation_F), persistent=False)
        self.head = head
        ends = Ends(features=x_BF.shape[1], outputs=len(head.centre), picture=picture)
        self.layers = _layers(network, ends, seed, spread or Spread(), dropout)

    def sums(self, x_BF: Tensor) -> Tensor:
        """Return the sums (B, O) of the last layer."""
        y_BO: Tensor = self.layers((x_BF - self.mean) * self.scale)
        return y_BO

    def forward(self, x_BF: Tensor) -> Tensor:
        """Return the answers (B, O)."""
        answers_BO: Tensor = self.head(self.sums(x_BF))
        return answers_BO


def standardisation_for(
    network: Network, x_BF: NDArray[np.float32], picture: Picture | None, words: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean (F,) of each feature, or its channel, and what it is multiplied by, (F,).

    Args:
        network: one of convolutions reads channels.
        x_BF: rows to learn from.
        picture: channels, height and width of a row, if it is a picture.
        words: how many of the last features are weights of words.
    """
    if isinstance(network, ConvStack) and picture is not None:
        return picture_standardisation(x_BF, picture)
    return standardisation(x_BF, words)


def standardisation(
    x_BF: NDArray[np.float32], words: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean (F,) and one over the standard deviation (F,); 1 for a constant feature.

    Words are multiplied by one number, which gives those of a row a length of about 2: with one
    each, rare words would drown the others, and longer rows are learned by heart (accuracy on
    validation rows of Reuters R52 0.956 with a length of 2, 0.946 with one deviation of 1).

    Args:
        x_BF: rows to learn from.
        words: how many of the last features are weights of words.

    Example:
        >>> mean_F, scale_F = standardisation(np.array([[0.0, 7.0], [4.0, 7.0]], np.float32))
        >>> mean_F.tolist(), scale_F.tolist()
        ([2.0, 7.0], [0.5, 1.0])
    """
    mean_F, deviation_F = np.empty((2, x_BF.shape[1]))
    for first in range(0, x_BF.shape[1], _COLUMNS):  # in double precision texts would fill memory
        some = slice(first, first + _COLUMNS)
        exact_BF = x_BF[:, some].astype(np.float64)
        mean_F[some] = exact_BF.mean(axis=0)
        # That of a constant is rounding.
        deviation_F[some] = np.where(np.ptp(exact_BF, axis=0) > 0, exact_BF.std(axis=0), 0)
    if words:
        deviation_F[-words:] = np.sqrt(np.sum(deviation_F[-words:] ** 2)) / WORDS_LENGTH
    varies_F = deviation_F > np.finfo(np.float32).tiny  # else floats cannot divide by it
    scale_F = 1 / np.where(varies_F, deviation_F, 1.0)
    return mean_F.astype(np.float32), scale_F.astype(np.float32)


def predict(model: Classifier, x_BF: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the answers (B, O) to some rows."""
    with torch.no_grad():  # by parts, for the values of convolutions are many times the rows
        parts = [model(part) for part in torch.split(torch.tensor(x_BF), _TOGETHER)]
    answers_BO: NDArray[np.float32] = torch.cat(parts).numpy()
    return answers_BO


def _layers(network: Network, ends: Ends, seed: int, spread: Spread, dropout: float) -> nn.Module:
    match network:
        case LayerGraph():
            return GraphLayers(
                network, ends.features, ends.outputs, seed=seed, spread=spread, dropout=dropout
            )
        case ConvStack():
            picture = picture_of(network, ends)
            return ConvLayers(network, picture, ends.outputs, seed=seed, spread=spread)
    return _chain(network, ends.features, ends.outputs, seed, dropout)


def _chain(
    architecture: Architecture, features: int, outputs: int, seed: int, dropout: float
) -> nn.Sequential:
    if architecture.family in ("forest", "boosting"):
        raise InputError(
            f"{architecture} is no network; it is trained as a baseline. Give a family 'mlp' or "
            "'linear'."
        )
    generator = torch.Generator().manual_seed(seed)
    widths = architecture.widths(features, outputs)
    layers: list[nn.Module] = []
    for one, next_ in pairwise(widths):
        if layers:
            layers.append(_ACTIVATIONS[architecture.activation]())
            layers += [LeaveOut(dropout, seed=seed + len(layers))] if dropout else []
        # Made without values first, so that no global random state is read or moved.
        layer = nn.Linear(one, next_, device="meta").to_empty(device="cpu")
        bound = one**-0.5
        nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
        nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
        layers.append(layer)
    return nn.Sequential(*layers)
