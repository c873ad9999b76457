"""The binary evaluation tree of a network: what is computed from what, in pairs.

The paper translates its binary matrix to such a tree and says no more of it. Here a node of the
tree is a connection. Its left child is the first connection by which its source is computed, its
right child the next connection that adds to the same target; so each has two children at most,
however many connections a layer has (D. E. Knuth, The Art of Computer Programming, 1968, 2.3.2).
A layer that several others use is expanded where it is first met.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from evener.artifacts.layer_graph import LayerGraph


@dataclass(frozen=True, slots=True)
class Connection:
    """A node of the tree.

    Attributes:
        start: the node of the network whose values are passed on.
        end: the node that gets them.
        source: how `start` is computed; None for the input, and for what is computed elsewhere.
        next: what else `end` adds up; None if that is all.
    """

    start: int
    end: int
    source: "Connection | None" = None
    next: "Connection | None" = None


def evaluation_tree(graph: LayerGraph) -> Connection | None:
    """Return the tree of a network's output; None if nothing leads to it.

    Args:
        graph: the network; what does not lead to its output is no part of the tree.
    """
    return _computing(graph, graph.output, set())


def in_order(tree: Connection | None) -> Iterator[tuple[int, int]]:
    """Yield the connections as they are evaluated, each behind all that its source needs.

    Example:
        >>> graph = LayerGraph(widths=(8, 8), links=((0, 1), (0, 2), (1, 2), (1, 3), (2, 3)))
        >>> list(in_order(evaluation_tree(graph)))
        [(0, 1), (1, 3), (0, 2), (1, 2), (2, 3)]
    """
    while tree is not None:
        yield from in_order(tree.source)
        yield tree.start, tree.end
        tree = tree.next


def _computing(graph: LayerGraph, target: int, met: set[int]) -> Connection | None:
    """Return the connections that a node adds up, the first in front."""
    if target in met:
        return None
    met.add(target)
    # Sources are expanded in ascending order, so that whatever is met twice was computed before.
    expanded = [
        (start, _computing(graph, start, met)) for start, end in graph.links if end == target
    ]
    tree: Connection | None = None
    for start, source in reversed(expanded):
        tree = Connection(start, target, source, tree)
    return tree
