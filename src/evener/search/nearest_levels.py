"""Find the levels of genes that come nearest to a network that somebody has already."""

from collections.abc import Sequence
from math import log

import numpy as np

from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.layer_graph import Activation, LayerGraph
from evener.errors import InputError
from evener.search.recipe_genes import RECIPE_GENES


def nearest(size: int, sizes: Sequence[int]) -> int:
    """Return the place of the size that comes nearest, by their ratio.

    Args:
        size: 1 or more.
        sizes: likewise.

    Example:
        >>> nearest(100, (32, 64, 128, 256))
        2
    """
    return min(range(len(sizes)), key=lambda place: abs(log(size / sizes[place])))


def activation_level(network: LayerGraph | ConvStack, activations: Sequence[Activation]) -> int:
    """Return the place of a network's activation.

    Raises:
        InputError: it is not among them.
    """
    if network.activation not in activations:
        raise InputError(
            f"{network}: the space has the activations {', '.join(activations)}; add "
            f"{network.activation}"
        )
    return activations.index(network.activation)


def recipe_levels(network: LayerGraph | ConvStack) -> list[int]:
    """Return the levels of `RECIPE_GENES` that come nearest to a network's recipe.

    Raises:
        InputError: it has none.
    """
    if network.recipe is None:
        raise InputError(f"{network} has no recipe, and the space has: give it one")
    optimiser, *numbers = RECIPE_GENES
    return [
        optimiser.values.index(network.recipe.optimiser),
        *(
            int(np.abs(np.array(gene.values) - getattr(network.recipe, gene.name)).argmin())
            for gene in numbers
        ),
    ]
