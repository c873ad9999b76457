"""Decide which individuals are trained as one stack, so that little of it is padding.

Individuals of a stack are padded to the widest of them, node by node, and have the links of all of
them, those that one lacks being zero. So a stack costs what its largest member costs, times its
members; those of like size stand together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from evener.train.population.individual import Individual, Link

PADDING: Final = 0.3  # of a stack's multiply-accumulates, at most


@dataclass(frozen=True, slots=True)
class Bucket:
    """Individuals that are one stack.

    Attributes:
        members: their numbers, those of one activation side by side.
        widths: neurons of each node of the stack.
        links: of the stack, in order of where they end.
        padding: share of its multiply-accumulates that no member needs.
    """

    members: tuple[int, ...]
    widths: tuple[int, ...]
    links: tuple[Link, ...]
    padding: float


def node_in(individual: Individual, nodes: int, node: int) -> int:
    """Return which node of a stack is a node of an individual: outputs stand together.

    Args:
        individual: whose node.
        nodes: how many the stack has.
        node: of the individual.

    Example:
        >>> [node_in(Individual(widths=(4, 8, 2)), 5, node) for node in range(3)]
        [0, 1, 4]
    """
    return nodes - 1 if node == len(individual.widths) - 1 else node


def plan_buckets(individuals: Sequence[Individual], limit: float = PADDING) -> list[Bucket]:
    """Put individuals into as few stacks as a simple search finds.

    They come by optimiser, depth and widths to the next power of two, and each goes where it makes
    the least padding: into a stack that stays below the limit, or into one of its own.

    Args:
        individuals: the population; inputs are equally wide, and so are outputs.
        limit: what the padding of each stack stays below.

    Returns:
        Stacks that hold each individual once. They do not depend on the order of the population,
        but for the order of individuals that are alike.

    Example:
        >>> widths = [(64, 32, 10), (64, 30, 10), (64, 200, 10)]
        >>> population = [Individual(widths=one) for one in widths]
        >>> [(one.members, one.widths) for one in plan_buckets(population)]
        [((1, 0), (64, 32, 10)), ((2,), (64, 200, 10))]
    """
    open_: list[_Open] = []
    for index in sorted(range(len(individuals)), key=lambda one: _likeness(individuals[one])):
        individual = individuals[index]
        best, least = None, limit
        for place, stack in enumerate(open_):
            padding = stack.padding_with(individual)
            if padding < least:
                best, least = place, padding
        if best is None:
            open_.append(_Open.of(index, individual))
        else:
            open_[best] = open_[best].joined(index, individual)
    return [one.closed(individuals) for one in open_]


@dataclass(frozen=True, slots=True)
class _Open:
    """A stack that others may join."""

    members: tuple[int, ...]
    optimiser: str
    widths: tuple[int, ...]
    links: frozenset[Link]
    macs: int

    @classmethod
    def of(cls, index: int, individual: Individual) -> "_Open":
        links = frozenset(individual.edges)
        return cls(
            (index,),
            individual.optimiser,
            individual.widths,
            links,
            _macs(individual.widths, links),
        )

    def padding_with(self, individual: Individual) -> float:
        """Return the padding if an individual joins; all of it if it cannot."""
        if self.optimiser != individual.optimiser:
            return 1.0
        widths, links = _union(self, individual)
        cost = (len(self.members) + 1) * _macs(widths, links)
        return 1 - (self.macs + individual.macs) / cost

    def joined(self, index: int, individual: Individual) -> "_Open":
        widths, links = _union(self, individual)
        macs = self.macs + individual.macs
        return _Open((*self.members, index), self.optimiser, widths, links, macs)

    def closed(self, individuals: Sequence[Individual]) -> Bucket:
        members = sorted(self.members, key=lambda index: individuals[index].activation)
        links = tuple(sorted(self.links, key=lambda link: (link[1], link[0])))
        padding = 1 - self.macs / (len(members) * _macs(self.widths, self.links))
        return Bucket(tuple(members), self.widths, links, padding)


def _union(stack: _Open, individual: Individual) -> tuple[tuple[int, ...], frozenset[Link]]:
    """Return the widths and links that hold a stack and an individual."""
    nodes = max(len(stack.widths), len(individual.widths))
    widths = [
        max(one, other)
        for one, other in zip(
            _stretched(stack.widths, nodes), _stretched(individual.widths, nodes), strict=True
        )
    ]
    links = _moved(stack.links, len(stack.widths), nodes) | _moved(
        frozenset(individual.edges), len(individual.widths), nodes
    )
    return tuple(widths), links


def _stretched(widths: tuple[int, ...], nodes: int) -> tuple[int, ...]:
    """Return widths with nodes of no neurons before the output."""
    return (*widths[:-1], *[0] * (nodes - len(widths)), widths[-1])


def _moved(links: frozenset[Link], nodes: int, to: int) -> frozenset[Link]:
    """Return links that led to the last of some nodes, and now lead to the last of more."""
    if nodes == to:
        return links
    return frozenset((start, to - 1 if end == nodes - 1 else end) for start, end in links)


def _macs(widths: tuple[int, ...], links: frozenset[Link]) -> int:
    return sum(widths[start] * widths[end] for start, end in links)


def _likeness(individual: Individual) -> tuple[object, ...]:
    powers = tuple((width - 1).bit_length() for width in individual.widths)
    return (
        individual.optimiser,
        len(individual.widths),
        powers,
        individual.edges,
        individual.widths,
        individual.activation,
        individual.seed,
    )
