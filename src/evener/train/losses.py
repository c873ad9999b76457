"""How far outputs are from what was wanted, and which way is down, over the shards of all ranks.

What spans all shards is gathered, and then added by every rank in the order of the shards, so that
it does not depend on who has which. Shapes in names: N neurons of a rank, B rows of a batch, S
shards.
"""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from evener.comm.communicator import Communicator
from evener.errors import InputError

LossName = Literal["squared", "cross-entropy"]
LOSSES: Final[tuple[LossName, ...]] = ("squared", "cross-entropy")


class Loss(Protocol):
    """A loss of the outputs of one rank: the mean over the rows of a batch."""

    def answer(self, outputs_NB: Tensor) -> None:
        """Turn the last layer's outputs into answers, in place: by a softmax, if there is one."""

    def gradient(self, outputs_NB: Tensor, wanted_NB: Tensor, into_NB: Tensor, rows: int) -> None:
        """Write the gradient of the loss, and remember what `value` needs.

        Args:
            outputs_NB: answers of the rank's output neurons.
            wanted_NB: what they should be.
            into_NB: where the gradient goes of what the answers were made of.
            rows: what the mean is taken over: those of the batch, or more if others have the rest.
        """

    def value(self) -> float:
        """Return the loss of the arrays that were given last; every rank must ask for it."""
        ...


def make_loss(name: LossName, communicator: Communicator, neurons: Sequence[int]) -> Loss:
    """Make a loss.

    Args:
        name: "squared" for half of the sum of squares, "cross-entropy" behind a softmax.
        communicator: the ranks; all make their loss at the same time.
        neurons: how many output neurons each of the rank's shards has.

    Raises:
        InputError: another name.
    """
    if name == "squared":
        return SquaredError(_Shards(communicator, neurons))
    if name == "cross-entropy":
        return CrossEntropy(_Shards(communicator, neurons))
    raise InputError(f"'{name}' is no loss; choose {' or '.join(LOSSES)}")


class _Shards:
    """The output neurons of a rank by shard, and a way to see a figure of every shard."""

    def __init__(self, communicator: Communicator, neurons: Sequence[int]) -> None:
        self._communicator = communicator
        self._runs: list[tuple[slice, int]] = []  # rows of equal shards, and how many shards
        first = 0
        for count, equal in groupby(one for one in neurons if one):
            shards = len(list(equal))
            self._runs.append((slice(first, first + count * shards), shards))
            first += count * shards
        mine = np.array([sum(shards for _, shards in self._runs)], np.int64)
        counts = [np.zeros(1, np.int64) for _ in range(communicator.size)]
        communicator.all_gather(mine, counts)
        self._counts = [int(count[0]) for count in counts]

    def each(self, values_NB: Tensor, reduce: Callable[[Tensor], Tensor]) -> Tensor:
        """Reduce the neurons of each shard, (shards, neurons, B) to (shards, B)."""
        found = [
            reduce(torch.unflatten(values_NB[rows], 0, (shards, -1))) for rows, shards in self._runs
        ]
        if not found:  # a rank without outputs: its part has the shape of the others'
            return reduce(values_NB.new_zeros(1, 1, *values_NB.shape[1:]))[:0]
        return torch.cat(found)

    def gather(self, mine: Tensor) -> Tensor:
        """Return what all ranks have for their shards, in order."""
        if self._communicator.size == 1:
            return mine
        parts = [torch.empty(count, *mine.shape[1:], dtype=mine.dtype) for count in self._counts]
        self._communicator.all_gather(mine.contiguous().numpy(), [part.numpy() for part in parts])
        return torch.cat(parts)


class SquaredError:
    """Half of the sum of squared errors over the outputs; see `Loss`."""

    def __init__(self, shards: _Shards) -> None:
        self._shards = shards
        self._errors_NB = torch.zeros(0, 1)  # its own: a rank's outputs are written again
        self._rows = 1

    def answer(self, outputs_NB: Tensor) -> None:
        """Leave the outputs as they are."""

    def gradient(self, outputs_NB: Tensor, wanted_NB: Tensor, into_NB: Tensor, rows: int) -> None:
        """Write (output - wanted) / rows."""
        self._rows = rows
        if self._errors_NB.shape != outputs_NB.shape or self._errors_NB.dtype != outputs_NB.dtype:
            self._errors_NB = torch.empty_like(outputs_NB)
        torch.sub(outputs_NB, wanted_NB, out=self._errors_NB)
        torch.mul(self._errors_NB, 1 / rows, out=into_NB)

    def value(self) -> float:
        """Return half of the sum of squares."""
        squares_NB = self._errors_NB.double().square()
        each = self._shards.each(squares_NB, lambda one: one.sum((1, 2)))
        return math.fsum(self._shards.gather(each).tolist()) / (2 * self._rows)


class CrossEntropy:
    """Cross-entropy behind a softmax over the outputs of all shards; see `Loss`."""

    def __init__(self, shards: _Shards) -> None:
        self._shards = shards
        self._terms = torch.zeros(0, dtype=torch.float64)
        self._logarithms_NB = torch.zeros(0, 1)
        self._rows = 1

    def gradient(self, outputs_NB: Tensor, wanted_NB: Tensor, into_NB: Tensor, rows: int) -> None:
        """Write (probability - wanted) / rows."""
        self._rows = rows
        negative_NB = -wanted_NB.double() * self._logarithms_NB
        self._terms = self._shards.each(negative_NB, lambda one: one.sum((1, 2)))
        torch.sub(outputs_NB, wanted_NB, out=into_NB)
        into_NB /= self._rows

    def answer(self, outputs_NB: Tensor) -> None:
        """Replace sums by probabilities over the outputs of all shards."""
        largest_SB = self._shards.each(outputs_NB, lambda one: one.amax(1))
        top_B = self._shards.gather(largest_SB).amax(0)
        outputs_NB -= top_B
        each_SB = self._shards.each(outputs_NB.exp(), lambda one: one.sum(1))
        outputs_NB -= in_order(self._shards.gather(each_SB)).log()
        # That of a probability would be infinite where it is too small for the type.
        self._logarithms_NB = outputs_NB.to(torch.float64, copy=True)
        outputs_NB.exp_()

    def value(self) -> float:
        """Return the mean of the negative logarithms."""
        return math.fsum(self._shards.gather(self._terms).tolist()) / self._rows


def in_order(terms: Tensor) -> Tensor:
    """Add rows one after the other, which `sum` does not promise to do.

    Example:
        >>> in_order(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [4.0, 6.0]
    """
    total = torch.zeros_like(terms[0])
    for term in terms:
        total += term
    return total
