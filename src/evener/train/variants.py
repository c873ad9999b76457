"""Make variants of a network on a dataset, whose layers can then compete for their place."""

from typing import Final

from evener.artifacts.dataset import Task
from evener.artifacts.layer_graph import LayerGraph, Recipe
from evener.data.dataset import Dataset
from evener.errors import InputError
from evener.train.population.course import Course
from evener.train.population.decoded import individual_of
from evener.train.population.instances import Instances, Net
from evener.train.population.losses import LossName
from evener.train.population.training import train_population
from evener.train.rows import standardised_rows

_LOSSES: Final[dict[Task, LossName]] = {"classes": "cross-entropy", "labels": "binary"}


def make_variants(
    graph: LayerGraph,
    dataset: Dataset,
    *,
    count: int,
    head_start: int,
    epochs: int,
    batch: int,
    seed: int,
    recipe: Recipe | None = None,
) -> tuple[Instances, list[Net]]:
    """Train a network for a while, and variants of it that go on from there.

    Args:
        graph: the network; its own recipe counts before the other.
        dataset: of classes or labels; all learn from its training split, standardised, and are
            judged by its validation split.
        count: how many variants.
        head_start: epochs that they have in common.
        epochs: further ones that each is trained for, now and between two sweeps.
        batch: rows of a step.
        seed: what weights and the order of rows are drawn from.
        recipe: how it is trained where it does not say; a recipe's defaults if None.

    Returns:
        What trains and judges variants, and those to begin with.

    Raises:
        InputError: numbers are predicted, a number of variants or epochs below 1, or layers that
            are divided into shards.
    """
    if graph.divided is not None:
        raise InputError(f"{graph}: layers compete where they are whole; leave out the topology")
    if dataset.task not in _LOSSES:
        raise InputError(
            f"{dataset.name} has {dataset.task} to predict, and layers compete over classes or "
            "labels: give such data"
        )
    loss = _LOSSES[dataset.task]
    individual = individual_of(
        graph, dataset.features.shape[1], dataset.outputs, seed=seed, recipe=recipe
    )
    rows = standardised_rows(dataset, "train")
    common = Course(epochs=head_start, batch=batch, loss=loss)
    (base,) = train_population([individual], rows, common)
    course = Course(epochs=epochs, batch=batch, loss=loss)
    instances = Instances(individual, rows, standardised_rows(dataset, "validation"), course)
    return instances, instances.begin(base.weights, count)
