"""Find out which parent gave a child each of its links, by the bits that the crossover took.

A layer of the child and one of a parent are the same if the same node of the space became either:
decoded networks leave out dead layers and number the others anew, so that their numbers do not say.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evener.artifacts.homology import Homology
from evener.artifacts.layer_graph import LayerGraph
from evener.search.genes import Genomes


class LayerGenomes(Protocol):
    """A space of networks of layers, whose nodes are the input, its layers, and the output."""

    @property
    def depth(self) -> int:
        """Most hidden layers; node `depth` + 1 is the output."""
        ...

    def decode(self, genomes: Genomes) -> tuple[LayerGraph, ...]:
        """Return the network of each genome."""
        ...

    def places(self, genomes: Genomes) -> tuple[tuple[int, ...], ...]:
        """Return for each genome the node of the space that each layer of its network is."""
        ...

    def link_bit(self, start: int, end: int) -> int:
        """Return the first bit that says whether, or how, a node of the space feeds another."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """How a genome came about.

    Attributes:
        parents: ids of the networks of its two parents; of one, where that alone bred it.
        genomes: the child, then its parents in this order, (1 + parents, bits).
        point: the first bit that is not the first parent's, before bits were inverted.
    """

    parents: tuple[str, ...]
    genomes: Genomes
    point: int


def homologies(space: LayerGenomes, descent: Descent) -> tuple[Homology, ...]:
    """Return what a child has of each of its parents.

    A link is of the parent whose bits the crossover took there, however wide its ends are in the
    child; where that parent lacks it, since an inverted bit brought it, or a dead layer came to
    life, it is of the other one, if that has it.

    Args:
        space: what the genomes mean.
        descent: of the child.

    Returns:
        One for each parent, in order.

    Example:
        A child has the first two bits of a parent, and the third of another:

        >>> from evener.search.layer_space import LayerSpace
        >>> space = LayerSpace(depth=1, widths=(8,))
        >>> genomes = np.ones((3, space.length), bool)
        >>> [one.links for one in homologies(space, Descent(("a", "b"), genomes, 2))]
        [((0, 1), (0, 2)), ((1, 2),)]
    """
    child, *parents = space.decode(descent.genomes)
    places = [(0, *layers, space.depth + 1) for layers in space.places(descent.genomes)]
    there = [
        {(at[start], at[end]) for start, end in parent.links}
        for at, parent in zip(places[1:], parents, strict=True)
    ]
    given: list[list[tuple[int, int]]] = [[] for _ in parents]
    for start, end in child.links:
        link = (places[0][start], places[0][end])
        numbers = range(len(parents))
        for number in numbers if space.link_bit(*link) < descent.point else reversed(numbers):
            if link in there[number]:
                given[number].append((start, end))
                break
    nodes = {place: node for node, place in enumerate(places[0])}
    return tuple(
        Homology(
            nodes=tuple((node, nodes[place]) for node, place in enumerate(at) if place in nodes),
            links=tuple(links),
        )
        for at, links in zip(places[1:], given, strict=True)
    )


def descent_of(
    child: Genomes, parents: tuple[Genomes, Genomes], ids: tuple[str, str], point: int
) -> Descent:
    """Return how a genome came about, with one parent only where both are the same.

    Args:
        child: (bits,).
        parents: of the first and second parent, (bits,).
        ids: of their networks.
        point: see `Descent`.
    """
    if (parents[0] == parents[1]).all():
        return Descent(ids[:1], np.stack([child, parents[0]]), len(child))
    return Descent(ids, np.stack([child, *parents]), point)
