"""Find out how good states of training are, on rows that were not learned from."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from evener.artifacts.dataset import MAIN_METRIC, Task
from evener.train.metrics import quality, standard_error
from evener.train.population.answers import answer_population
from evener.train.population.losses import LossName
from evener.train.population.state import State
from evener.train.population.training import Member

LOSS: Final[dict[Task, LossName]] = {
    "classes": "cross-entropy",
    "labels": "binary",
    "numbers": "squared",
}
"""What a population learns each task by."""


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Finds out how good states of training are.

    Attributes:
        individuals: of the trials.
        task: what they answer.
        inputs: rows of the validation split, standardised.
        targets_RO: what should be answered to them.
        scaling: mean and spread of the targets to learn, which answers of numbers lack.
        device: that computes.
    """

    individuals: Sequence[Member]
    task: Task
    inputs: torch.Tensor
    targets_RO: NDArray[np.float32]
    scaling: tuple[NDArray[np.float64], NDArray[np.float64]]
    device: str

    def qualities(self, which: Sequence[int], states: Sequence[State]) -> list[tuple[float, float]]:
        """Return main metric and standard error of each; -inf where answers are not finite."""
        answers = answer_population(
            [self.individuals[index] for index in which],
            [state.weights for state in states],
            self.inputs,
            LOSS[self.task],
            device=self.device,
        )
        return [self._quality(one.numpy()) for one in answers]

    def _quality(self, answers_RO: NDArray[np.float32]) -> tuple[float, float]:
        given = answers_RO
        if self.task == "numbers":
            mean_O, spread_O = self.scaling
            given = (answers_RO * spread_O + mean_O).astype(np.float32)
        if not np.isfinite(given).all():
            return -inf, 0.0  # of rows far beyond those that it learned from
        found = quality(self.task, self.targets_RO, given)[MAIN_METRIC[self.task]]
        return found, standard_error(self.task, self.targets_RO, given)
