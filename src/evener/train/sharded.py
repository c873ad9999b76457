"""One layer of a sharded network on one rank: products over its shards, forward, back and updated.

Neurons come first and rows of a batch last, so that a neuron's values lie together and ghosts are
received where they are read. Neighbouring shards of one shape are multiplied in one batch, which
gives the bits that one after the other gives; of a dense network a rank's shards are one matrix,
whose products depend on how many rows it has. Shapes
in names: S shards of one shape, M neurons of a shard, C neurons that it sees, B rows of a batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np
import torch
from torch import Tensor

from evener.train.sharding import Indices

# Rows of a matrix that are used and then updated while they are in a core's cache.
_CACHED_BYTES: Final = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Which rows of a buffer the shards of a run see.

    Attributes:
        count: how many each sees.
        start: first row of the first shard's, where each shard's lie in a row.
        step: how much later those of the next shard begin.
        rows: the rows one by one, `(S * C,)`, where they do not.
    """

    count: int
    start: int = 0
    step: int = 0
    rows: Tensor | None = None

    @classmethod
    def of(cls, shards: Sequence[Indices]) -> "Columns":
        """Describe the rows of some shards that see equally many."""
        table = np.stack(shards)
        starts = table[:, 0]
        steps = np.unique(np.diff(starts))
        in_a_row = np.all(np.diff(table, axis=1) == 1)
        if in_a_row and len(steps) <= 1:
            step = int(steps[0]) if len(steps) else 0
            return cls(table.shape[1], int(starts[0]), step)
        return cls(table.shape[1], rows=torch.from_numpy(table.reshape(-1).copy()))

    def gather(self, buffer_NB: Tensor, shards: int) -> Tensor:
        """Return what the shards see, `(S, C, B)`: a view where rows lie in a row."""
        batch = buffer_NB.shape[1]
        if self.rows is not None:
            return buffer_NB.index_select(0, self.rows).view(shards, self.count, batch)
        return buffer_NB[self.start :].as_strided(
            (shards, self.count, batch), (self.step * batch, batch, 1)
        )

    def scatter_add(self, buffer_NB: Tensor, seen_SCB: Tensor) -> None:
        """Add gradients of what the shards see to those of the rows: the transpose of `gather`."""
        shards, count, batch = seen_SCB.shape
        if self.rows is not None:
            buffer_NB.index_add_(0, self.rows, seen_SCB.reshape(-1, batch))
            return
        width = count if shards == 1 else min(self.step, count)
        if not width:  # all shards see the same rows
            buffer_NB[self.start : self.start + count] += seen_SCB.sum(0)
            return
        for first in range(0, count, width):  # no two shards touch a row at once
            part_SCB = seen_SCB[:, first : first + width]
            rows_SCB = buffer_NB[self.start + first :].as_strided(
                part_SCB.shape, (self.step * batch, batch, 1)
            )
            rows_SCB += part_SCB


class Run:
    """Neighbouring shards of one shape; or all of a rank in one matrix, of a dense network.

    Attributes:
        shards: the shards, as counted on this rank; the first one alone if they are one matrix.
        rows: its neurons among those of the rank.
        weight: (S, M, C).
        bias: (S, M, 1).
        columns: what its shards see.
    """

    def __init__(
        self,
        shards: range,
        rows: slice,
        weight_SMC: Tensor,
        bias_SM1: Tensor,
        columns: Columns,
        *,
        dense: bool,
    ) -> None:
        self.shards = shards
        self._dense = dense
        self.rows = rows
        self.weight = weight_SMC
        self.bias = bias_SM1
        self.columns = columns

    def forward(self, buffer_NB: Tensor, out_NB: Tensor) -> None:
        """Write `weight @ seen + bias` to the run's neurons."""
        shards, neurons, _ = self.weight.shape
        batch = buffer_NB.shape[1]
        seen_SCB = self.columns.gather(buffer_NB, shards)
        if self._dense and batch == 1:
            out_N = out_NB[self.rows].view(-1)
            torch.mv(self.weight[0], seen_SCB[0, :, 0], out=out_N)
            out_N += self.bias[0, :, 0]
            return
        out_SMB = out_NB[self.rows].view(shards, neurons, batch)
        torch.baddbmm(self.bias, self.weight, seen_SCB, out=out_SMB)

    def back(self, gradient_NB: Tensor, into_NB: Tensor) -> None:
        """Add the gradient of what the shards see to that of the buffer's rows."""
        gradient_SMB = self._of_shards(gradient_NB)
        self.columns.scatter_add(into_NB, torch.bmm(self.weight.mT, gradient_SMB))

    def gradients(self, buffer_NB: Tensor, gradient_NB: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of weight and bias."""
        gradient_SMB = self._of_shards(gradient_NB)
        seen_SCB = self.columns.gather(buffer_NB, len(gradient_SMB))
        return torch.bmm(gradient_SMB, seen_SCB.mT), gradient_SMB.sum(2, keepdim=True)

    def descend(
        self, buffer_NB: Tensor, gradient_NB: Tensor, rate: float, into_NB: Tensor | None
    ) -> None:
        """Move weight and bias down their gradients, which are never written anywhere.

        Args:
            buffer_NB: what the layer saw.
            gradient_NB: of what it wrote, before its activation.
            rate: how far.
            into_NB: where the gradient of what it saw is added, by the weights as they were; None
                if nobody wants it.
        """
        gradient_SMB = self._of_shards(gradient_NB)
        seen_SCB = self.columns.gather(buffer_NB, len(gradient_SMB))
        if self._dense and gradient_NB.shape[1] == 1:
            self._descend_by_rows(seen_SCB[0, :, 0], gradient_SMB[0, :, 0], rate, into_NB)
        else:
            if into_NB is not None:
                self.back(gradient_NB, into_NB)
            self.weight.baddbmm_(gradient_SMB, seen_SCB.mT, alpha=-rate)
        self.bias.sub_(gradient_SMB.sum(2, keepdim=True), alpha=rate)

    def _descend_by_rows(
        self, seen_C: Tensor, gradient_M: Tensor, rate: float, into_NB: Tensor | None
    ) -> None:
        """Use and update a few rows at a time, so that a weight is fetched once, not twice."""
        weight_MC = self.weight[0]
        rows = max(1, _CACHED_BYTES // (weight_MC.shape[1] * weight_MC.element_size()))
        back_C = torch.zeros_like(seen_C) if into_NB is not None else None
        for few_MC, part_M in zip(
            torch.split(weight_MC, rows), torch.split(gradient_M, rows), strict=True
        ):
            if back_C is not None:
                back_C.addmv_(few_MC.T, part_M)
            few_MC.addr_(part_M, seen_C, alpha=-rate)
        if into_NB is not None and back_C is not None:
            self.columns.scatter_add(into_NB, back_C.view(1, -1, 1))

    def _of_shards(self, gradient_NB: Tensor) -> Tensor:
        shards, neurons, _ = self.weight.shape
        return gradient_NB[self.rows].view(shards, neurons, -1)


class ShardedLayer:
    """The shards of one layer that a rank computes.

    Attributes:
        runs: neighbouring shards of one shape each; shards without neurons are left out.
        neurons: how many neurons they have together.
    """

    def __init__(self, runs: Sequence[Run], neurons: int) -> None:
        self.runs = tuple(runs)
        self.neurons = neurons

    def forward(self, buffer_NB: Tensor, out_NB: Tensor) -> None:
        """Write the sums of all its neurons, (N, B)."""
        for run in self.runs:
            run.forward(buffer_NB, out_NB)

    def back(self, gradient_NB: Tensor, into_NB: Tensor) -> None:
        """Write the gradient of what it saw, given that of its sums."""
        into_NB.zero_()
        for run in self.runs:
            run.back(gradient_NB, into_NB)

    def descend(
        self, buffer_NB: Tensor, gradient_NB: Tensor, rate: float, into_NB: Tensor | None
    ) -> None:
        """Move down the gradient in place; see `Run.descend`."""
        if into_NB is not None:
            into_NB.zero_()
        for run in self.runs:
            run.descend(buffer_NB, gradient_NB, rate, into_NB)


def same_shapes(columns: Sequence[Indices], neurons: Sequence[int]) -> Iterator[range]:
    """Yield the runs of neighbouring shards that have equally many neurons and see equally many.

    Args:
        columns: what each shard sees.
        neurons: how many each has; those without any are left out.

    Example:
        >>> sees = [np.arange(count) for count in (3, 3, 4, 0, 4)]
        >>> list(same_shapes(sees, [2, 2, 2, 0, 2]))
        [range(0, 2), range(2, 3), range(4, 5)]
    """
    shapes = [(count, len(seen)) for count, seen in zip(neurons, columns, strict=False)]
    for (count, _), found in groupby(range(len(shapes)), key=shapes.__getitem__):
        shards = list(found)
        if count:
            yield range(shards[0], shards[-1] + 1)
