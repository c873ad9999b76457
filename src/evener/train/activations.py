"""Activations and their derivatives, in place on values that are kept for the way back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import torch
from torch import Tensor
from torch.nn.functional import gelu, pad

Activation = Literal["identity", "sigmoid", "tanh", "relu", "gelu", "softmax"]


@dataclass(frozen=True, slots=True)
class Rule:
    """How an activation is computed and gone back through.

    Attributes:
        apply: changes sums to values, in place.
        back: changes the gradient of values to that of sums, in place; given what is kept too.
        keeps: whether the way back needs the sums, or the values.
    """

    apply: Callable[[Tensor], object]
    back: Callable[[Tensor, Tensor], object]
    keeps: Literal["values", "sums"] = "values"


# A tensor: torch takes four times as long over a number of Python's, which it makes one of.
_HALF: Final = torch.tensor(0.5)
_SIGMOID_BACK: Final = torch.ops.aten.sigmoid_backward.grad_input
_TANH_BACK: Final = torch.ops.aten.tanh_backward.grad_input
_RELU_BACK: Final = torch.ops.aten.threshold_backward.grad_input


def _sigmoid(sums: Tensor) -> None:
    # torch's own ends in other bits in the last few elements of an array; its tanh does not.
    torch.addcmul(_HALF, _HALF, sums.mul_(_HALF).tanh_(), out=sums)


def _gelu_back(gradient: Tensor, sums: Tensor) -> None:
    back = torch.ops.aten.gelu_backward(_whole(gradient), _whole(sums))
    gradient.copy_(back[: sums.numel()].view_as(sums))


def _gelu(sums: Tensor) -> None:
    sums.copy_(gelu(_whole(sums))[: sums.numel()].view_as(sums))


def _whole(values: Tensor) -> Tensor:
    """Return values in one row with zeros behind: what vector loops leave over is computed so too.

    Torch's loops for gelu round otherwise in that rest, which depends on who has which neurons.
    """
    return pad(values.reshape(-1), (0, -values.numel() % 64))


def _nothing(*_: Tensor) -> None:
    """Leave the values as they are."""


# Softmax spans all shards, and goes back together with the loss: see `evener.train.losses`.
RULES: Final[Mapping[Activation, Rule]] = {
    "identity": Rule(_nothing, _nothing),
    "softmax": Rule(_nothing, _nothing),
    "sigmoid": Rule(_sigmoid, lambda gradient, y: _SIGMOID_BACK(gradient, y, grad_input=gradient)),
    "tanh": Rule(
        torch.Tensor.tanh_, lambda gradient, y: _TANH_BACK(gradient, y, grad_input=gradient)
    ),
    "relu": Rule(
        torch.Tensor.relu_, lambda gradient, y: _RELU_BACK(gradient, y, 0, grad_input=gradient)
    ),
    "gelu": Rule(_gelu, _gelu_back, keeps="sums"),
}
