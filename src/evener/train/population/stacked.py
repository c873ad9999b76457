"""Train one stack of individuals for some epochs, leaving out those whose numbers end.

Shapes in names: P individuals, N rows of the data, B rows of a batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic

import torch

from evener.train.population.course import Course, Rows
from evener.train.population.cuda import captured
from evener.train.population.kinds import Form, TraineeT
from evener.train.population.optimiser import make_optimiser, memories
from evener.train.population.stack import Stack
from evener.train.population.state import State, why_diverged
from evener.train.population.steps import Step, Watch
from evener.train.population.streams import epoch_order, epoch_views
from evener.train.population.weights import Weights


def never() -> bool:
    """Say that there is time left."""
    return False


class Stacked(Generic[TraineeT]):
    """Individuals of one stack while they are trained together.

    Args:
        form: of their stack; any of the individuals that it holds may be trained in it.
        individuals: those that are, those of one activation side by side.
        states: of each; all were trained for as many epochs.
        rows: the data, on the device that computes.
        course: by which loss they are trained, and for how long in the end.
    """

    def __init__(
        self,
        form: Form[TraineeT],
        individuals: Sequence[TraineeT],
        states: Sequence[State],
        rows: Rows,
        course: Course,
    ) -> None:
        self._form = form
        self._rows, self._course = rows, course
        self._individuals, self._states = list(individuals), list(states)
        self._per_epoch = course.steps(len(rows.inputs))
        self._dtype, self._device = rows.inputs.dtype, rows.inputs.device
        weights = [one.weights for one in states]
        self._weights = self._packed(weights)
        self._memory = [
            self._packed([one.memory[slot] for one in states])
            if states[0].memory
            else self._form.zeros(len(states), self._dtype, self._device)
            for slot in range(memories(individuals[0]))
        ]
        self._moves = self._form.moves(individuals, weights, self._dtype, self._device)
        self._prepare()

    def run(self, epochs: int, out_of_time: Callable[[], bool]) -> list[State]:
        """Train until an epoch, and return the states in the order of the individuals.

        Args:
            epochs: that they should have been trained for in the end.
            out_of_time: asked before each step. If so, those that still train end with the last
                epoch that is whole.
        """
        ended: dict[int, State] = {}
        places = list(range(len(self._individuals)))
        while places and self._states[0].epochs < epochs:
            if out_of_time() or not self._epoch(self._states[0].epochs, out_of_time):
                self._states = [_late(one, self._course.epochs) for one in self._states]
                break
            left = [row for row, one in enumerate(self._states) if one.status == "training"]
            if len(left) < len(places):
                ended |= dict(zip(places, self._states, strict=True))
                places = [places[row] for row in left]
                self._keep(left)
        ended |= {place: self._unpacked(row) for row, place in enumerate(places)}
        return [ended[place] for place in sorted(ended)]

    def _prepare(self) -> None:
        """Make what goes on from the rows of weights; again after some individuals left."""
        count = len(self._individuals)
        self._optimiser = make_optimiser(
            self._individuals,
            self._weights,
            self._moves,
            self._memory,
            lambda: self._form.zeros(count, self._dtype, self._device),
        )
        first = self._states[0].epochs * self._per_epoch
        self._watch = Watch(count, first, self._device)
        self._total_P = torch.zeros(count, dtype=torch.float64, device=self._device)
        self._dropout = self._form.dropout(
            self._individuals, self._course.batch, self._dtype, self._device
        )
        self._steps: dict[int, tuple[Step, Callable[[], None]]] = {}

    def _epoch(self, epoch: int, out_of_time: Callable[[], bool]) -> bool:
        """Take the steps of an epoch; if the time is up before the last, undo them: False."""
        stacks = (self._weights, *self._memory)
        blocks = [block for one in stacks for block in one.blocks]
        before = [] if out_of_time is never else [block.clone() for block in blocks]
        count = len(self._rows.inputs)
        order_NP = epoch_order(self._individuals, epoch, count).to(self._device)
        self._total_P.zero_()
        augmentation = self._course.augmentation
        views = 1 if augmentation is None else augmentation.views
        views_NP = epoch_views(self._individuals, epoch, count, views).to(self._device)
        batch = self._course.batch
        batches = zip(torch.split(order_NP, batch), torch.split(views_NP, batch), strict=True)
        for number, (rows_BP, views_BP) in enumerate(batches):
            if number and out_of_time():
                for block, kept in zip(blocks, before, strict=True):
                    block.copy_(kept)
                return False
            step = epoch * self._per_epoch + number
            self._optimiser.pace(step + 1, self._course.scale(step, count))
            if self._dropout is not None:
                self._dropout.draw(step)
            one, take = self._step_of(len(rows_BP))
            one.index.copy_(rows_BP.T.flatten())
            one.views.copy_(views_BP.T.flatten())
            take()
        self._states = self._told(epoch + 1, (self._total_P / count).tolist())
        return True

    def _step_of(self, batch: int) -> tuple[Step, Callable[[], None]]:
        """Return the step over so many rows, and what takes it."""
        if batch not in self._steps:
            masks = None if self._dropout is None else self._dropout.masks(batch)
            step = Step(
                self._form.passes(self._individuals, self._weights, batch),
                self._optimiser,
                self._rows,
                batch,
                self._course,
                masks,
                self._watch,
                self._total_P,
            )
            self._steps[batch] = step, self._taking(step)
        return self._steps[batch]

    def _taking(self, step: Step) -> Callable[[], None]:
        if self._device.type != "cuda":
            return step
        stacks = (self._weights, *self._optimiser.memory)
        changed = [block for one in stacks for block in one.blocks]
        changed += [self._total_P, self._watch.now, self._watch.step_P, self._watch.node_P]
        return captured(step.without_waiting, changed, self._device)

    def _told(self, epochs: int, losses: Sequence[float]) -> list[State]:
        """Return the states after an epoch, but for their weights."""
        finite_P = torch.stack([one.sum(1).isfinite() for one in self._weights.blocks]).all(0)
        finite = finite_P.tolist()
        steps, nodes = self._watch.step_P.tolist(), self._watch.node_P.tolist()
        told = []
        for row, (individual, state) in enumerate(
            zip(self._individuals, self._states, strict=True)
        ):
            whole = self._course.epochs * self._per_epoch
            if steps[row] >= 0:
                step, what = steps[row] + 1, "sums"
                layer = self._form.layer_of(individual, nodes[row])
            elif not finite[row]:
                step, what = epochs * self._per_epoch, "weights"
                layer = self._first_without_weights(row)
            else:
                told.append(replace(state, epochs=epochs, losses=(*state.losses, losses[row])))
                continue
            message = why_diverged(individual, step, whole, layer, what=what)
            told.append(replace(state, status="diverged", message=message, step=step, layer=layer))
        return told

    def _first_without_weights(self, row: int) -> int:
        weights = self._form.unpack(self._weights, row, self._individuals[row])
        for node, bias in enumerate(weights.biases, 1):
            arrays = [one for (_, end), one in weights.links.items() if end == node]
            if not all(bool(torch.from_numpy(one).isfinite().all()) for one in (bias, *arrays)):
                return node
        return len(weights.biases)

    def _keep(self, rows: Sequence[int]) -> None:
        """Go on with some of the individuals only."""
        index = torch.tensor(rows, dtype=torch.int64, device=self._device)
        self._weights, *self._memory = (
            self._form.of([block[index] for block in one.blocks])
            for one in (self._weights, *self._memory)
        )
        self._moves = [None if one is None else one[index] for one in self._moves]
        self._individuals = [self._individuals[row] for row in rows]
        self._states = [self._states[row] for row in rows]
        if rows:
            self._prepare()

    def _packed(self, weights: Sequence[Weights]) -> Stack:
        return self._form.pack(self._individuals, weights, self._dtype, self._device)

    def _unpacked(self, row: int) -> State:
        state, individual = self._states[row], self._individuals[row]
        weights = self._form.unpack(self._weights, row, individual)
        return replace(
            state,
            weights=replace(weights, masks=state.weights.masks),
            memory=tuple(self._form.unpack(one, row, individual) for one in self._memory),
        )


def _late(state: State, epochs: int) -> State:
    message = f"the time was up after {state.epochs} of {epochs} epochs; give more"
    return replace(state, status="out_of_time", message=message)
