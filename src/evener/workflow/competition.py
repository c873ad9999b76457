"""Let the layers of variants of one network compete on a dataset: search's rules, train's sums."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evener.artifacts.layer_graph import LayerGraph, Recipe
from evener.search.competition import Competed, Credit, compete

if TYPE_CHECKING:
    from evener.data.dataset import Dataset
    from evener.train.population.instances import LayerInstance


@dataclass(frozen=True, slots=True)
class Match:
    """On which terms layers compete.

    Attributes:
        instances: of each layer, one in each variant of the network.
        blocks: how many sweeps.
        epochs: that all variants are trained for before each sweep.
        head_start: epochs that they have in common before they part.
        batch: rows of a step.
        credit: how an instance is judged, see `evener.search.competition.sweep`.
        seed: what weights and the order of rows are drawn from.
    """

    instances: int = 6
    blocks: int = 3
    epochs: int = 1
    head_start: int = 3
    batch: int = 32
    credit: Credit = "best"
    seed: int = 0


def compete_layers(
    graph: LayerGraph,
    dataset: "Dataset",
    match: Match = Match(),
    *,
    recipe: Recipe | None = None,
) -> "Competed[LayerInstance]":
    """Train variants of a network, and let each of its layers go to the variant that has it best.

    Args:
        graph: the network; its own recipe counts before the other.
        dataset: of classes or labels.
        match: the terms.
        recipe: how it is trained where it does not say; a recipe's defaults if None.

    Returns:
        The champion and how it came about; F is the mean difference between an answer and what was
        wanted, over the validation split.

    Raises:
        InputError: numbers are predicted, or fewer than two instances, a sweep or an epoch.
    """
    from evener.train.variants import make_variants

    variants, networks = make_variants(
        graph,
        dataset,
        count=match.instances,
        head_start=match.head_start,
        epochs=match.epochs,
        batch=match.batch,
        seed=match.seed,
        recipe=recipe,
    )
    return compete(
        networks, variants.errors, train=variants.train, blocks=match.blocks, credit=match.credit
    )
