"""What a project's [search] comes to: a space, an algorithm, and where weights begin."""

from math import log2
from typing import TYPE_CHECKING, Final

import numpy as np

from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.front import Beginning
from evener.artifacts.layer_graph import Activation, LayerGraph, Spread
from evener.artifacts.networks import Ends, macs, weights
from evener.artifacts.search_section import PLANNED, SearchSection
from evener.search.algorithm import Algorithm
from evener.search.algorithms import make_algorithm
from evener.search.bandit import Arm
from evener.search.chain_space import ChainSpace
from evener.search.chaos.domains import compensate, draw_start
from evener.search.conv_space import ConvSpace
from evener.search.layer_space import LayerSpace
from evener.search.paper import Paper
from evener.search.rivals import Prices
from evener.search.space import Space, costs_of

if TYPE_CHECKING:
    from evener.workflow.network_cost import NetworkCost

Bred = LayerGraph | ConvStack
"""What evolves."""

_NARROWEST, _WIDEST = 64, 512  # bounds of the widest layer that suits the data
_WIDTHS: Final = 4
_LARGE: Final = 256  # places of a picture from which on convolutions are worth their time
_NEVER: Final = 1e15  # the price of what is no network: more than any
_BYTES: Final = 4  # of a weight in the network's file
_BESIDE: Final = 4096  # bytes of a file that are no weights, about


def reads_pictures(section: SearchSection, ends: Ends) -> bool:
    """Return whether networks are blocks of convolutions, rather than dense layers.

    Example:
        >>> digits, mnist = (Ends(features=n * n, outputs=10, picture=(1, n, n)) for n in (8, 28))
        >>> reads_pictures(SearchSection(), digits), reads_pictures(SearchSection(), mnist)
        (False, True)
    """
    if section.networks != "auto" or ends.picture is None or section.links == "chain":
        return section.networks == "blocks"
    return ends.picture[1] * ends.picture[2] >= _LARGE


def space_of(section: SearchSection, ends: Ends) -> Space[Bred]:
    """Return the networks that may be found.

    Args:
        section: of the project.
        ends: what they stand between.
    """
    if reads_pictures(section, ends):
        return ConvSpace(
            stages=section.stages,
            blocks=section.blocks,
            channels=section.channels,
            activations=section.activations,
            recipes=section.recipes,
            picture_channels=1 if ends.picture is None else ends.picture[0],
        )
    widths = section.widths or widths_for(ends.features)
    if section.links == "chain":
        return ChainSpace(
            depth=section.depth,
            widths=widths,
            max_nodes=section.max_nodes,
            activations=section.activations,
            recipes=section.recipes,
        )
    return LayerSpace(
        depth=section.depth,
        widths=widths,
        max_nodes=section.max_nodes,
        activations=section.activations,
        recipes=section.recipes,
        density=section.density,
    )


def widths_for(features: int) -> tuple[int, ...]:
    """Return widths that suit so many features: the widest has about four units for each.

    Example:
        >>> widths_for(64), widths_for(3)
        ((32, 64, 128, 256), (8, 16, 32, 64))
    """
    widest = min(max(1 << round(log2(4 * features)), _NARROWEST), _WIDEST)
    return tuple(widest >> step for step in reversed(range(_WIDTHS)))


def algorithm_of(section: SearchSection, space: Space[Bred], prices: Prices[Bred]) -> Algorithm:
    """Return how the search goes on.

    Args:
        section: of the project.
        space: what genomes mean.
        prices: what is made small beside the error, known before an evaluation.
    """
    if section.algorithm == "paper":
        return Paper(
            space,
            population=section.population,
            parents=section.parents,
            elite=section.elite,
            mutation=section.mutation,
            arms=(Arm(crossover=section.crossover),),
        )
    return make_algorithm(
        section.algorithm,
        space,
        children=section.population,
        objectives=2,
        costs=costs_of(space, prices),
    )


def spread_of(network: Bred, section: SearchSection) -> Spread:
    """Return how widely the weights of a network are drawn, by the domain that it starts in.

    A layer's weights are divided by the inputs that its links bring, so that links which are not
    there take nothing away: as if all were.

    Args:
        network: whose.
        section: domain and seed.
    """
    if section.start == "random":
        rng = np.random.default_rng([section.seed, int(network.id, 16)])
        start = draw_start("random", network.activation, rng)
        return Spread(
            weight_variance=start.weight_variance * start.density,
            bias_variance=start.bias_variance,
        )
    start = compensate(section.start, network.activation, 1.0)
    return Spread(weight_variance=start.weight_variance, bias_variance=start.bias_variance)


def beginnings_of(section: SearchSection) -> tuple[Beginning, ...]:
    """Return where networks start, for each activation that they may have."""
    return tuple(_beginning(section, activation) for activation in section.activations)


def _beginning(section: SearchSection, activation: Activation) -> Beginning:
    known = section.start != "random"
    start = compensate(section.start if known else "critical", activation, 1.0)
    return Beginning(
        domain=section.start,
        density=section.density,
        activation=activation,
        weight_variance=start.weight_variance if known else None,
        chi=start.chi if known else None,
    )


def prices_of(
    section: SearchSection, ends: Ends, planned: "NetworkCost | None" = None
) -> Prices[Bred]:
    """Return what is made small beside the error.

    Args:
        section: names it.
        ends: what networks stand between.
        planned: says what a network's best plan will come to, where that is wanted.
    """
    figure = PLANNED.get(section.cost)
    count = weights if section.cost == "weights" else macs

    def price(network: Bred) -> float:
        if isinstance(network, LayerGraph) and not network.connected:
            return _NEVER  # a genome of it breaks the space's limit, and nobody trains it
        if figure is not None and planned is not None:
            return planned([network])[0][figure]
        return float(count(network, ends))

    return lambda networks: [(price(one),) for one in networks]


def excess_size(network: Bred, size_bytes: float, ends: Ends) -> float:
    """Return by what share the file of a network is larger than it may be, 0 if it is not.

    Args:
        network: not trained yet.
        size_bytes: the most that its file may take.
        ends: what it stands between.

    Example:
        >>> excess_size(LayerGraph(), 1e4, Ends(features=64, outputs=10))
        0.0
    """
    return max((_BESIDE + _BYTES * weights(network, ends)) / size_bytes - 1, 0.0)


def fixed_network(section: SearchSection, ends: Ends) -> Bred:
    """Return a network that nobody searched for: two layers, or three blocks, in the middle.

    Args:
        section: widths, channels and activations.
        ends: what it stands between.
    """
    activation = section.activations[0]
    if reads_pictures(section, ends):
        channels = section.channels[len(section.channels) // 2]
        blocks = tuple(
            Block(kind="conv3x3", channels=channels, stride=2 if number else 1)
            for number in range(3)
        )
        return ConvStack(blocks=blocks, hidden=64, activation=activation)
    widths = section.widths or widths_for(ends.features)
    middle = widths[len(widths) // 2]
    return LayerGraph(
        widths=(middle, middle), links=((0, 1), (1, 2), (2, 3)), activation=activation
    )
