"""Make individuals of what a search proposes."""

from typing import Final

from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.layer_graph import LayerGraph, Recipe, Spread
from evener.artifacts.networks import Ends, picture_of
from evener.errors import InputError
from evener.train.population.conv_individual import ConvIndividual
from evener.train.population.individual import Individual

_ADAM_MOMENTUM: Final = 0.9  # its first beta; a recipe's momentum is sgd's


def member_of(
    network: LayerGraph | ConvStack,
    ends: Ends,
    *,
    seed: int,
    recipe: Recipe | None = None,
    spread: Spread | None = None,
    dropout: float = 0.0,
) -> Individual | ConvIndividual:
    """Return the individual that a network of either kind is.

    Args:
        network: as proposed; its own recipe counts before the other.
        ends: what it stands between.
        seed: what weights and the order of rows are drawn from.
        recipe: where the network has none; a recipe's defaults if None.
        spread: of the weights that it begins with.
        dropout: probability with which a hidden unit of layers is left out of a step.

    Raises:
        InputError: nothing leads to the output, or it reads pictures, and rows are none.

    Example:
        >>> member_of(LayerGraph(), Ends(features=64, outputs=10), seed=0).ends
        (64, 10)
    """
    spread = spread or Spread()
    if isinstance(network, LayerGraph):
        return individual_of(
            network,
            ends.features,
            ends.outputs,
            seed=seed,
            recipe=recipe,
            weight_variance=spread.weight_variance,
            bias_variance=spread.bias_variance,
            dropout=dropout,
        )
    return conv_individual_of(
        network,
        picture_of(network, ends),
        ends.outputs,
        seed=seed,
        recipe=recipe,
        weight_variance=spread.weight_variance,
        bias_variance=spread.bias_variance,
    )


def individual_of(
    graph: LayerGraph,
    features: int,
    outputs: int,
    *,
    seed: int,
    recipe: Recipe | None = None,
    weight_variance: float = 2.0,
    bias_variance: float = 0.0,
    dropout: float = 0.0,
) -> Individual:
    """Return the individual that a graph of layers is.

    Args:
        graph: as proposed; its own recipe counts before the other.
        features: inputs.
        outputs: how many.
        seed: what weights and the order of rows are drawn from.
        recipe: where the graph has none; a recipe's defaults if None.
        weight_variance: see `Individual`.
        bias_variance: likewise.
        dropout: likewise.

    Raises:
        InputError: nothing leads to the output.

    Example:
        >>> graph = LayerGraph(widths=(32,), links=((0, 1), (0, 2), (1, 2)))
        >>> individual_of(graph, 64, 10, seed=0).edges
        ((0, 1), (0, 2), (1, 2))
    """
    if not graph.connected:
        raise InputError(f"{graph}: nothing leads to its output; repair it, or leave it out")
    chosen = graph.recipe or recipe or Recipe()
    return Individual(
        widths=(features, *graph.widths, outputs),
        links=graph.links,
        activation=graph.activation,
        seed=seed,
        optimiser=chosen.optimiser,
        learning_rate=chosen.learning_rate,
        momentum=_momentum(chosen),
        weight_decay=chosen.weight_decay,
        dropout=dropout,
        weight_variance=weight_variance,
        bias_variance=bias_variance,
    )


def conv_individual_of(
    stack: ConvStack,
    picture: tuple[int, int, int],
    outputs: int,
    *,
    seed: int,
    recipe: Recipe | None = None,
    weight_variance: float = 2.0,
    bias_variance: float = 0.0,
) -> ConvIndividual:
    """Return the individual that blocks of convolutions are.

    Args:
        stack: as proposed; its own recipe counts before the other.
        picture: channels, height and width of a row.
        outputs: how many.
        seed: what weights and the order of rows are drawn from.
        recipe: where the stack has none; a recipe's defaults if None.
        weight_variance: see `ConvIndividual`.
        bias_variance: likewise.

    Example:
        >>> conv_individual_of(ConvStack(blocks=(), hidden=8), (3, 32, 32), 10, seed=0).ends
        (3072, 10)
    """
    chosen = stack.recipe or recipe or Recipe()
    return ConvIndividual(
        picture=picture,
        blocks=stack.blocks,
        outputs=outputs,
        head=stack.head,
        hidden=stack.hidden,
        activation=stack.activation,
        seed=seed,
        optimiser=chosen.optimiser,
        learning_rate=chosen.learning_rate,
        momentum=_momentum(chosen),
        weight_decay=chosen.weight_decay,
        weight_variance=weight_variance,
        bias_variance=bias_variance,
    )


def _momentum(recipe: Recipe) -> float:
    return recipe.momentum if recipe.optimiser == "sgd" else _ADAM_MOMENTUM
