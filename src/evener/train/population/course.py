"""What a population learns from, and for how long."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import msgspec
import numpy as np
import torch
from torch import Tensor

from evener.errors import InputError, InvalidDataError
from evener.train.augment import Augmentation
from evener.train.population.losses import LOSSES, LossName
from evener.train.population.trainee import Trainee
from evener.train.recipe import Recipe, ScheduleName


class Course(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the trainings of a population have in common.

    Attributes:
        epochs: passes over the rows.
        batch: rows of a step; the last step of a pass takes what is left.
        loss: "cross-entropy" of classes, "squared", or "binary" for outputs of yes or no each.
        schedule: of the learning rates; see `evener.train.recipe.Recipe`.
        warm_up: steps in which the rates grow to what the schedule says.
        augmentation: how rows, which are pictures, change from one pass to the next; drawn for each
            individual. None if they stay as they are.
        importance: how much a row of each class, or the presence of each label, counts in the loss;
            1 each if None.
    """

    epochs: int = 1
    batch: int = 32
    loss: LossName = "cross-entropy"
    schedule: ScheduleName = "constant"
    warm_up: int = 0
    augmentation: Augmentation | None = None
    importance: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: a number that no training can be done with, or an unknown loss.
        """
        if self.loss not in LOSSES:
            raise InputError(
                f"'{self.loss}' is no loss of a population; choose {', '.join(LOSSES)}"
            )
        self._recipe()

    def steps(self, rows: int) -> int:
        """Return how many steps a pass over so many rows takes."""
        return self._recipe().steps_per_epoch(rows)

    def scale(self, step: int, rows: int) -> float:
        """Return what learning rates are multiplied by at a step, counted from 0."""
        return self._recipe().rate(step, self.epochs * self.steps(rows))

    def _recipe(self) -> Recipe:
        return Recipe(
            epochs=self.epochs,
            batch=self.batch,
            learning_rate=1.0,
            schedule=self.schedule,
            warm_up=self.warm_up,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The data that every individual learns from, in an order of its own.

    Attributes:
        inputs: (N, F).
        wanted: (N, O), what the answers should be; for cross-entropy, probabilities of classes.
    """

    inputs: Tensor
    wanted: Tensor

    def on(self, device: torch.device, dtype: torch.dtype) -> "Rows":
        """Return the same rows elsewhere."""
        return Rows(self.inputs.to(device, dtype), self.wanted.to(device, dtype))


def check_rows(rows: Rows, course: Course, individuals: Sequence[Trainee]) -> None:
    """Check that a population can learn from rows by a course.

    Raises:
        InvalidDataError: there are none, numbers that are none, or answers that the loss cannot
            compare.
        InputError: an individual has another number of inputs or outputs, or rows are no pictures
            of the course.
    """
    inputs, wanted = rows.inputs, rows.wanted
    if inputs.ndim != 2 or wanted.ndim != 2 or len(inputs) != len(wanted) or not len(inputs):
        raise InvalidDataError(
            f"inputs of shape {tuple(inputs.shape)} and answers of shape {tuple(wanted.shape)}: "
            "give a table of either, with one row or more, as many in both"
        )
    for name, table in (("inputs", inputs), ("answers", wanted)):
        finite = np.isfinite(table.numpy(force=True)).all(1)  # torch takes ten times as long
        if not finite.all():
            raise InvalidDataError(
                f"{name} hold what is no finite number, first in row "
                f"{int(finite.argmin())}: fill it in, or leave the row out"
            )
    loss = course.loss
    if course.importance is not None and len(course.importance) != wanted.shape[1]:
        raise InputError(
            f"importance of {len(course.importance)} outputs, and rows have {wanted.shape[1]}: "
            "give a number for each"
        )
    if loss != "squared" and not bool(((wanted >= 0) & (wanted <= 1)).all()):
        raise InvalidDataError(
            f"answers from {float(wanted.min()):g} to {float(wanted.max()):g}: {loss} compares "
            "probabilities; give numbers from 0 to 1, or choose squared"
        )
    if loss == "cross-entropy" and not torch.allclose(
        wanted.sum(1, dtype=torch.float64), torch.ones(len(wanted), dtype=torch.float64), atol=1e-5
    ):
        raise InvalidDataError(
            "answers that do not add up to 1 in each row: cross-entropy compares probabilities of "
            "classes; give them, or choose binary"
        )
    if course.augmentation and prod(course.augmentation.picture) != inputs.shape[1]:
        raise InputError(
            f"rows of {inputs.shape[1]} numbers, and pictures of {course.augmentation.picture} "
            "(channels, height, width) to be seen anew: give the pictures that rows hold"
        )
    ends = (inputs.shape[1], wanted.shape[1])
    for index, one in enumerate(individuals):
        if one.ends != ends:
            raise InputError(
                f"individual {index} has {one.ends[0]} inputs and {one.ends[1]} outputs, the "
                f"rows {ends[0]} and {ends[1]}: give the same to all"
            )
