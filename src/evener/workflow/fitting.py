"""Find a network for rows that are in memory, and train it: a search without a project or files."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from evener.artifacts.dataset import MAIN_METRIC, Task
from evener.artifacts.front import Front, Scored
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.project import DataSection, TrainSection
from evener.artifacts.search_section import CostName, SearchSection
from evener.errors import DivergedError, InputError
from evener.search.layer_space import LayerSpace
from evener.search.nsga2 import Nsga2
from evener.search.rivals import Rivals, best_quality
from evener.workflow.chunks import Crew, Here
from evener.workflow.generations import evolve
from evener.workflow.trial_batches import TrialBatches

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
        batch_size: rows of a step.
        learning_rate: at its peak.
        cost: what is made small beside the error, "macs", "weights" or both.
        compare: whether as many networks drawn at random, and a fixed one, are tried beside.
        seed: what all chance is drawn from.
    """

    networks: int = 12
    budget_s: float | None = None
    depth: int = 3
    widths: tuple[int, ...] = (16, 32, 64, 128)
    trial_epochs: int = 15
    epochs: int = 60
    batch_size: int = 32
    learning_rate: float = 0.003
    cost: CostName | tuple[CostName, ...] = "macs"
    compare: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes:
        network: the best.
        front: all that were tried, and those than which no other is as small in every objective.
        qualities: accuracy, R2 or, of labels, F1 on the validation rows of the best that the
            "search" tried and, where these are compared, "random search" and the "fixed network";
            after the brief training of a trial. Of the first two the best of many is told, so that
            both are flattered. A way whose networks all diverged is left out.
    """

    network: LayerGraph
    front: Front
    qualities: Mapping[str, float]


def find_network(
    dataset: "Dataset", effort: Effort = Effort(), *, clock: Callable[[], float] = time.time
) -> Found:
    """Search for the network of dense layers that predicts the validation rows best.

    Of equally good ones the one that costs least is taken. One is tried at least, whatever the
    budget.

    Args:
        dataset: learned from by its training split, chosen for by its validation split.
        effort: how hard to look.
        clock: seconds since 1970.

    Raises:
        InputError: each network that was tried diverged, or could not be scored.
    """
    from evener.train.fit import ends_of
    from evener.workflow.search_setup import fixed_network

    begun = clock()
    with Crew[Any, Any](Here) as crew:
        begin = partial(_search, dataset, effort, crew, clock)
        rivals = begin(effort.networks)
        evolve(
            rivals,
            generations=effort.networks,  # each tries one network or more
            left_s=lambda: None if effort.budget_s is None else begun + effort.budget_s - clock(),
            after=lambda _pace: None,
        )
        if not rivals.known:  # there was no time for any
            rivals = begin(1)
            rivals.advance(None)
        front = rivals.front()  # the best first, of equally good ones the cheapest
        state = rivals.state()
        if not front:
            raise _nothing_found(state.scored, effort)
        tried = {"search": [one.score for one in state.scored]}
        if effort.compare:
            fixed = fixed_network(SearchSection(widths=effort.widths), ends_of(dataset))
            trials = _trials(dataset, effort, crew, clock)
            tried["random search"] = [one.score for one in state.random]
            tried["fixed network"] = list(
                trials([fixed], budget_s=None, seed=effort.seed, descents={})
            )
    best = {name: best_quality(scores) for name, scores in tried.items()}
    return Found(
        network=front[0],
        front=_front(front, state.scored, dataset.task, effort),
        qualities={name: one for name, one in best.items() if one is not None},
    )


def _front(
    front: Sequence[LayerGraph], scored: Sequence[Scored], task: Task, effort: Effort
) -> Front:
    costs = {one.score.id: one.objectives[1:] for one in scored}
    return Front(
        scored=tuple(scored),
        front=tuple(sorted((one.id for one in front), key=lambda id_: costs[id_])),
        chosen=front[0].id,
        metric=MAIN_METRIC[task],
        objectives=("error", *_searched(effort).costs),
    )


def _searched(effort: Effort) -> SearchSection:
    return SearchSection(epochs=effort.trial_epochs, cost=effort.cost)


def _trials(
    dataset: "Dataset", effort: Effort, crew: Crew[Any, Any], clock: Callable[[], float]
) -> TrialBatches:
    from evener.train.fit import ends_of
    from evener.train.trials import Rows
    from evener.workflow.search_setup import prices_of

    rows = Rows("", DataSection(source=dataset.name), dataset.sha256, loaded=dataset)
    section = _searched(effort)
    train = _section(effort, effort.trial_epochs)
    return TrialBatches(rows, section, train, prices_of(section, ends_of(dataset)), crew, clock)


def _search(
    dataset: "Dataset",
    effort: Effort,
    crew: Crew[Any, Any],
    clock: Callable[[], float],
    most: int,
) -> "Rivals[LayerGraph]":
    space = LayerSpace(depth=effort.depth, widths=effort.widths, max_nodes=None)
    trials = _trials(dataset, effort, crew, clock)
    return Rivals(
        space,
        Nsga2(space, population=_POPULATION, children=_POPULATION),
        seed=effort.seed,
        population=_POPULATION,
        most=most,
        evaluate=trials,
        prices=trials.prices,
        names=trials.section.costs,
        limits=lambda _network: 0.0,
        alone=not effort.compare,
    )


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

    try:
        return train_network(graph, dataset, _section(effort, effort.epochs))
    except DivergedError as error:  # which names a key of a project
        raise DivergedError(
            f"training diverged in epoch {error.epoch} of {effort.epochs}: lower "
            f"learning_rate={effort.learning_rate:g}",
            epoch=error.epoch,
        ) from error


def _nothing_found(tried: Sequence[Scored], effort: Effort) -> InputError:
    if all(one.score.status == "diverged" for one in tried):
        return InputError(
            f"each of {len(tried)} networks diverged: lower learning_rate={effort.learning_rate:g}"
        )
    told = next((one.score for one in tried if one.score.status != "diverged"), None)
    why = "" if told is None else f": {told.status}: {told.message}"
    return InputError(
        f"none of {len(tried)} networks could be scored{why}; give other rows, or smaller widths"
    )


def _section(effort: Effort, epochs: int) -> TrainSection:
    return TrainSection(
        epochs=epochs,
        batch=effort.batch_size,
        learning_rate=effort.learning_rate,
        refit=False,  # whoever calls says by the split which rows are learned from
        seed=effort.seed,
    )
