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
    """The activations of one hidden node of a stack, over arrays that stay where they are.

    Args:
        individuals: of the stack, those of one activation side by side.
        z_PBO: sums of the node.
        y_PBO: where its values go.
        gradient_PBO: of its values, to be changed to that of its sums.
        there_P1O: 1 for each neuron that an individual has, 0 for padding.
    """

    def __init__(
        self,
        individuals: Sequence[Individual],
        z_PBO: Tensor,
        y_PBO: Tensor,
        gradient_PBO: Tensor,
        there_P1O: Tensor,
    ) -> None:
        self._runs: list[_Run] = []
        first = 0
        for name, run in groupby(one.activation for one in individuals):
            rows = slice(first, first + len(list(run)))
            parts = (one[rows] for one in (z_PBO, y_PBO, gradient_PBO, there_P1O))
            self._runs.append(_Run(RULES[name], *parts))
            first = rows.stop

    def apply(self) -> None:
        """Write the values of the node; 0 for padding."""
        for run in self._runs:
            run.rule.apply(run.sums, run.values)
            if run.rule.moves_zero:
                run.values.mul_(run.there)

    def back(self) -> None:
        """Change the gradient of values to that of sums, in place."""
        for run in self._runs:
            kept = run.values if run.rule.keeps == "values" else run.sums
            run.rule.back(run.gradient, kept)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """The individuals of one activation."""

    rule: Rule
    sums: Tensor
    values: Tensor
    gradient: Tensor
    there: Tensor
