"""Grow networks from a single block, a node at a time, as far as their limits go."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import numpy as np

from evener.artifacts.layer_graph import LayerGraph
from evener.search.layer_space import LayerSpace


@dataclass(frozen=True, slots=True)
class Limits:
    """How far networks may grow.

    Attributes:
        space: its depth, widths and number of nodes.
        complexity: of a network, such as its multiply-accumulates.
        most: C, the largest complexity.
    """

    space: LayerSpace
    complexity: Callable[[LayerGraph], float]
    most: float

    def allow(self, graph: LayerGraph) -> bool:
        """Say whether a network is within all limits."""
        if len(graph.widths) > self.space.depth or self.complexity(graph) > self.most:
            return False
        return self.space.max_nodes is None or sum(graph.widths) <= self.space.max_nodes


def single_block(space: LayerSpace) -> LayerGraph:
    """Return the base model: one hidden layer, as narrow as there is.

    Example:
        >>> str(single_block(LayerSpace()))
        'layers 32 relu, 2 links'
    """
    return LayerGraph(
        widths=space.widths[:1], links=((0, 1), (1, 2)), activation=space.activations[0]
    )


def grow(graph: LayerGraph, limits: Limits, rng: np.random.Generator) -> LayerGraph | None:
    """Return a network that has grown by a node.

    That is a hidden layer of the next width, or a further one, as narrow as there is, between any
    two nodes; links that are there stay.

    Args:
        graph: the network.
        limits: how far it may grow.
        rng: draws which of all ways to grow.

    Returns:
        None if it can no longer grow.
    """
    ways = (*_wider(graph, limits.space), *_deeper(graph, limits.space))
    ways = tuple(one for one in ways if limits.allow(one))
    return ways[int(rng.integers(len(ways)))] if ways else None


def _wider(graph: LayerGraph, space: LayerSpace) -> list[LayerGraph]:
    grown = []
    for layer, width in enumerate(graph.widths):
        wider = next((one for one in space.widths if one > width), None)
        if wider is not None:
            widths = (*graph.widths[:layer], wider, *graph.widths[layer + 1 :])
            grown.append(msgspec.structs.replace(graph, widths=widths))
    return grown


def _deeper(graph: LayerGraph, space: LayerSpace) -> list[LayerGraph]:
    return [
        _with_layer(graph, start, end, space.widths[0])
        for start in range(graph.output)
        for end in range(start + 1, graph.output + 1)
    ]


def _with_layer(graph: LayerGraph, start: int, end: int, width: int) -> LayerGraph:
    """Return the network with a layer behind `start` that gets its values, and feeds `end`."""
    new = start + 1
    links = {(one + (one >= new), other + (other >= new)) for one, other in graph.links}
    links |= {(start, new), (new, end + 1)}
    widths = (*graph.widths[:start], width, *graph.widths[start:])
    return msgspec.structs.replace(graph, widths=widths, links=tuple(sorted(links)))
