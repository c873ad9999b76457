"""Evaluate weights of networks of layers on validation rows, as trials do, without training."""

from collections.abc import Sequence

import torch

from evener.data.dataset import Dataset
from evener.train.evaluator import Evaluation, Evaluator
from evener.train.fit import ends_of
from evener.train.head import target_scaling
from evener.train.loop import one_thread
from evener.train.model import standardisation
from evener.train.population.individual import Individual
from evener.train.population.weights import Weights


class WeightEvaluator:
    """What rows say of weights that others have found.

    Args:
        dataset: whose validation split counts, standardised as its training split says.
    """

    def __init__(self, dataset: Dataset) -> None:
        features, targets_RO = dataset.examples("train")
        mean, scale = standardisation(features, dataset.words)
        seen, expected_RO = dataset.examples("validation")
        self.ends = ends_of(dataset)
        self._evaluator = Evaluator(
            individuals=(),
            task=dataset.task,
            inputs=torch.from_numpy((seen - mean) * scale),
            targets_RO=expected_RO,
            scaling=target_scaling(targets_RO),
            device="cpu",
        )

    def __call__(
        self, individuals: Sequence[Individual], weights: Sequence[Weights]
    ) -> list[Evaluation]:
        """Return how good the answers of each individual are."""
        if not individuals:
            return []
        with one_thread():
            return self._evaluator.evaluate(individuals, weights)
