"""A layer whose products are taken in half precision: of copies, while all else stays as it is.

Weights, what the layer sees and the gradients of its sums are rounded to 16 bits before they are
multiplied, and products come back in 16 bits (added up in 32 inside). Weights themselves, biases,
activations, the loss, and everything that is sent between ranks stay in the network's precision; so
an optimiser adds steps to them that 16 bits would lose. Shapes in names as in
`evener.train.sharded`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, get_args

import torch
from torch import Tensor

from evener.errors import InputError
from evener.train.sharded import BoundLayer, Run, ShardedLayer

Precision = Literal["float32", "bfloat16"]
"""What products are taken in; float32 stands for the network's own precision."""

PRECISIONS: Final[tuple[Precision, ...]] = get_args(Precision)
_CACHED_BYTES: Final = 1 << 19  # of gradients that are still in a core's cache when subtracted
_TYPES: Final[Mapping[Precision, torch.dtype]] = {"bfloat16": torch.bfloat16}


def check_precision(name: str) -> None:
    """Refuse a precision that products cannot be taken in.

    Raises:
        InputError: says which there are.

    Example:
        >>> check_precision("float8")
        Traceback (most recent call last):
        ...
        evener.errors.InputError: 'float8' is no precision of products; choose float32 or bfloat16
    """
    if name not in PRECISIONS:
        raise InputError(f"'{name}' is no precision of products; choose {' or '.join(PRECISIONS)}")


class MixedLayer:
    """The shards of one layer that a rank computes, and copies of their weights in half precision.

    Args:
        layer: the shards.
        precision: of the copies.
    """

    def __init__(self, layer: ShardedLayer, precision: Precision) -> None:
        self._dtype = _TYPES[precision]
        self._runs = layer.runs
        halves = [
            Run(
                run.shards,
                run.rows,
                torch.zeros_like(run.weight, dtype=self._dtype),
                torch.zeros_like(run.bias, dtype=self._dtype),  # biases are added in full
                run.columns,
                dense=False,  # one row of a batch is multiplied as several are
                held=False,
            )
            for run in layer.runs
        ]
        self._halves = ShardedLayer(halves, layer.neurons)

    def bind(
        self, buffer_NB: Tensor, out_NB: Tensor, gradient_NB: Tensor, into_NB: Tensor | None
    ) -> "BoundMixed":
        """Say what the layer reads and writes; see `Run.bind`."""
        return BoundMixed(
            self._runs, self._halves, self._dtype, (buffer_NB, out_NB, gradient_NB, into_NB)
        )


class BoundMixed:
    """A layer's shards on a rank, and the arrays that they read and write; as `BoundLayer`."""

    def __init__(
        self,
        runs: Sequence[Run],
        halves: ShardedLayer,
        dtype: torch.dtype,
        arrays: tuple[Tensor, Tensor, Tensor, Tensor | None],
    ) -> None:
        self._buffer_NB, self._out_NB, self._gradient_NB, into_NB = arrays
        self._half_buffer, self._half_out, self._half_gradient = (
            torch.zeros_like(one, dtype=dtype)
            for one in (self._buffer_NB, self._out_NB, self._gradient_NB)
        )
        self._runs = runs
        self._half_runs = halves.runs
        self._bound: BoundLayer = halves.bind(
            self._half_buffer, self._half_out, self._half_gradient, into_NB
        )
        self._gradients: list[tuple[Tensor, Tensor]] = []  # in half precision, of weights, biases

    def forward(self) -> None:
        """Write the sums of all its neurons."""
        # Copied here and nowhere else, so that whoever changes weights need not know of copies.
        for run, half in zip(self._runs, self._half_runs, strict=True):
            half.weight.copy_(run.weight)
        self._half_buffer.copy_(self._buffer_NB)
        self._bound.forward()
        self._out_NB.copy_(self._half_out)
        for run in self._runs:
            _of(run, self._out_NB).add_(run.bias)

    def back(self) -> None:
        """Write the gradient of what it saw, given that of its sums."""
        self._half_gradient.copy_(self._gradient_NB)
        self._bound.back()

    def gradients(self, into: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Write the gradients of weight and bias of each run."""
        self._multiply_gradients()
        for run, (half_SMC, _), (weight_SMC, bias_SM1) in zip(
            self._runs, self._gradients, into, strict=True
        ):
            weight_SMC.copy_(half_SMC)
            torch.sum(_of(run, self._gradient_NB), 2, keepdim=True, out=bias_SM1)

    def descend(self, rate: float) -> None:
        """Write the gradient of what it saw by the weights as they are, and move these down."""
        self.back()
        self._multiply_gradients()
        for run, (half_SMC, _) in zip(self._runs, self._gradients, strict=True):
            # Torch is quicker to convert and to subtract than to do both at once.
            weight_NC, half_NC = run.weight.flatten(0, 1), half_SMC.flatten(0, 1)
            rows = max(1, _CACHED_BYTES // (weight_NC.shape[1] * weight_NC.element_size()))
            for few_NC, some_NC in zip(
                torch.split(weight_NC, rows), torch.split(half_NC, rows), strict=True
            ):
                few_NC.sub_(some_NC.to(few_NC.dtype), alpha=rate)
            run.bias.sub_(_of(run, self._gradient_NB).sum(2, keepdim=True), alpha=rate)

    def settle(self) -> None:
        """Hold nothing back: the weights were moved."""

    def _multiply_gradients(self) -> None:
        if not self._gradients:
            self._gradients = [
                (torch.zeros_like(half.weight), torch.zeros_like(half.bias))
                for half in self._half_runs
            ]
        self._half_gradient.copy_(self._gradient_NB)
        self._bound.gradients(self._gradients)


def _of(run: Run, values_NB: Tensor) -> Tensor:
    """Return the values of a run's neurons, (S, M, B)."""
    shards, neurons, _ = run.bias.shape
    return values_NB[run.rows].view(shards, neurons, -1)
