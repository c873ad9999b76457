"""Which live node needs and reads what, with sets of nodes as integers.

Bit `n` of a set stands for the live node `n` in topological order. What is done with a whole set is
then one operation on an integer, which makes listing thousands of places quick.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from evener.network.graph import live_nodes, reads
from evener.network.state import State, holding, names_of


@dataclass(frozen=True, eq=False)
class Flow:
    """The live nodes of a graph, and what flows between them.

    Attributes:
        nodes: the live nodes, in topological order.
        values: what depends on an input and is read, in the order in which it comes to life.
        maker: the node that makes each value; -1 for an input.
        readers: the set of nodes that read each value; what the graph answers is also read by the
            bit after the last node, which no set of nodes ever holds.
        before: for each node the set of all nodes that must run before it.
        held: for each state the set of nodes from the first that touches it to the last: no place
            parts them, and what they read and make of it crosses none.
    """

    nodes: tuple[ir.Node, ...]
    values: tuple[ir.Value, ...]
    maker: dict[ir.Value, int]
    readers: dict[ir.Value, int]
    before: tuple[int, ...]
    held: tuple[int, ...] = ()

    @property
    def everything(self) -> int:
        """The set of all nodes."""
        return (1 << len(self.nodes)) - 1

    def crossing(self, done: int, values: Iterable[ir.Value] | None = None) -> tuple[ir.Value, ...]:
        """Return the values that are there once a set of nodes is done, and that are still read.

        Args:
            done: a downset: it holds whatever must run before any of its nodes.
            values: those to look among; all if None.
        """
        return tuple(
            value
            for value in (self.values if values is None else values)
            if self.readers[value] & ~done
            and (self.maker[value] < 0 or done >> self.maker[value] & 1)
        )


def flow_of(graph: ir.Graph, states: Sequence[State] = ()) -> Flow:
    """Follow the values of a graph from its inputs to what it answers.

    Args:
        graph: the graph.
        states: what of it goes from frame to frame.
    """
    nodes = live_nodes(graph)
    kept = names_of(states)
    maker = dict.fromkeys(graph.inputs, -1)
    for index, node in enumerate(nodes):
        maker |= dict.fromkeys(node.outputs, index)
    readers = dict.fromkeys(maker, 0)
    before: list[int] = []
    for index, node in enumerate(nodes):
        needed = 0
        for value in reads(node):
            if value in maker:
                readers[value] |= 1 << index
                if maker[value] >= 0:
                    needed |= before[maker[value]] | 1 << maker[value]
        before.append(needed)
    for value in graph.outputs:
        if value in readers and value.name not in kept:
            readers[value] |= 1 << len(nodes)
    old = {value for value in graph.inputs if value.name in kept}
    values = tuple(value for value in maker if readers[value] and value not in old)
    held = tuple(sum(1 << number for number in span) for span in holding(graph, states))
    return Flow(nodes, values, maker, readers, tuple(before), held)


def members(nodes: int) -> tuple[int, ...]:
    """List the numbers of the nodes in a set, ascending.

    Example:
        >>> members(0b1011)
        (0, 1, 3)
    """
    return tuple(n for n in range(nodes.bit_length()) if nodes >> n & 1)
