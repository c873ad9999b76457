"""Train a sharded network on rows in memory: steps, one like the other on any number of ranks.

What a step does follows from its number alone: its rows, its learning rate and its dropout. So a
training goes on from a step as if it had never stopped.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from evener.comm.share import together
from evener.comm.timed import Timed
from evener.errors import DivergedError, InputError
from evener.train.checkpoint import Training, digest_rows, load_checkpoint, save_checkpoint
from evener.train.draw import input_noise, row_order
from evener.train.dropout import Dropout
from evener.train.grid import Grid
from evener.train.optimiser import MeasuredGradient, Optimiser
from evener.train.ranked import Masks, RankedNetwork
from evener.train.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a training is, after a step.

    Attributes:
        step: steps taken.
        steps: of the whole training.
        epoch: pass over the rows that the step belongs to, from 1.
        epochs: of the whole training.
        loss: of the step's rows, before it was taken.
        learning_rate: of the step.
        steps_per_s: since this run of the training began.
        left_s: seconds until its end, if the rest goes as it went.
        communication_share: of this rank's time since then in messages; None where it is not known.
        gradient_norm: of the gradient of all weights and biases, before it was clipped; None where
            nobody needs it.
    """

    step: int
    steps: int
    epoch: int
    epochs: int
    loss: float
    learning_rate: float
    steps_per_s: float
    left_s: float
    communication_share: float | None
    gradient_norm: float | None


OnProgress = Callable[[Progress], object]
"""Called after each step; what it raises ends the training on that rank."""


class Trainer:
    """The training of one network on one rank; every rank has one and calls the same methods.

    Args:
        network: the rank's part.
        recipe: how to train it.
        inputs_RI: rows that go in, finite.
        wanted_RO: what the network should answer to each.
        grid: where the rank stands; the network's ranks are all there are if None.
        norms: whether to say the norm of every step's gradient. Plain steps write no gradient, and
            then go back twice.
        clock: seconds.

    Attributes:
        step: steps taken.
        steps: of the whole training.
        optimiser: what moves the weights; None if steps are plain, and update them in place.

    Raises:
        InputError: the rows do not fit the network.
    """

    def __init__(
        self,
        network: RankedNetwork,
        recipe: Recipe,
        inputs_RI: Tensor,
        wanted_RO: Tensor,
        *,
        grid: Grid | None = None,
        norms: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        check_rows(network.shape.widths, inputs_RI, wanted_RO)
        self.network = network
        self.recipe = recipe
        self._inputs, self._wanted = inputs_RI, wanted_RO
        self._grid = grid or Grid.of(network.communicator)
        self._clock = clock
        self.step = 0
        self._per_epoch = recipe.steps_per_epoch(len(inputs_RI))
        self.steps = recipe.epochs * self._per_epoch
        plain = recipe.plain and self._grid.replicas.size == 1
        self.optimiser = None if plain else Optimiser(recipe, network, measures=norms)
        self._measure = MeasuredGradient(network) if plain and norms else None
        self._dropout: Dropout | None = None
        if recipe.dropout:
            layers = range(1, len(network.shape.widths))
            self._dropout = Dropout(
                network.shape,
                recipe.dropout,
                [network.neurons_of(layer) for layer in layers],
                network.parameters.flat.dtype,
            )
        self._order = (-1, np.zeros(0, np.int64))  # of which epoch, and the rows in its order
        self._losses = (0.0, 0)  # sum and number of those of this epoch
        self._identity: Training | None = None

    def run(
        self,
        on_progress: OnProgress | None = None,
        *,
        checkpoints: Path | None = None,
        every: int | None = None,
    ) -> float:
        """Take all steps that are left, and return the mean loss of those of the last epoch.

        Args:
            on_progress: called after each step.
            checkpoints: folder to go on from, if it has any, and to save into; None for neither.
            every: steps between checkpoints; an epoch if None.

        Raises:
            DivergedError: the loss is no number any more.
            InvalidFileError: a checkpoint cannot be written, is damaged, or is of another training.
        """
        if checkpoints is not None:
            self.restore(checkpoints)
        every = every or self._per_epoch
        watch = _Watch(self, self._clock)
        while self.step < self.steps:
            rate = self.recipe.rate(self.step, self.steps)
            loss = self.advance()
            if checkpoints is not None and (self.step % every == 0 or self.step == self.steps):
                self.save(checkpoints)
            if on_progress is not None:
                on_progress(watch.see(loss, rate))
        total, count = self._losses
        return total / count

    def save(self, folder: Path) -> None:
        """Save the training; every rank calls it.

        Args:
            folder: where checkpoints lie.

        Raises:
            InvalidFileError: this rank could not write.
            RankError: another one could not.
        """

        def task() -> None:
            if self._grid.replicas.rank == 0:
                arrays = {} if self.optimiser is None else self.optimiser.arrays()
                save_checkpoint(
                    folder,
                    self._training(),
                    self.network,
                    arrays,
                    step=self.step,
                    losses=self._losses,
                )

        together(self._grid.world, task)

    def restore(self, folder: Path) -> bool:
        """Go on from the newest checkpoint, and return whether there is one; every rank calls it.

        Args:
            folder: where checkpoints lie.

        Raises:
            InvalidFileError: it is damaged, or of another training.
        """
        found = load_checkpoint(folder, self._training(), self.network)
        if found is None:
            return False
        checkpoint, arrays = found
        self.step = checkpoint.step
        self._losses = checkpoint.losses
        if self.optimiser is not None:
            self.optimiser.restore(arrays, checkpoint.step)
        return True

    def _training(self) -> Training:
        if self._identity is None:
            self._identity = Training(
                shape=self.network.shape,
                dtype=str(self.network.parameters.flat.dtype).removeprefix("torch."),
                recipe=self.recipe,
                data=digest_rows([self._inputs, self._wanted]),
            )
        return self._identity

    def advance(self) -> float:
        """Take one step, and return the loss of its rows before it.

        Raises:
            DivergedError: the loss is no number any more.
        """
        rate = self.recipe.rate(self.step, self.steps)
        rows = self._rows_of(self.step)
        mine = self._grid.rows(len(rows))
        loss = 0.0
        if mine.start < mine.stop:
            inputs, wanted = self._seen(rows[mine], mine), self._wanted[rows[mine]]
            masks: Masks | None = None
            if self._dropout is not None:
                masks = self._dropout.masks(self.step, mine, len(rows))
            self.network.forward(inputs, masks=masks, precision=self.recipe.precision)
            self.network.compare(wanted, rows=len(rows))
            loss = self.network.loss()
        loss = self._grid.sum(loss)
        if not math.isfinite(loss):
            self._explain(loss, rate, saw=mine.start < mine.stop)
        if self.optimiser is None:
            if self._measure is not None:
                self._measure.see(wanted)
            self.network.step_down(rate)
        else:
            if mine.start < mine.stop:
                self.network.differentiate(self.optimiser.views)
            else:
                self.optimiser.gradient.zero_()
            self._grid.add_up(self.optimiser.gradient)
            self.optimiser.step(rate)
        total, count = self._losses if self.step % self._per_epoch else (0.0, 0)
        self._losses = (total + loss, count + 1)
        self.step += 1
        return loss

    def _seen(self, rows: Tensor, mine: slice) -> Tensor:
        """Return rows as the step sees them: with noise, if it is to have any."""
        inputs = self._inputs[rows]
        if not self.recipe.input_noise:
            return inputs
        drawn = input_noise(self.network.shape.seed, self.step, mine, inputs.shape[1])
        return inputs + self.recipe.input_noise * torch.from_numpy(drawn).to(inputs.dtype)

    def _rows_of(self, step: int) -> Tensor:
        epoch, place = divmod(step, self._per_epoch)
        if self._order[0] != epoch:
            order = row_order(self.network.shape.seed, epoch, len(self._inputs))
            self._order = (epoch, order)
        first = place * self.recipe.batch
        return torch.from_numpy(self._order[1][first : first + self.recipe.batch])

    @property
    def seconds_in_messages(self) -> float | None:
        """How long this rank was in messages; None where nobody counts."""
        communicator = self._grid.world
        return communicator.seconds if isinstance(communicator, Timed) else None

    @property
    def gradient_norm(self) -> float | None:
        """Norm of the gradient of the last step, before it was clipped; None if nobody needs it."""
        source = self.optimiser or self._measure
        return None if source is None else source.norm

    @property
    def epoch(self) -> int:
        """The pass over the rows that the last step belonged to, from 1."""
        return max(self.step - 1, 0) // self._per_epoch + 1

    def _explain(self, loss: float, rate: float, *, saw: bool) -> None:
        """Find the first layer whose answers are no finite numbers, and on which rank.

        Args:
            loss: which is no finite number.
            rate: the learning rate.
            saw: whether this rank had rows of the batch.

        Raises:
            DivergedError: always.
        """
        mine = len(self.network.layers) - 1
        if saw:
            layers = self.network.work.layers
            bad = [not bool(torch.isfinite(layer.out).all()) for layer in layers]
            mine = bad.index(True) if True in bad else mine
        world = self._grid.world
        found = np.zeros((world.size, 1), np.int64)
        world.all_gather(np.array([mine], np.int64), list(found))
        rank = int(found[:, 0].argmin())
        layer = int(found[rank, 0]) + 1
        epoch = self.step // self._per_epoch + 1
        raise DivergedError(
            f"training diverged in step {self.step + 1} of {self.steps} (epoch {epoch}): the loss "
            f"is {loss}, and layer {layer} on rank {rank} is the first whose answers are no finite "
            f"numbers. Lower the learning rate, which is {rate:g}, or clip gradients",
            epoch=epoch,
            step=self.step + 1,
            layer=layer,
            rank=rank,
        )


class _Watch:
    """Says where a training is."""

    def __init__(self, trainer: Trainer, clock: Callable[[], float]) -> None:
        self._trainer = trainer
        self._clock = clock
        self._began = clock()
        self._first = trainer.step
        self._messages = trainer.seconds_in_messages

    def see(self, loss: float, rate: float) -> Progress:
        trainer = self._trainer
        elapsed_s = self._clock() - self._began
        taken = trainer.step - self._first
        share = None
        if trainer.seconds_in_messages is not None and self._messages is not None:
            share = (trainer.seconds_in_messages - self._messages) / elapsed_s
        return Progress(
            step=trainer.step,
            steps=trainer.steps,
            epoch=trainer.epoch,
            epochs=trainer.recipe.epochs,
            loss=loss,
            learning_rate=rate,
            steps_per_s=taken / elapsed_s,
            left_s=elapsed_s / taken * (trainer.steps - trainer.step),
            communication_share=share,
            gradient_norm=trainer.gradient_norm,
        )


def check_rows(widths: tuple[int, ...], inputs_RI: Tensor, wanted_RO: Tensor) -> None:
    """Check that a network can be trained on some rows.

    Args:
        widths: of the network's layers.
        inputs_RI: rows that go in.
        wanted_RO: what it should answer to them.

    Raises:
        InputError: wrong shapes, no rows, or a number that is not finite.
    """
    if inputs_RI.ndim != 2 or wanted_RO.ndim != 2:
        raise InputError(
            f"inputs of shape {list(inputs_RI.shape)} and outputs of {list(wanted_RO.shape)}: "
            "give tables, a row for each example"
        )
    if len(inputs_RI) != len(wanted_RO) or not len(inputs_RI):
        raise InputError(
            f"{len(inputs_RI)} rows of inputs and {len(wanted_RO)} of outputs: give as many, one "
            "or more"
        )
    check_table("inputs", inputs_RI, widths[0])
    check_table("outputs", wanted_RO, widths[-1])


def check_table(what: str, rows_RN: Tensor, width: int) -> None:
    """Check that rows fit a layer.

    Args:
        what: "inputs" or "outputs".
        rows_RN: the rows.
        width: neurons of the layer.

    Raises:
        InputError: another width, or a number that is not finite.
    """
    if rows_RN.shape[1] != width:
        raise InputError(
            f"rows of {rows_RN.shape[1]} {what} for a layer of {width}: give {width} numbers a row"
        )
    finite = torch.isfinite(rows_RN).all(1)
    if not bool(finite.all()):
        row = int(finite.logical_not().nonzero()[0])
        raise InputError(
            f"row {row + 1} of the {what} holds what is no finite number: leave the row out, or "
            "mend it"
        )
