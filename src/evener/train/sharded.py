"""One layer of a sharded network on one rank: products over its shards, forward, back and updated.

Neurons come first and rows of a batch last, so that a neuron's values lie together and ghosts are
received where they are read. Neighbouring shards of one shape are multiplied in one batch, which
gives the bits that one after the other gives, but for one row of a batch, where large ones are
multiplied one by one; of a dense network a rank's shards are one matrix, whose products depend on
how many rows it has. What a product reads and writes is the same again and again: `bind` finds it
once, since finding it takes longer than a small product. Shapes in names: S shards of one shape, M
neurons of a shard, C neurons that it sees, B rows of a batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Protocol

import numpy as np
import torch
from torch import Tensor

from evener.train.one_row import Matrix, OneRow
from evener.train.sharding import Indices

# From so many weights on, torch leaves a product to MKL, which computes that of one matrix and one
# column otherwise than that of the same matrix among several.
_OWN_PRODUCT: Final = 400


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
        if in_a_row and len(steps) <= 1 and np.all(steps >= 0):
            step = int(steps[0]) if len(steps) else 0
            return cls(table.shape[1], int(starts[0]), step)
        return cls(table.shape[1], rows=torch.from_numpy(table.reshape(-1).copy()))

    def window(self, buffer_NB: Tensor, shards: int, first: int, count: int) -> Tensor:
        """Return some of the rows that each shard sees as a view, where they lie in a row."""
        batch = buffer_NB.shape[1]
        return buffer_NB[self.start + first :].as_strided(
            (shards, count, batch), (self.step * batch, batch, 1)
        )

    def apart(self, buffer_NB: Tensor, seen_SCB: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Pair parts of what the shards see with their rows so that no two touch a row at once.

        Args:
            buffer_NB: the rows, which lie in a row for each shard.
            seen_SCB: a copy of them for each shard.
        """
        shards, count, _ = seen_SCB.shape
        width = count if shards == 1 else min(self.step, count)
        parts = [(first, min(width, count - first)) for first in range(0, count, width)]
        return [
            (self.window(buffer_NB, shards, first, some), seen_SCB[:, first : first + some])
            for first, some in parts
        ]


class Bound(Protocol):
    """A run of shards, and the arrays that it reads and writes."""

    def forward(self) -> None:
        """Write `weight @ seen + bias` to the run's neurons."""

    def back(self) -> None:
        """Add the gradient of what the shards see to that of the buffer's rows."""

    def gradients(self, weight_SMC: Tensor, bias_SM1: Tensor) -> None:
        """Write the gradients of weight and bias."""

    def descend(self, rate: float) -> None:
        """Go back, and move weight and bias down their gradients, which are written nowhere.

        Where the weights are many, they may be moved later: before `settle` returns.
        """

    def settle(self) -> None:
        """Move what was not moved yet."""


class Run:
    """Neighbouring shards of one shape; or all of a rank in one matrix, of a dense network.

    Attributes:
        shards: the shards, as counted on this rank; the first one alone if they are one matrix.
        rows: its neurons among those of the rank.
        weight: (S, M, C).
        bias: (S, M, 1).
        columns: what its shards see.
        dense: whether all of the rank are one matrix, which sees the whole buffer.
        held: whether steps of one row are held back; see `evener.train.one_row`.
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
        held: bool,
    ) -> None:
        self.shards = shards
        self.rows = rows
        self.weight = weight_SMC
        self.bias = bias_SM1
        self.columns = columns
        self.dense = dense
        self.held = held

    def bind(
        self, buffer_NB: Tensor, out_NB: Tensor, gradient_NB: Tensor, into_NB: Tensor | None
    ) -> Bound:
        """Say what the run reads and writes.

        Args:
            buffer_NB: what the layer sees.
            out_NB: sums of the rank's neurons.
            gradient_NB: of these.
            into_NB: where the gradient of what it sees is added, in its or higher precision; None
                if nobody wants it.
        """
        if self.dense and buffer_NB.shape[1] == 1:
            return _Dense(self, buffer_NB, out_NB, gradient_NB, into_NB)
        return _Batch(self, buffer_NB, out_NB, gradient_NB, into_NB)


class _Dense:
    """One matrix and one row of a batch: vectors instead of matrices of one column."""

    def __init__(
        self,
        run: Run,
        buffer_NB: Tensor,
        out_NB: Tensor,
        gradient_NB: Tensor,
        into_NB: Tensor | None,
    ) -> None:
        self._seen_C = buffer_NB.view(-1)
        self._matrix = Matrix(
            run.weight[0],
            run.bias.view(-1),
            out_NB[run.rows].view(-1),
            gradient_NB[run.rows].view(-1),
        )
        into_C = None if into_NB is None else into_NB.view(-1)
        self._row = OneRow([self._matrix], self._seen_C, into_C, held=run.held, quickly=True)
        self.forward, self.back, self.settle = self._row.forward, self._row.back, self._row.settle

    def gradients(self, weight_SMC: Tensor, bias_SM1: Tensor) -> None:
        torch.outer(self._matrix.gradient, self._seen_C, out=weight_SMC[0])
        bias_SM1.view(-1).copy_(self._matrix.gradient)

    def descend(self, rate: float) -> None:
        self._row.back()
        self._row.descend(rate)
        self._matrix.bias.sub_(self._matrix.gradient, alpha=rate)


class _Batch:
    """Some matrices of one shape and several rows of a batch."""

    def __init__(
        self,
        run: Run,
        buffer_NB: Tensor,
        out_NB: Tensor,
        gradient_NB: Tensor,
        into_NB: Tensor | None,
    ) -> None:
        shards, neurons, count = run.weight.shape
        batch = buffer_NB.shape[1]
        self._rows = run.columns.rows
        self._buffer_NB = buffer_NB
        if self._rows is None:
            self._seen_SCB = run.columns.window(buffer_NB, shards, 0, count)
        else:
            self._seen_SCB = buffer_NB.new_empty(shards, count, batch)
        self._seen_SBC = self._seen_SCB.mT
        self._weight_SMC, self._weight_SCM = run.weight, run.weight.mT
        self._bias_SM1 = run.bias
        self._out_SMB = out_NB[run.rows].view(shards, neurons, batch)
        self._gradient_SMB = gradient_NB[run.rows].view(shards, neurons, batch)
        self._into_NB = into_NB
        self._together = self._rows is None and shards > 1 and run.columns.step == 0
        self._parts: list[tuple[Tensor, Tensor]] = []
        if into_NB is not None:
            self._back_SCB = buffer_NB.new_empty(shards, count, batch)
            if self._together:
                self._parts = [(run.columns.window(into_NB, 1, 0, count)[0], self._back_SCB)]
            elif self._rows is None:
                self._parts = run.columns.apart(into_NB, self._back_SCB)
        alone = batch == 1 and neurons * count >= _OWN_PRODUCT
        self._held = alone and run.held
        self._each = self._one_by_one() if alone else []

    def _one_by_one(self) -> list[OneRow]:
        """Return the shards alone, or together where they see the same and nobody goes back."""
        matrices = [
            Matrix(*(part.squeeze(-1) for part in shard))
            for shard in zip(
                self._weight_SMC, self._bias_SM1, self._out_SMB, self._gradient_SMB, strict=True
            )
        ]
        seen_SC = self._seen_SCB.squeeze(-1)
        if self._together and self._into_NB is None:
            return [OneRow(matrices, seen_SC[0], None, held=self._held)]
        backs: list[Tensor | None] = [None] * len(matrices)
        if self._held and self._into_NB is not None:
            backs = list(self._back_SCB.squeeze(-1))
        return [
            OneRow([one], seen_C, back_C, held=self._held)
            for one, seen_C, back_C in zip(matrices, seen_SC, backs, strict=True)
        ]

    def forward(self) -> None:
        if self._rows is not None:
            seen_NB = self._seen_SCB.view(-1, self._seen_SCB.shape[2])
            torch.index_select(self._buffer_NB, 0, self._rows, out=seen_NB)
        if not self._each:
            torch.baddbmm(self._bias_SM1, self._weight_SMC, self._seen_SCB, out=self._out_SMB)
        for some in self._each:
            some.forward()

    def back(self) -> None:
        if self._into_NB is None:
            return
        if self._held:
            for some in self._each:
                some.back()
        else:
            torch.bmm(self._weight_SCM, self._gradient_SMB, out=self._back_SCB)
        if self._rows is not None:
            seen_NB = self._back_SCB.flatten(0, 1).to(self._into_NB.dtype)
            self._into_NB.index_add_(0, self._rows, seen_NB)
        for rows, part in self._parts:
            rows.add_(part.sum(0, dtype=rows.dtype) if self._together else part)

    def gradients(self, weight_SMC: Tensor, bias_SM1: Tensor) -> None:
        torch.bmm(self._gradient_SMB, self._seen_SBC, out=weight_SMC)
        torch.sum(self._gradient_SMB, 2, keepdim=True, out=bias_SM1)

    def descend(self, rate: float) -> None:
        self.back()
        if not self._each:
            self._weight_SMC.baddbmm_(self._gradient_SMB, self._seen_SBC, alpha=-rate)
        for some in self._each:
            some.descend(rate)
        if self._gradient_SMB.shape[2] == 1:
            self._bias_SM1.sub_(self._gradient_SMB, alpha=rate)
        else:
            self._bias_SM1.sub_(self._gradient_SMB.sum(2, keepdim=True), alpha=rate)

    def settle(self) -> None:
        for some in self._each:
            some.settle()


class ShardedLayer:
    """The shards of one layer that a rank computes.

    Attributes:
        runs: neighbouring shards of one shape each; shards without neurons are left out.
        neurons: how many neurons they have together.
    """

    def __init__(self, runs: Sequence[Run], neurons: int) -> None:
        self.runs = tuple(runs)
        self.neurons = neurons

    def bind(
        self, buffer_NB: Tensor, out_NB: Tensor, gradient_NB: Tensor, into_NB: Tensor | None
    ) -> "BoundLayer":
        """Say what the layer reads and writes; see `Run.bind`."""
        runs = [run.bind(buffer_NB, out_NB, gradient_NB, into_NB) for run in self.runs]
        # Several runs add to what they see; a single row of a dense layer replaces it.
        replaces = [isinstance(run, _Dense) for run in runs] == [True]
        return BoundLayer(runs, None if replaces else into_NB)


class BoundLayer:
    """A layer's shards on a rank, and the arrays that they read and write."""

    def __init__(self, runs: Sequence[Bound], summed_NB: Tensor | None) -> None:
        self._runs = runs
        self._summed_NB = summed_NB  # where runs add, so that it must be 0 before

    def forward(self) -> None:
        """Write the sums of all its neurons."""
        for run in self._runs:
            run.forward()

    def back(self) -> None:
        """Write the gradient of what it saw, given that of its sums."""
        if self._summed_NB is not None:
            self._summed_NB.zero_()
        for run in self._runs:
            run.back()

    def gradients(self, into: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Write the gradients of weight and bias of each run."""
        for run, (weight_SMC, bias_SM1) in zip(self._runs, into, strict=True):
            run.gradients(weight_SMC, bias_SM1)

    def descend(self, rate: float) -> None:
        """Write the gradient of what it saw by the weights as they are, and move these down."""
        if self._summed_NB is not None:
            self._summed_NB.zero_()
        for run in self._runs:
            run.descend(rate)

    def settle(self) -> None:
        """Move the weights as far as all steps say, where some were held back."""
        for run in self._runs:
            run.settle()


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
