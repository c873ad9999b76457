"""Carry out the paper's Algorithm 1 on a dataset: search's lines, train's weight sets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.table1 import TABLE_1, Table1
from evener.search.chaos.domains import Domain, compensate
from evener.search.coevolution.algorithm import Coevolved, Settings, coevolve
from evener.search.coevolution.growth import Limits
from evener.search.coevolution.hyperparameters import Hyperparameters
from evener.search.coevolution.sparsify import AS_PRINTED, Terms
from evener.search.coevolution.trace import Trace, forget
from evener.search.fitness import Answers, paper_abs
from evener.search.layer_space import LayerSpace

if TYPE_CHECKING:
    from evener.data.dataset import Dataset
    from evener.train.weight_sets import WeightSets

AtTheEdge = Callable[[np.random.Generator], Hyperparameters]


@dataclass(frozen=True, slots=True)
class Course:
    """On which terms Algorithm 1 is carried out.

    Attributes:
        table: the settings of Table I; its rows per update, depth and nodes count too.
        widths: units that a layer may have.
        alpha: weight of the complexity in F, the multiply-accumulates over the most.
        most: C, multiply-accumulates that a network may take; None for those of the widest
            layers that the table allows, each of which feeds all later ones.
        sets: w, weight sets of each chromosome.
        start: where weights that are drawn stand between order and chaos: "critical" for the
            edge, "ordered" or "chaotic".
        terms: on which connections are pruned.
        seed: what all chance is drawn from.
    """

    table: Table1 = TABLE_1
    widths: tuple[int, ...] = (32, 64, 128, 256)
    alpha: float = 0.01
    most: float | None = None
    sets: int = 3
    start: Domain = "critical"
    terms: Terms = AS_PRINTED
    seed: int = 0


def coevolve_networks(
    dataset: "Dataset",
    at_the_edge: AtTheEdge,
    course: Course = Course(),
    *,
    bases: Sequence[LayerGraph] = (),
    trace: Trace = forget,
) -> Coevolved:
    """Grow networks on a dataset, evolve them together with their weights, and prune them.

    Args:
        dataset: of classes or labels.
        at_the_edge: draws hyperparameters at the edge of chaos, such as `draw_at_edge` of a table
            that was probed on this dataset.
        course: the terms.
        bases: networks of a user to begin with.
        trace: is told of each line of the algorithm.

    Returns:
        What came of it; scores are F of equation 3 on the validation split, without its price on
        links, since connections are pruned one by one.

    Raises:
        InputError: numbers are predicted, a base beyond the limits, or hyperparameters beyond
            Table I.
    """
    settings = settings_of(dataset, course)
    sets = weight_sets_of(dataset, course)
    return coevolve(settings, sets, at_the_edge, seed=course.seed, bases=bases, trace=trace)


def settings_of(dataset: "Dataset", course: Course) -> Settings:
    """Return the settings of the algorithm for a dataset.

    Args:
        dataset: which.
        course: the terms.
    """
    table = course.table
    space = LayerSpace(
        depth=table.maximum_depth, widths=course.widths, max_nodes=table.maximum_nodes
    )
    complexity = _complexity(dataset)
    limits = Limits(space, complexity, course.most or complexity(widest(space)))
    return Settings(limits, table, sets=course.sets, terms=course.terms)


def weight_sets_of(dataset: "Dataset", course: Course) -> "WeightSets":
    """Return what keeps, trains and scores weights on a dataset.

    Args:
        dataset: of classes or labels.
        course: the terms.

    Raises:
        InputError: numbers are predicted.
    """
    from evener.train.weight_sets import WeightSets  # torch takes a second

    limits = settings_of(dataset, course).limits

    def fitness(network: LayerGraph, answers: Answers, wanted: Answers) -> float:
        share = limits.complexity(network) / limits.most
        return paper_abs(answers, wanted, alpha=course.alpha, complexity=share, mu=0.0, pruned=0.0)

    def weight_variance(network: LayerGraph) -> float:
        # Weights are divided by the inputs that there are, as if no link was missing.
        return compensate(course.start, network.activation, 1.0).weight_variance

    return WeightSets(
        dataset, fitness, weight_variance=weight_variance, batch=course.table.rows_per_update
    )


def _complexity(dataset: "Dataset") -> Callable[[LayerGraph], float]:
    return partial(LayerGraph.macs, features=dataset.features.shape[1], classes=dataset.outputs)


def widest(space: LayerSpace) -> LayerGraph:
    """Return a network of the widest layers that there may be, with all links."""
    left = space.max_nodes if space.max_nodes is not None else space.depth * space.widths[-1]
    widths: list[int] = []
    for _ in range(space.depth):
        fitting = [one for one in space.widths if one <= left]
        if not fitting:
            break
        widths.append(fitting[-1])
        left -= fitting[-1]
    return LayerGraph(widths=tuple(widths), links=tuple(combinations(range(len(widths) + 2), 2)))
