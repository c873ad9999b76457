"""What a project's [search] comes to: a space, an algorithm, limits, and where weights begin."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import log2
from typing import Final

import numpy as np

from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.front import Beginning
from evener.artifacts.layer_graph import Activation, LayerGraph, Spread
from evener.artifacts.networks import Ends, macs, stored, weights
from evener.artifacts.requirements import Requirement
from evener.artifacts.search_section import CostName, SearchSection
from evener.errors import InputError
from evener.search.algorithm import Algorithm
from evener.search.algorithms import make_algorithm
from evener.search.bandit import FIXED, LEARNED, Arm, arms_about
from evener.search.breeding import FREE, Band
from evener.search.chain_space import ChainSpace
from evener.search.chaos.domains import compensate, draw_start
from evener.search.drift import drift_warning
from evener.search.genes import Genomes
from evener.search.layer_space import LayerSpace
from evener.search.model import Reference
from evener.search.paper import Paper
from evener.search.rivals import Prices
from evener.search.space import Space, costs_of
from evener.workflow.block_search import block_space, fixed_blocks, picture_of_blocks
from evener.workflow.network_cost import NetworkCost

Candidate = LayerGraph | ConvStack

_NARROWEST, _WIDEST = 64, 512  # bounds of the widest layer that suits the data
_WIDTHS: Final = 4
_PRICED: Final = 6  # networks that tell how long a price takes
_BYTES: Final = 4  # of a weight in the network's file
_BESIDE: Final = 4096  # bytes of a file that are no weights, about
OF_PLANS: Final[Mapping[CostName, str]] = {
    "period": "period_s",
    "latency": "latency_s",
    "energy": "energy_j",
}
"""Costs that a plan has, and the names that `NetworkCost` gives them."""


def space_of(section: SearchSection, ends: Ends) -> Space[Candidate]:
    """Return the networks that may be found.

    Args:
        section: of the project.
        ends: what they stand between.

    Raises:
        InputError: blocks of convolutions, which are to inherit what was learned, or to be divided
            into shards.
    """
    picture = picture_of_blocks(section, ends)
    if picture is not None and section.inherit:
        raise InputError(
            "search.inherit = true passes on what layers have learned, and these networks are "
            'blocks of convolutions: write search.networks = "layers", or search.inherit = false'
        )
    if picture is not None and section.shards:
        raise InputError(
            "search.shards divides layers, and these networks are blocks of convolutions: write "
            'search.networks = "layers", or leave out search.shards and search.halos'
        )
    if picture is not None:
        return block_space(section, picture)
    widths = section.widths or widths_for(ends.features)
    if section.links == "chain":
        return ChainSpace(
            depth=section.depth,
            widths=widths,
            max_nodes=section.max_nodes,
            activations=section.activations,
            recipes=section.recipes,
            shards=section.shards,
            halos=section.halos_in_order,
            outputs=ends.outputs,
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


def algorithm_of(
    section: SearchSection,
    space: Space[Candidate],
    prices: Prices[Candidate],
    *,
    reference: Reference = (),
    children: int | None = None,
    pool: int | None = None,
    seeds: Genomes | None = None,
) -> Algorithm:
    """Return how the search goes on.

    Args:
        section: of the project.
        space: what genomes mean.
        prices: what is made small beside the error, known before an evaluation.
        reference: limits on the error and on that, beyond which a network is of no use.
        children: of a generation, but for "paper"; the population's size if None.
        pool: among how many "screened" chooses, see `make_algorithm`.
        seeds: genomes to begin with.
    """
    learns = section.operators == "learned"
    if section.algorithm == "paper":
        return Paper(
            space,
            population=section.population,
            parents=section.parents,
            elite=section.elite,
            mutation=section.mutation,
            band=_band(section) or FREE,  # Table I has a fixed rate
            arms=arms_about(section.crossover) if learns else (Arm(crossover=section.crossover),),
            seeds=seeds,
        )
    if section.algorithm == "coevolution":
        raise InputError("'coevolution' proposes no generations: it is carried out as a whole")
    return make_algorithm(
        section.algorithm,
        space,
        children=children or section.population,
        objectives=1 + len(section.costs),
        costs=costs_of(space, prices),
        reference=reference,
        pool=pool,
        seeds=seeds,
        band=_band(section),
        arms=LEARNED if learns else FIXED,
    )


def _band(section: SearchSection) -> Band | None:
    """Return the band of lambda that was asked for, None for the usual one."""
    return FREE if section.band == "off" else section.band


def warnings_of(section: SearchSection, space: Space[Candidate]) -> tuple[str, ...]:
    """Return what a search's settings make likely that nobody wants.

    Drift is told of algorithms that replace a population by children of its best: the chain is
    theirs. Others keep whatever is good, or forget by age.

    Args:
        section: of the project.
        space: what genomes mean.

    Example:
        >>> warnings_of(SearchSection(algorithm="screened", population=2), LayerSpace())
        ()
    """
    bred = {"paper": section.generations - 1, "coevolution": section.generations}
    if not bred.get(section.algorithm):
        return ()
    wiring = space
    if section.algorithm == "coevolution" and isinstance(space, LayerSpace):
        wiring = replace(space, recipes=False)  # rates are not in its genomes
    warning = drift_warning(
        section.population,
        section.parents,
        elite=section.elite,
        mutation=1 / wiring.length if section.mutation is None else section.mutation,
        generations=bred[section.algorithm],
    )
    return () if warning is None else (f"drift: {warning}",)


def reference_of(
    section: SearchSection,
    quality: float | None,
    size_bytes: float | None,
    planned: NetworkCost | None = None,
) -> Reference:
    """Return the limits of requirements on the error and the costs, None where there is none.

    Args:
        section: names the costs.
        quality: the least that a network must come to, if there is a limit.
        size_bytes: what its file may weigh, likewise.
        planned: what the best plans come to, which limits their figures, likewise.

    Example:
        >>> reference_of(SearchSection(cost="weights"), 0.75, 44_096)
        (0.25, 10000.0)
    """

    def most(cost: CostName) -> float | None:
        if cost == "weights" and size_bytes is not None:
            return max(size_bytes - _BESIDE, 0.0) / _BYTES
        return None if planned is None or cost not in OF_PLANS else planned.most(OF_PLANS[cost])

    limits = (None if quality is None else 1 - quality, *map(most, section.costs))
    return limits if any(one is not None for one in limits) else ()


def spread_of(network: Candidate, section: SearchSection) -> Spread:
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
    section: SearchSection, ends: Ends, planned: NetworkCost | None = None
) -> Prices[Candidate]:
    """Return what is made small beside the error.

    Args:
        section: names it.
        ends: what networks stand between.
        planned: what their best plans come to, where that is to be small.

    Raises:
        InputError: plans are to be cheap, and nothing says what they cost.
    """
    counts = {"macs": macs, "weights": weights}

    def price_of(cost: CostName) -> Callable[[Sequence[Candidate]], list[float]]:
        if cost in counts:
            return lambda networks: [float(counts[cost](one, ends)) for one in networks]
        if planned is None:
            raise InputError(
                f"search.cost = '{cost}' is of a plan, and this search knows of none: "
                "write 'macs' or 'weights'"
            )
        return partial(_planned_prices, cost, planned)

    of_each = [price_of(cost) for cost in section.costs]
    return lambda networks: list(zip(*(price(networks) for price in of_each), strict=True))


def price_seconds(
    section: SearchSection, space: Space[Candidate], prices: Prices[Candidate]
) -> float | None:
    """Return how long the price of a network takes, in seconds of the processor.

    Args:
        section: of the project.
        space: whose networks are priced.
        prices: what is made small beside the error.

    Returns:
        None where prices are counted, which takes no time to speak of.
    """
    if OF_PLANS.keys().isdisjoint(section.costs):
        return None
    genomes = space.draw(1 + _PRICED, np.random.default_rng([section.seed, _PRICED]))
    first, *others = space.decode(genomes)
    prices([first])  # what is done once is no part of it
    begun = time.process_time()
    prices(others)
    return (time.process_time() - begun) / len(others)


def _planned_prices(
    name: CostName, planned: NetworkCost, networks: Sequence[Candidate]
) -> list[float]:
    # A genome whose output nothing leads to is priced before its own limits sort it out.
    whole = [one for one in networks if not isinstance(one, LayerGraph) or one.connected]
    costs = {one.id: cost for one, cost in zip(whole, planned(whole), strict=True)}
    if any(OF_PLANS[name] not in cost for cost in costs.values()):
        raise InputError(
            f"search.cost asks for '{name}', and nobody knows what plans draw: plan for a board "
            f"whose file has powers, or write 'period' in place of '{name}'"
        )
    return [costs[one.id][OF_PLANS[name]] if one.id in costs else 0.0 for one in networks]


def limits_of(
    size_bytes: float | None, ends: Ends, planned: NetworkCost | None = None
) -> Callable[[Candidate], float]:
    """Return by how much a network breaks hard limits, as a share; 0 if it keeps them.

    Args:
        size_bytes: what its file may weigh; None for no limit.
        ends: what networks stand between.
        planned: what their best plans come to, which also keeps the limits on these; None if
            nothing limits them.

    Example:
        >>> limits_of(1e4, Ends(features=64, outputs=10))(LayerGraph())
        0.0
    """

    def broken(network: Candidate) -> float:
        if planned is not None:
            return planned.violation(network)
        if size_bytes is None:
            return 0.0
        expected = _BESIDE + _BYTES * stored(network, ends)
        return max(expected / size_bytes - 1, 0.0)

    return broken


def stated_limits(size_bytes: float | None, planned: NetworkCost | None) -> tuple[str, ...]:
    """Write the hard requirements that networks are held to before they are trained.

    Args:
        size_bytes: as for `limits_of`.
        planned: likewise.

    Example:
        >>> stated_limits(1e4, None), stated_limits(None, None)
        (('size <= 10 kB',), ())
    """
    if planned is not None:
        return tuple(map(str, planned.limited))
    if size_bytes is None:
        return ()
    return (str(Requirement(name="size", relation="<=", limit=size_bytes)),)


def fixed_network(section: SearchSection, ends: Ends) -> Candidate:
    """Return a network that nobody searched for: two layers behind one another, in the middle.

    Where networks are blocks, it is one too.

    Args:
        section: widths and activations.
        ends: what it stands between.
    """
    if picture_of_blocks(section, ends) is not None:
        return fixed_blocks(section)
    widths: Sequence[int] = section.widths or widths_for(ends.features)
    middle = widths[len(widths) // 2]
    return LayerGraph(
        widths=(middle, middle),
        links=((0, 1), (1, 2), (2, 3)),
        activation=section.activations[0],
    )
