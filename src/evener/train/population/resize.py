"""Change how many neurons a node has, keeping what the network has learned.

More neurons are copies of those that are there (Chen et al., "Net2Net: Accelerating learning via
knowledge transfer", 2016), which leaves the function as it is; of fewer, the weightiest stay.
"""

import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError
from evener.train.population.individual import Individual
from evener.train.population.weights import Weights, check_weights


def widen(
    individual: Individual, weights: Weights, node: int, width: int, rng: np.random.Generator
) -> Weights:
    """Return weights in which a node has more neurons and the network the same function.

    A new neuron is a copy of one drawn among those there. What leads on from a neuron is divided
    among its copies by shares that differ, so that training moves them apart.

    Args:
        individual: whose weights.
        weights: of which a part is copied.
        node: hidden.
        width: neurons that it has then, as many or more.
        rng: what copies and shares are drawn from.

    Raises:
        InputError: the node is not hidden, or would have fewer neurons.

    Example:
        >>> from evener.train.population.weights import draw_weights
        >>> one = Individual(widths=(2, 3, 1))
        >>> wider = widen(one, draw_weights(one), 1, 5, np.random.default_rng(0))
        >>> wider.links[0, 1].shape, wider.links[1, 2].shape
        ((2, 5), (5, 1))
    """
    now = _hidden(individual, weights, node)
    if width < now:
        raise InputError(
            f"{width} neurons for node {node}, which has {now}: widening takes none away; narrow it"
        )
    source = np.concatenate([np.arange(now), rng.integers(now, size=width - now)])
    share = rng.uniform(0.5, 1.5, width)
    share /= np.bincount(source, share, minlength=now)[source]
    return _picked(weights, node, source, share)


def narrow(individual: Individual, weights: Weights, node: int, width: int) -> Weights:
    """Return weights in which a node has fewer neurons: those of the largest norms, in order.

    The norm of a neuron is that of what leads to it, its bias included, times that of what leads on
    from it: so it does not change where one is scaled up and the other down.

    Args:
        individual: whose weights.
        weights: of which a part is left out.
        node: hidden.
        width: neurons that it has then, from 1 to as many as it has.

    Raises:
        InputError: the node is not hidden, or would have no neuron, or more than it has.
    """
    now = _hidden(individual, weights, node)
    if not 1 <= width <= now:
        raise InputError(
            f"{width} neurons for node {node}, which has {now}: narrowing leaves from 1 to {now}"
        )
    into = weights.biases[node - 1].astype(np.float64) ** 2
    onwards = np.zeros(now)
    for (start, end), array in weights.links.items():
        if end == node:
            into += np.square(array, dtype=np.float64).sum(0)
        if start == node:
            onwards += np.square(array, dtype=np.float64).sum(1)
    # A stable sort: of equal ones the first stay.
    kept = np.sort(np.argsort(-into * onwards, kind="stable")[:width])
    return _picked(weights, node, kept, np.ones(width))


def resize(
    individual: Individual,
    weights: Weights,
    widths: tuple[int, ...],
    rng: np.random.Generator,
) -> Weights:
    """Return weights for other widths: nodes that should be wider are widened, others narrowed.

    Args:
        individual: whose weights.
        weights: what it has learned.
        widths: of all its nodes; input and output stay as they are.
        rng: what `widen` draws from.

    Raises:
        InputError: another number of nodes, or another input or output.
    """
    own = individual.widths
    if len(widths) != len(own) or (widths[0], widths[-1]) != (own[0], own[-1]):
        raise InputError(
            f"widths {widths} for an individual with {own}: give as many nodes, and the same "
            "input and output"
        )
    for node in range(1, len(own) - 1):
        grown = Individual(widths=(*widths[:node], *own[node:]), links=individual.links)
        if widths[node] >= own[node]:
            weights = widen(grown, weights, node, widths[node], rng)
        else:
            weights = narrow(grown, weights, node, widths[node])
    return weights


def _hidden(individual: Individual, weights: Weights, node: int) -> int:
    """Return how many neurons a hidden node has."""
    check_weights(individual, weights)
    if not 0 < node < len(individual.widths) - 1:
        raise InputError(
            f"node {node} of nodes 0 to {len(individual.widths) - 1} is not hidden: only hidden "
            "ones change their number of neurons"
        )
    return individual.widths[node]


def _picked(
    weights: Weights, node: int, source: NDArray[np.int64], share: NDArray[np.float64]
) -> Weights:
    """Return weights in which a node has these neurons, and what leads on from each is scaled."""
    links, masks = dict(weights.links), dict(weights.masks)
    for start, end in weights.links:
        if end == node:
            links[start, end] = links[start, end][:, source]
            if (start, end) in masks:
                masks[start, end] = masks[start, end][:, source]
        elif start == node:
            array = links[start, end]
            links[start, end] = (array[source] * share[:, np.newaxis]).astype(array.dtype)
            if (start, end) in masks:
                masks[start, end] = masks[start, end][source]
    biases = list(weights.biases)
    biases[node - 1] = biases[node - 1][source]
    return Weights(links, tuple(biases), masks)
