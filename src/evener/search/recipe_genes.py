"""Genes of how a network is trained; the ranges are those of the paper's Table I, and decay."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from evener.artifacts.layer_graph import Recipe
from evener.search.genes import Gene, Levels

RECIPE_GENES: Final = (
    Gene("optimiser", ("sgd", "adam")),
    Gene("learning_rate", tuple(float(f"{rate:.2g}") for rate in np.geomspace(1e-4, 1.0, 16))),
    Gene("momentum", (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9)),
    Gene("weight_decay", (0.0, 1e-5, 1e-4, 1e-3)),
)
_OPTIMISER, _MOMENTUM = 0, 2


def recipe_of(levels: Sequence[int]) -> Recipe:
    """Return the recipe that levels of `RECIPE_GENES` choose; a silent one, -1, counts as 0.

    Example:
        >>> recipe_of([0, 8, 7, 1])
        Recipe(optimiser='sgd', learning_rate=0.014, momentum=0.9, weight_decay=1e-05)
    """
    chosen: dict[str, Any] = {
        gene.name: gene.values[max(level, 0)]
        for gene, level in zip(RECIPE_GENES, levels, strict=True)
    }
    return Recipe(**chosen)


def silence_recipe(levels: Levels) -> Levels:
    """Mark the momentum as silent, -1, where Adam is chosen, which has its own.

    Args:
        levels: of `RECIPE_GENES`, (genomes, 4).
    """
    kept = levels.copy()
    kept[levels[:, _OPTIMISER] == 1, _MOMENTUM] = -1
    return kept
