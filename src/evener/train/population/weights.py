"""The weights of one individual, as arrays that cross the border of a process."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError
from evener.train.draw import link_weights
from evener.train.population.individual import Individual, Link

Array = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What an individual has learned.

    Attributes:
        links: of each link, (neurons it comes from, neurons it leads to).
        biases: of each node but the input, (neurons,).
        masks: which weights of a link may be other than 0; all of a link that is not named.
    """

    links: Mapping[Link, Array]
    biases: tuple[Array, ...]
    masks: Mapping[Link, NDArray[np.bool_]] = field(default_factory=dict)


def draw_weights(
    individual: Individual, masks: Mapping[Link, NDArray[np.bool_]] | None = None
) -> Weights:
    """Draw the weights that an individual starts from.

    A weight is normal, and its variance is the individual's over the neurons that all links of its
    node come from: each node's sums then vary as much, however many links it has. Masks only take
    weights away; the variance that makes up for them is the individual's to say.

    Args:
        individual: whose.
        masks: which weights there are, by link; all of a link that is not named.

    Raises:
        InputError: a mask of no link, or of another shape.

    Example:
        >>> drawn = draw_weights(Individual(widths=(400, 100, 2), weight_variance=2.0))
        >>> round(float(drawn.links[0, 1].var() * 400), 1)
        2.0
    """
    masks = dict(masks or {})
    widths, seed = individual.widths, individual.seed
    links: dict[Link, Array] = {}
    for start, end in individual.edges:
        seen = sum(widths[one] for one, other in individual.edges if other == end)
        drawn = link_weights(seed, start, end, widths[start] * widths[end])
        spread = (individual.weight_variance / seen) ** 0.5
        links[start, end] = drawn.reshape(widths[start], widths[end]) * spread
    biases = [
        link_weights(seed, node, node, widths[node]) * individual.bias_variance**0.5
        for node in range(1, len(widths))
    ]
    drawn_all = Weights(links, tuple(biases), masks)
    check_weights(individual, drawn_all)
    for link, mask in masks.items():
        links[link] = np.where(mask, links[link], 0.0)
    return drawn_all


def check_weights(individual: Individual, weights: Weights) -> None:
    """Check that weights are those of an individual.

    Raises:
        InputError: a link is missing or is too many, or an array has another shape.
    """
    if set(weights.links) != set(individual.edges):
        raise InputError(
            f"weights of links {sorted(weights.links)} for an individual with links "
            f"{list(individual.edges)}: give those of each link"
        )
    strange = set(weights.masks) - set(individual.edges)
    if strange:
        raise InputError(
            f"masks of links {sorted(strange)}, which the individual with links "
            f"{list(individual.edges)} has not: leave them out"
        )
    widths = individual.widths
    for kind, arrays in (("weights", weights.links), ("a mask", weights.masks)):
        for (start, end), array in arrays.items():
            if array.shape != (widths[start], widths[end]):
                raise InputError(
                    f"{kind} of shape {array.shape} for the link from node {start} to node {end}: "
                    f"it joins {widths[start]} neurons with {widths[end]}"
                )
    shapes = [bias.shape for bias in weights.biases]
    if shapes != [(width,) for width in widths[1:]]:
        raise InputError(
            f"biases of shapes {shapes} for nodes of {widths[1:]} neurons: give one for each neuron"
        )
