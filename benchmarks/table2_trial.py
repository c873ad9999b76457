"""Train networks, take away the neurons that weigh least, train them again, and score them by F."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil
from typing import Final

import msgspec
import numpy as np
import torch  # noqa: TID251 - rows of a population are tensors
from numpy.typing import NDArray

from evener.artifacts.layer_graph import LayerGraph, Recipe
from evener.data.dataset import Dataset, SplitName
from evener.search.chaos.mean_field import critical_variance
from evener.search.fitness import paper_abs
from evener.train.evaluator import LOSS
from evener.train.head import target_scaling
from evener.train.loop import one_thread
from evener.train.metrics import quality
from evener.train.model import standardisation
from evener.train.population.answers import answer_population
from evener.train.population.course import Course, Rows
from evener.train.population.decoded import individual_of
from evener.train.population.individual import Individual
from evener.train.population.resize import resize
from evener.train.population.training import train_population
from evener.train.population.weights import Weights
from evener.train.trials import own_seed

ALPHA: Final = 0.01
"""Weight of the complexity in F."""
MU: Final = 0.01
"""Weight of the share that is left in F."""

_RECIPE: Final = Recipe(optimiser="adam", learning_rate=0.003)
_BATCH: Final = 32
_MOST: Final = (256, 256, 256, 256)  # the widest layers whose units Table I allows
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A network that was trained, pruned and trained again.

    Attributes:
        network: as it was proposed.
        individual: as it is now.
        learned: its weights.
        fitness: F on the validation rows.
        weights: how many numbers are left.
    """

    network: LayerGraph
    individual: Individual
    learned: Weights
    fitness: float
    weights: int


class Trials:
    """Tries networks on the rows of a dataset.

    Args:
        dataset: of classes or numbers.
        rate: share of the neurons of each hidden layer that are taken away.
        passes: over the training rows before that; a third as many after.
        seed: what all chance is drawn from, with a network's id.
    """

    def __init__(self, dataset: Dataset, *, rate: float, passes: int, seed: int) -> None:
        self._dataset, self._rate, self._seed = dataset, rate, seed
        self._passes = (passes, ceil(passes / 3))
        features, targets = dataset.examples("train")
        self._mean, self._scale = standardisation(features)
        self._centre, self._spread = np.zeros(dataset.outputs), np.ones(dataset.outputs)
        if dataset.task == "numbers":
            self._centre, self._spread = target_scaling(targets)
        self._rows = Rows(self._inputs("train"), torch.from_numpy(self._wanted("train")))
        links = tuple(combinations(range(len(_MOST) + 2), 2))
        self._most = LayerGraph(widths=_MOST, links=links).macs(*self._ends)

    @property
    def _ends(self) -> tuple[int, int]:
        return self._dataset.features.shape[1], self._dataset.outputs

    def score(self, networks: Sequence[LayerGraph]) -> dict[str, Trial | None]:
        """Return what each network came to, by its id; None of one that diverged."""
        whole = {one.id: self._individual(one) for one in networks}
        trained = self._trained(whole, {}, self._passes[0])
        pruned = {id_: self._pruned(whole[id_], weights) for id_, weights in trained.items()}
        again = self._trained(
            {id_: one for id_, (one, _) in pruned.items()},
            {id_: weights for id_, (_, weights) in pruned.items()},
            self._passes[1],
        )
        answers = self._answers({id_: pruned[id_][0] for id_ in again}, again, "validation")
        wanted = self._wanted("validation").astype(np.float64)
        return {
            one.id: self._trial(one, pruned[one.id][0], again[one.id], answers[one.id], wanted)
            if one.id in again
            else None
            for one in networks
        }

    def tested(self, trial: Trial) -> dict[str, float]:
        """Return the quality of a network on the test rows, by metric."""
        id_ = trial.network.id
        found = self._answers({id_: trial.individual}, {id_: trial.learned}, "test")[id_]
        _, targets = self._dataset.examples("test")
        return quality(self._dataset.task, targets, found * self._spread + self._centre)

    def _individual(self, network: LayerGraph) -> Individual:
        return individual_of(
            network,
            *self._ends,
            seed=own_seed(self._seed, network.id),
            recipe=_RECIPE,
            weight_variance=critical_variance(network.activation, 1.0),
        )

    def _pruned(self, one: Individual, weights: Weights) -> tuple[Individual, Weights]:
        """Return a network without the neurons that weigh least."""
        hidden = (ceil((1 - self._rate) * width) for width in one.widths[1:-1])
        widths = (one.widths[0], *hidden, one.widths[-1])
        rng = np.random.default_rng(0)  # which narrowing does not draw from
        smaller = msgspec.structs.replace(one, widths=widths)
        return smaller, resize(one, weights, widths, rng)

    def _trained(
        self, individuals: Mapping[str, Individual], starts: Mapping[str, Weights], passes: int
    ) -> dict[str, Weights]:
        """Return the weights of those that did not diverge."""
        if not individuals:
            return {}
        course = Course(
            epochs=passes, batch=_BATCH, loss=LOSS[self._dataset.task], schedule="one-cycle"
        )
        with one_thread():
            states = train_population(
                [*individuals.values()],
                self._rows,
                course,
                starts=[starts.get(id_) for id_ in individuals],
            )
        both = zip(individuals, states, strict=True)
        return {id_: state.weights for id_, state in both if state.status == "trained"}

    def _answers(
        self, individuals: Mapping[str, Individual], weights: Mapping[str, Weights], part: SplitName
    ) -> dict[str, Floats]:
        if not individuals:
            return {}
        found = answer_population(
            [*individuals.values()],
            [weights[id_] for id_ in individuals],
            self._inputs(part),
            LOSS[self._dataset.task],
        )
        return {
            id_: one.numpy().astype(np.float64) for id_, one in zip(individuals, found, strict=True)
        }

    def _trial(
        self,
        network: LayerGraph,
        individual: Individual,
        weights: Weights,
        answers: Floats,
        wanted: Floats,
    ) -> Trial:
        fitness = paper_abs(
            answers,
            wanted,
            alpha=ALPHA,
            complexity=individual.macs / self._most,
            mu=MU,
            pruned=self._rate,
        )
        count = sum(one.size for one in (*weights.links.values(), *weights.biases))
        return Trial(network, individual, weights, fitness, count)

    def _inputs(self, part: SplitName) -> torch.Tensor:
        features, _ = self._dataset.examples(part)
        return torch.from_numpy((features - self._mean) * self._scale)

    def _wanted(self, part: SplitName) -> NDArray[np.float32]:
        _, targets = self._dataset.examples(part)
        return ((targets - self._centre) / self._spread).astype(np.float32)
