"""One step of a stack: gather rows, go forward and back, move the weights; and the watch over it.

Shapes in names: P individuals, B rows of a batch, F features, O outputs.
"""

from collections.abc import Sequence
from math import isfinite

import torch
from torch import Tensor

from evener.train.augment import seen
from evener.train.population.course import Course, Rows
from evener.train.population.kinds import Way
from evener.train.population.optimiser import Optimiser
from evener.train.population.products import lies_across


class Watch:
    """Remembers at which step and node each individual's numbers ended.

    Args:
        individuals: how many.
        step: the first, from 0.
        device: where they are computed.

    Attributes:
        step_P: at which they ended, from 0; -1 where they did not.
        node_P: the first whose sums were no numbers at that step.
        now: the number of the step.
    """

    def __init__(self, individuals: int, step: int, device: torch.device) -> None:
        self.step_P = torch.full((individuals,), -1, dtype=torch.int64, device=device)
        self.node_P = torch.zeros_like(self.step_P)
        self.now = torch.full((), step, dtype=torch.int64, device=device)

    def see(self, loss_P: Tensor, passes: Way) -> None:
        """Look at the losses of a step, none of which need be waited for.

        Args:
            loss_P: of the step.
            passes: that computed it.
        """
        ended_P = torch.isfinite(loss_P).logical_not_() & (self.step_P < 0)
        self.node_P.copy_(torch.where(ended_P, passes.first_without_numbers(), self.node_P))
        self.step_P.copy_(torch.where(ended_P, self.now, self.step_P))


class WantedRows:
    """What the answers to the rows of a step should be, in memory as the sums of the output are.

    Args:
        wanted_NO: of all rows of the data.
        individuals: how many.
        batch: rows of a step of each.

    Attributes:
        now: (P, B, O), of the rows that were taken last.
    """

    def __init__(self, wanted_NO: Tensor, individuals: int, batch: int) -> None:
        self._axis = 1 if lies_across(wanted_NO.shape[1]) else 0
        if self._axis:
            self._table = wanted_NO.T.contiguous()
            self._taken = self._table.new_empty(len(self._table), individuals * batch)
            self.now = torch.unflatten(self._taken, 1, (individuals, batch)).permute(1, 2, 0)
        else:
            self._table = wanted_NO
            self._taken = wanted_NO.new_empty(individuals * batch, wanted_NO.shape[1])
            self.now = torch.unflatten(self._taken, 0, (individuals, batch))

    def take(self, index: Tensor) -> None:
        """Write what is wanted of some rows.

        Args:
            index: their numbers, (P x B,).
        """
        torch.index_select(self._table, self._axis, index, out=self._taken)


class Step:
    """One step over batches of so many rows, in arrays that stay where they are.

    Args:
        passes: through the stack.
        optimiser: of its weights.
        rows: the data, on the device of the stack.
        batch: rows of a batch.
        course: by which loss answers are compared, and how rows are seen.
        masks: of each hidden node, to be written before a call; None without dropout.
        watch: over the losses.
        total_P: to which the losses are added, each times the rows.

    Attributes:
        index: rows of the data for each individual, (P x B,), to be written before a call.
        views: of each of these rows, likewise; read where the course has an augmentation.
    """

    def __init__(
        self,
        passes: Way,
        optimiser: Optimiser,
        rows: Rows,
        batch: int,
        course: Course,
        masks: Sequence[Tensor] | None,
        watch: Watch,
        total_P: Tensor,
    ) -> None:
        self._passes, self._optimiser = passes, optimiser
        self._rows, self._loss, self._watch = rows, course.loss, watch
        self._batch, self._masks, self._total_P = batch, masks, total_P
        shape = (len(total_P), batch)
        self.index = torch.zeros(shape[0] * batch, dtype=torch.int64, device=rows.inputs.device)
        self.views = torch.zeros_like(self.index)
        self._x = rows.inputs.new_empty((*shape, rows.inputs.shape[1]))
        self._importance = None
        if course.importance is not None:
            self._importance = rows.wanted.new_tensor(course.importance)
        self._sources = None
        self._taken = self._x
        if course.augmentation is not None:
            self._sources = course.augmentation.sources().to(rows.inputs.device)
            self._taken = torch.empty_like(self._x)
        # The same memory, row after row.
        self._rows_x, self._rows_taken = (one.flatten(0, 1) for one in (self._x, self._taken))
        self._wanted = WantedRows(rows.wanted, *shape)

    def __call__(self) -> None:
        """Take the step."""
        loss_P = self._computed()
        # On a processor that computes at once, one sum tells whether there is anything to see.
        if not isfinite(float(loss_P.sum())):
            self._watch.see(loss_P, self._passes)
        self._watch.now += 1

    def without_waiting(self) -> None:
        """Take the step as a GPU can replay it: nothing is read back."""
        loss_P = self._computed()
        self._watch.see(loss_P, self._passes)
        self._watch.now += 1

    def _computed(self) -> Tensor:
        torch.index_select(self._rows.inputs, 0, self.index, out=self._rows_taken)
        if self._sources is not None:
            seen(self._rows_taken, self.views, self._sources, self._rows_x)
        self._wanted.take(self.index)
        self._passes.forward(self._x, self._masks)
        loss_P = self._passes.compare(self._loss, self._wanted.now, self._importance)
        self._total_P.add_(loss_P, alpha=self._batch)
        self._passes.backward(self._optimiser, self._masks)
        return loss_P
