"""Which values are alive where: the view of a graph that cutting and splitting need."""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

import onnx_ir as ir

from evener.artifacts.tensor import Tensor

HANDED_OVER: Final = frozenset(
    {
        ir.DataType.FLOAT,
        ir.DataType.FLOAT16,
        ir.DataType.DOUBLE,
        ir.DataType.BOOL,
        ir.DataType.INT8,
        ir.DataType.INT16,
        ir.DataType.INT32,
        ir.DataType.INT64,
        ir.DataType.UINT8,
        ir.DataType.UINT16,
        ir.DataType.UINT32,
        ir.DataType.UINT64,
    }
)
"""Element types that numpy and every runtime share; only such tensors cross a cut."""


def reads(node: ir.Node) -> Iterator[ir.Value]:
    """List what a node reads: its inputs, and what its If, Loop or Scan bodies capture."""
    yield from (value for value in node.inputs if value is not None)
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH:
            yield from _captured(attribute.as_graph())


def live_nodes(graph: ir.Graph) -> tuple[ir.Node, ...]:
    """List the nodes whose answer depends on an input, in order; the others are constants."""
    alive: set[ir.Value] = set(graph.inputs)
    nodes = []
    for node in graph:
        if any(value in alive for value in reads(node)):
            alive.update(node.outputs)
            nodes.append(node)
    return tuple(nodes)


def crossings(graph: ir.Graph, *, kept: Collection[str] = ()) -> tuple[tuple[ir.Value, ...], ...]:
    """For each live node, the values that are alive after it, in the order they came to life.

    A value is alive if it depends on an input and a later node reads it or the graph answers it.
    A lone value is an articulation: every path from input to output passes through it.

    Args:
        graph: the graph.
        kept: names of inputs and outputs that stay where they are read and made: states.
    """
    nodes = live_nodes(graph)
    last_read = {value: len(nodes) for value in graph.outputs if value.name not in kept}
    for index, node in enumerate(nodes):
        for value in reads(node):
            last_read[value] = max(index, last_read.get(value, -1))
    alive = {value: None for value in graph.inputs if value in last_read and value.name not in kept}
    after = []
    for index, node in enumerate(nodes):
        alive |= {value: None for value in node.outputs if value in last_read}
        alive = {value: None for value in alive if last_read[value] > index}
        after.append(tuple(alive))
    return tuple(after)


def between(
    graph: ir.Graph, inputs: Collection[ir.Value], outputs: Iterable[ir.Value]
) -> tuple[ir.Node, ...]:
    """List the nodes that make `outputs` from `inputs` and constants, in order."""
    found: set[ir.Node] = set()
    waiting = [value for value in outputs if value not in inputs]
    while waiting:
        node = waiting.pop().producer()
        if node is not None and node not in found:
            found.add(node)
            waiting.extend(value for value in reads(node) if value not in inputs)
    return tuple(node for node in graph if node in found)


def initialisers(
    nodes: Iterable[ir.Node], outputs: Iterable[ir.Value] = ()
) -> tuple[ir.Value, ...]:
    """List the constants that some nodes read or that are outputs, in order of first use."""
    found = {value: None for node in nodes for value in reads(node) if _is_known(value)}
    return tuple(found | {value: None for value in outputs if _is_known(value)})


def _is_known(value: ir.Value) -> bool:
    return value.const_value is not None and value.producer() is None


def static_shape(value: ir.Value) -> tuple[int, ...] | None:
    """Return a value's shape if all of it is known, else None."""
    if value.shape is None or not value.shape.is_static():
        return None
    return value.shape.numpy()


def as_tensor(value: ir.Value) -> Tensor | None:
    """Describe a value that can be handed over as a numpy array, else None."""
    shape = static_shape(value)
    if shape is None or value.dtype is None or not isinstance(value.type, ir.TensorType):
        return None
    if value.dtype not in HANDED_OVER:
        return None
    return Tensor(name=value.name or "", shape=shape, dtype=value.dtype.numpy().name)


def _captured(body: ir.Graph) -> Iterator[ir.Value]:
    inside: set[ir.Value] = set(body.inputs) | set(body.initializers.values())
    for node in body:
        inside.update(node.outputs)
    for node in body:
        yield from (value for value in reads(node) if value not in inside)
    yield from (value for value in body.outputs if value not in inside)
