"""Say which weights an individual has that is divided into shards, and draw them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.topology import Topology
from evener.artifacts.windows import seen_by
from evener.train.population.individual import Individual, Link
from evener.train.population.weights import Weights, draw_weights
from evener.train.sharding import block_bounds, sources_of

Masks = Mapping[Link, NDArray[np.bool_]]


def masks_of(topology: Topology | None, widths: tuple[int, ...]) -> Masks:
    """Return which weights exist of each link of a row of layers; none of a link that is whole.

    Args:
        topology: which neurons see which, without means of others; None if all see all.
        widths: neurons of each layer, the input first.

    Returns:
        Masks (neurons before, neurons of the layer), as `Weights` has them.

    Example:
        >>> masks = masks_of(Topology(shards=2, halo=0), (3, 4, 2))
        >>> masks[1, 2].astype(int).T.tolist()
        [[1, 1, 0, 0], [0, 0, 1, 1]]
    """
    if topology is None:
        return {}
    masks: dict[Link, NDArray[np.bool_]] = {}
    for layer, windows in enumerate(seen_by(topology, widths), 1):
        before, here = widths[layer - 1 : layer + 1]
        if all(window.count == before for window in windows):
            continue
        mask = np.zeros((before, here), bool)
        bounds = block_bounds(here, topology.shards).tolist()
        for shard in range(topology.shards):
            seen = sources_of(topology, widths, layer, shard).indices
            mask[seen, bounds[shard] : bounds[shard + 1]] = True
        masks[layer - 1, layer] = mask
    return masks


def draw_divided(individual: Individual, masks: Masks) -> Weights:
    """Draw the weights that an individual starts from whose neurons see a part of those before.

    A weight's variance is the individual's over the neurons that its own neuron sees: each sum then
    varies as much as that of a neuron that sees all.

    Args:
        individual: whose.
        masks: which weights there are, by link; all of a link that is not named.

    Raises:
        InputError: a mask of no link, or of another shape.

    Example:
        >>> one = Individual(widths=(4, 400, 100, 2), weight_variance=2.0)
        >>> masks = masks_of(Topology(shards=4, halo=0), one.widths)
        >>> drawn = draw_divided(one, masks).links[1, 2]
        >>> round(float(drawn[masks[1, 2]].var() * 100), 1), bool(drawn[~masks[1, 2]].any())
        (2.0, False)
    """
    drawn = draw_weights(individual, masks)
    widths = individual.widths
    links = dict(drawn.links)
    for node in range(1, len(widths)):
        into = [link for link in individual.edges if link[1] == node]
        if masks.keys().isdisjoint(into):
            continue
        whole = sum(widths[start] for start, _ in into)
        seen = sum(
            masks[link].sum(0) if link in masks else np.full(widths[node], widths[link[0]])
            for link in into
        )
        for link in into:
            links[link] = links[link] * np.sqrt(whole / np.maximum(seen, 1))
    return Weights(links, drawn.biases, drawn.masks)
