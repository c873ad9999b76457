"""Prune link by link: toggle, train for a moment, and keep what training and chance both confirm.

This is the end of the paper's algorithm 1. A link is taken away if that lowers the error; then the
network is trained for a moment, and the link stays away if the error is still lower than before and
the Markov chain says that the population would lose the link anyway. All links of a network are
tried in one batch: whoever evaluates can compute them together.

Vector-wise, a whole row or column of a weight matrix goes instead of a link: then the chain asks
how many networks have any link of it, and matrices become smaller once `remove_dead` has passed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal, Protocol

import numpy as np

from evener.errors import InputError
from evener.search.markov import SURE, loss_after
from evener.search.pruning.layers import Mask, Net

Unit = Literal["link", "row", "column"]


class Errors(Protocol):
    """Find out how large the error of some networks is."""

    def __call__(self, batch: Sequence[Net]) -> Sequence[float]:
        """Return F of each network, less is better; infinity where it cannot be computed."""
        ...


class ShortTraining(Protocol):
    """Train a network for a moment."""

    def __call__(self, net: Net) -> Net:
        """Return the network with other weights; links that are away stay away."""
        ...


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two neurons, or all of a neuron's links in one weight matrix.

    Attributes:
        layer: index of the layer that it leads to.
        place: of the source among those of the layer.
        neuron: that it comes from; None for all of the source: a column of the matrix.
        to: neuron that it leads to; None for all of the layer: a row.
    """

    layer: int
    place: int
    neuron: int | None
    to: int | None

    def of(self, mask: Mask) -> Mask:
        """Return the part of its matrix, or of the matrix's mask, that it is; a view."""
        rows = slice(None) if self.neuron is None else slice(self.neuron, self.neuron + 1)
        columns = slice(None) if self.to is None else slice(self.to, self.to + 1)
        return mask[rows, columns]


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of taking one link away.

    Attributes:
        network: which of the population.
        link: which.
        before: error with the link.
        toggled: without.
        trained: without it, after a short training.
        lost: probability that the population would lose it.
        outcome: "pruned", or what spoke against it.
    """

    network: int
    link: Link
    before: float
    toggled: float
    trained: float
    lost: float
    outcome: Literal["pruned", "training", "chance"]


@dataclass(frozen=True, slots=True, eq=False)
class Pruned:
    """A population after pruning.

    Attributes:
        networks: in the order given.
        errors: of each.
        trials: in the order they were made.
        reached: whether an error fell below the threshold, which ended it.
    """

    networks: tuple[Net, ...]
    errors: tuple[float, ...]
    trials: tuple[Trial, ...]
    reached: bool


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms links go.

    Attributes:
        temperature: difference of errors that makes networks e times as fit.
        threshold: error below which pruning ends.
        sure: probability of loss from which chance agrees.
        most: links, rows or columns that each network may lose.
        unit: what is taken away at a time.
    """

    temperature: float
    threshold: float = -inf
    sure: float = SURE
    most: int = 1_000_000
    unit: Unit = "link"

    def __post_init__(self) -> None:
        if not self.temperature > 0 or not 0 <= self.sure <= 1:
            raise InputError(
                f"pruning at a temperature of {self.temperature:g} with certainty {self.sure:g}: "
                "give a temperature above 0, in units of error, and a certainty from 0 to 1"
            )


def prune_links(
    networks: Sequence[Net], errors_of: Errors, train: ShortTraining, terms: Terms
) -> Pruned:
    """Take links away from each network of a population, while that lowers its error.

    Args:
        networks: of one shape, with different links and weights.
        errors_of: evaluates networks.
        train: trains one for a moment.
        terms: on which links go.

    Raises:
        InputError: networks differ in shape, or there is none.
    """
    population = list(networks)
    if not population or len({_shape(one) for one in population}) > 1:
        raise InputError(
            f"{len(population)} networks to prune: give at least one, all of one shape, so that "
            "their links can be told to be the same"
        )
    errors = list(errors_of(population))
    trials: list[Trial] = []
    for at in range(len(population)):
        tried: set[Link] = set()
        gone = 0
        while gone < terms.most and min(errors) >= terms.threshold:
            found = _best(population[at], errors[at], tried, errors_of, terms.unit)
            if found is None:
                break
            link, toggled = found
            tried.add(link)
            cut = train(_without(population[at], link))
            trained = errors_of([cut])[0]
            lost = _lost(population, link, errors[at], trained, terms.temperature)
            outcome: Literal["pruned", "training", "chance"] = "pruned"
            if not trained < errors[at]:
                outcome = "training"
            elif lost < terms.sure:
                outcome = "chance"
            trials.append(Trial(at, link, errors[at], toggled, trained, lost, outcome))
            if outcome == "pruned":
                population[at], errors[at] = cut, trained
                gone += 1
    reached = min(errors) < terms.threshold
    return Pruned(tuple(population), tuple(errors), tuple(trials), reached)


def links_of(net: Net, unit: Unit = "link") -> list[Link]:
    """Return the links that a network has, or the rows or columns with a link, layer by layer."""
    found: list[Link] = []
    for index, layer in enumerate(net.layers):
        for place, mask in enumerate(layer.masks):
            ends: list[tuple[int | None, int | None]]
            if unit == "row":
                ends = [(int(one), None) for one in np.flatnonzero(mask.any(axis=1))]
            elif unit == "column":
                ends = [(None, int(one)) for one in np.flatnonzero(mask.any(axis=0))]
            else:
                ends = [(int(neuron), int(to)) for neuron, to in np.argwhere(mask)]
            found += [Link(index, place, *each) for each in ends]
    return found


def _best(
    net: Net, error: float, tried: set[Link], errors_of: Errors, unit: Unit
) -> tuple[Link, float] | None:
    """Return the link without which the error is least, if it is less than with it."""
    links = [link for link in links_of(net, unit) if link not in tried]
    if not links:
        return None
    found = errors_of([_without(net, link) for link in links])
    least, link = min(zip(found, links, strict=True), key=lambda one: one[0])
    return (link, least) if least < error else None


def _without(net: Net, link: Link) -> Net:
    layers = list(net.layers)
    masks = list(layers[link.layer].masks)
    masks[link.place] = masks[link.place].copy()
    link.of(masks[link.place])[:] = False
    layers[link.layer] = replace(layers[link.layer], masks=tuple(masks))
    return Net(tuple(layers))


def _lost(
    population: Sequence[Net], link: Link, before: float, after: float, temperature: float
) -> float:
    """Return the probability that the others lose the link, once this network has lost it."""
    have = sum(bool(link.of(net.layers[link.layer].masks[link.place]).any()) for net in population)
    return loss_after(have, len(population), before, after, temperature)


def _shape(net: Net) -> tuple[object, ...]:
    return tuple((layer.width, layer.sources, layer.sums) for layer in net.layers)
