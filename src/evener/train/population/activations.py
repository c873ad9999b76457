"""Activations of a stack and the way back, each over the individuals that have it.

Unlike `evener.train.activations`, whose results are the same to the bit on any number of ranks,
these are torch's own kernels: how they round may depend on where a number stands.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal

import torch
from torch import Tensor

from evener.train.population.individual import ActivationName, Individual


@dataclass(frozen=True, slots=True)
class Rule:
    """How an activation is computed and gone back through.

    Attributes:
        apply: writes the values of sums into a tensor.
        back: changes the gradient of values to that of sums, in place; given what is kept too.
        keeps: whether the way back needs the sums, or the values.
        moves_zero: whether the value of 0 is another number, so that padding must be wiped.
    """

    apply: Callable[[Tensor, Tensor], object]
    back: Callable[[Tensor, Tensor], object]
    keeps: Literal["values", "sums"] = "values"
    moves_zero: bool = False


_OPS: Final = torch.ops.aten
_RELU_BACK: Final = _OPS.threshold_backward.grad_input
_TANH_BACK: Final = _OPS.tanh_backward.grad_input
_SIGMOID_BACK: Final = _OPS.sigmoid_backward.grad_input
_GELU_BACK: Final = _OPS.gelu_backward.grad_input

RULES: Final[Mapping[ActivationName, Rule]] = {
    "identity": Rule(lambda sums, into: into.copy_(sums), lambda *_: None),
    "relu": Rule(
        lambda sums, into: torch.clamp_min(sums, 0, out=into),
        lambda gradient, y: _RELU_BACK(gradient, y, 0, grad_input=gradient),
    ),
    "tanh": Rule(
        lambda sums, into: torch.tanh(sums, out=into),
        lambda gradient, y: _TANH_BACK(gradient, y, grad_input=gradient),
    ),
    "sigmoid": Rule(
        lambda sums, into: torch.sigmoid(sums, out=into),
        lambda gradient, y: _SIGMOID_BACK(gradient, y, grad_input=gradient),
        moves_zero=True,
    ),
    "gelu": Rule(
        lambda sums, into: _OPS.gelu.out(sums, out=into),
        lambda gradient, sums: _GELU_BACK(gradient, sums, grad_input=gradient),
        keeps="sums",
    ),
}


class Activations:
    """The activations of a stack's hidden nodes.

    Args:
        individuals: of the stack, those of one activation side by side.
    """

    def __init__(self, individuals: Sequence[Individual]) -> None:
        self._runs: list[tuple[slice, Rule]] = []
        first = 0
        for name, run in groupby(one.activation for one in individuals):
            last = first + len(list(run))
            self._runs.append((slice(first, last), RULES[name]))
            first = last

    def apply(self, z_PBO: Tensor, y_PBO: Tensor, there_P1O: Tensor) -> None:
        """Write the values of a node; 0 for padding.

        Args:
            z_PBO: sums.
            y_PBO: where the values go.
            there_P1O: 1 for each neuron that an individual has, 0 for padding.
        """
        for rows, rule in self._runs:
            rule.apply(z_PBO[rows], y_PBO[rows])
            if rule.moves_zero:
                y_PBO[rows].mul_(there_P1O[rows])

    def back(self, gradient_PBO: Tensor, z_PBO: Tensor, y_PBO: Tensor) -> None:
        """Change the gradient of values to that of sums, in place."""
        for rows, rule in self._runs:
            kept = y_PBO if rule.keeps == "values" else z_PBO
            rule.back(gradient_PBO[rows], kept[rows])
