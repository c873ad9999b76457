"""Find a network for rows that are in memory, and train it: a search without a project or files."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final

from evener.artifacts.dataset import MAIN_METRIC
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import macs
from evener.artifacts.project import TrainSection
from evener.errors import DivergedError, InputError
from evener.search.evolution import Evolution
from evener.search.layer_space import LayerSpace
from evener.search.nsga2 import Nsga2

if TYPE_CHECKING:
    from evener.data.dataset import Dataset
    from evener.train.fit import Trained

_POPULATION: Final = 6


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to look for a network.

    Attributes:
        networks: how many are tried.
        budget_s: seconds after which no further one is tried; None for no limit.
        depth: most hidden layers.
        widths: units that a layer may have, in ascending order.
        trial_epochs: passes over the rows for each that is tried.
        epochs: passes for the one that is chosen.
        batch: rows of a step.
        learning_rate: at its peak.
        seed: what all chance is drawn from.
    """

    networks: int = 12
    budget_s: float | None = None
    depth: int = 3
    widths: tuple[int, ...] = (16, 32, 64, 128)
    trial_epochs: int = 15
    epochs: int = 60
    batch: int = 32
    learning_rate: float = 0.003
    seed: int = 0


def find_network(
    dataset: "Dataset", effort: Effort = Effort(), *, clock: Callable[[], float] = time.monotonic
) -> LayerGraph:
    """Search for the network of dense layers that predicts the validation rows best.

    Of equally good ones the one that computes least is taken. One is tried at least, whatever the
    budget.

    Args:
        dataset: learned from by its training split, chosen for by its validation split.
        effort: how hard to look.
        clock: seconds that only go forward.

    Raises:
        InputError: an effort that finds nothing; each network that was tried diverged.
    """
    from evener.train.fit import ends_of

    if effort.networks < 1:
        raise InputError(f"{effort.networks} networks to try: give 1 or more")
    space = LayerSpace(depth=effort.depth, widths=effort.widths, max_nodes=None)
    algorithm = Nsga2(space, population=_POPULATION, children=_POPULATION)
    evolution = Evolution(space, algorithm, seed=effort.seed, objectives=2)
    deadline = inf if effort.budget_s is None else clock() + effort.budget_s
    ends = ends_of(dataset)
    metric = MAIN_METRIC[dataset.task]
    tried: list[tuple[float, int, LayerGraph]] = []
    while evolution.evaluated < effort.networks and (clock() < deadline or not tried):
        asked = evolution.ask()
        if not asked:
            break
        for graph in asked[: effort.networks - evolution.evaluated]:
            if tried and clock() >= deadline:
                break
            error = _error(graph, dataset, effort, metric)
            cost = macs(graph, ends)
            tried.append((error, cost, graph))
            evolution.tell({graph.id: None if error == inf else (error, float(cost))})
    error, _, graph = min(tried, key=lambda one: (one[0], one[1], one[2].id))
    if error == inf:
        raise InputError(
            f"each of {len(tried)} networks diverged at a learning rate of "
            f"{effort.learning_rate:g}: lower it"
        )
    return graph


def train_found(graph: LayerGraph, dataset: "Dataset", effort: Effort = Effort()) -> "Trained":
    """Train a network that was found.

    Args:
        graph: the network.
        dataset: learned from by its training split.
        effort: epochs, batch, learning rate and seed.

    Raises:
        DivergedError: the learning rate was too high.
    """
    from evener.train.fit import train_network

    return train_network(graph, dataset, _section(effort, effort.epochs))


def _error(graph: LayerGraph, dataset: "Dataset", effort: Effort, metric: str) -> float:
    from evener.train.fit import train_network

    try:
        trained = train_network(graph, dataset, _section(effort, effort.trial_epochs))
    except DivergedError:
        return inf
    return 1 - trained.validation[metric]


def _section(effort: Effort, epochs: int) -> TrainSection:
    return TrainSection(
        epochs=epochs,
        batch=effort.batch,
        learning_rate=effort.learning_rate,
        seed=effort.seed,
    )
