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
from evener.train.population.weights import Weights

LOSS: Final[dict[Task, LossName]] = {
    "classes": "cross-entropy",
    "labels": "binary",
    "numbers": "squared",
}
"""What a population learns each task by."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How good some answers are.

    Attributes:
        quality: the main metric of the task; -inf where an answer is not finite.
        error: one standard error of it.
        difference: mean difference between an output and what was wanted, numbers in spreads of the
            targets: the error of the paper's equation 3.
    """

    quality: float
    error: float
    difference: float


@dataclass(frozen=True, slots=True, eq=False)
class Evaluator:
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

    def qualities(self, which: Sequence[int], states: Sequence[State]) -> list[Evaluation]:
        """Return how good the answers of each are."""
        return self.evaluate(
            [self.individuals[index] for index in which], [state.weights for state in states]
        )

    def evaluate(
        self, individuals: Sequence[Member], weights: Sequence[Weights]
    ) -> list[Evaluation]:
        """Return how good the answers of some individuals are, whatever the trials are."""
        answers = answer_population(
            individuals,
            weights,
            self.inputs,
            LOSS[self.task],
            device=self.device,
        )
        return [self._evaluation(one.numpy()) for one in answers]

    def _evaluation(self, answers_RO: NDArray[np.float32]) -> Evaluation:
        given, unit_O = answers_RO, np.ones(answers_RO.shape[1])
        if self.task == "numbers":
            mean_O, unit_O = self.scaling
            given = (answers_RO * unit_O + mean_O).astype(np.float32)
        if not np.isfinite(given).all():
            return Evaluation(-inf, 0.0, inf)  # of rows far beyond those that it learned from
        found = quality(self.task, self.targets_RO, given)[MAIN_METRIC[self.task]]
        difference = np.abs((given.astype(np.float64) - self.targets_RO) / unit_O).mean()
        return Evaluation(
            found, standard_error(self.task, self.targets_RO, given), float(difference)
        )
