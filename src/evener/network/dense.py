"""Part large dense layers by what they answer, so that a cut can go through one.

A product with weights of many outputs becomes several products of the same input, each with some of
the weights' columns, whose answers are joined one after the other: between two of them only the
input and what is joined so far are alive. A dense layer behind convolutions may take a quarter of a
network's time, and no balance of stages is had while it stays whole.

Each output is the same sum of the same terms. A runtime may add them in another order, so answers
differ from those of the layer as a whole by rounding.
"""

from collections.abc import Sequence
from itertools import chain, count, pairwise
from typing import Any, Final

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from evener.network.graph import static_shape

PART_WEIGHTS: Final = 4 * 2**20
"""Weights of a part: about a millisecond of reading them from memory, far above a hand-off."""
MOST_PARTS: Final = 8

_PARTED: Final = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.DOUBLE})


def part_dense_layers(
    graph: ir.Graph, *, part_weights: int = PART_WEIGHTS, most_parts: int = MOST_PARTS
) -> int:
    """Part every dense layer that has weights for two parts or more, in place.

    Taken are Gemm and MatMul nodes whose second factor is a constant of two dimensions that nothing
    else reads. The value that a layer answers keeps its name; the last part joins it.

    Args:
        graph: one in normal form, its shapes settled.
        part_weights: weights that a part has at least, but for the last.
        most_parts: how many parts there are at most.

    Returns:
        How many layers were parted.
    """
    parted = 0
    for node in tuple(graph):
        weights = _weights(node)
        if weights is None:
            continue
        axis = _output_axis(node)
        parts = min(most_parts, weights.size // part_weights, weights.shape[axis])
        if parts > 1:
            _part(graph, node, weights, parts, _free_name(graph, node))
            parted += 1
    return parted


def _weights(node: ir.Node) -> NDArray[Any] | None:
    """Return the weights of a dense layer that can be parted, else None."""
    if node.domain or node.op_type not in ("Gemm", "MatMul"):
        return None
    factor = node.inputs[1]
    output = node.outputs[0]
    if (
        factor is None
        or factor.const_value is None
        or factor.dtype not in _PARTED
        or len(factor.const_value.shape) != 2
        or len(factor.uses()) > 1
        or factor.is_graph_output()
        or not static_shape(output)
        or output.dtype is None
        or not all(one is None or one.const_value is not None for one in node.inputs[2:])
    ):
        return None
    return factor.const_value.numpy()


def _output_axis(node: ir.Node) -> int:
    """Return along which dimension of the weights a layer's outputs lie."""
    return 0 if node.op_type == "Gemm" and node.attributes.get_int("transB") else 1


def _free_name(graph: ir.Graph, node: ir.Node) -> str:
    """Return the name of a node, or the like if something else has names below it."""
    taken = {*graph.initializers, *(value.name or "" for value in graph.inputs)}
    for one in ir.traversal.RecursiveGraphIterator(graph):
        taken |= {one.name or "", *(value.name or "" for value in one.outputs)}
    names = (f"{node.name}{more}" for more in chain([""], map(str, count(2))))
    return next(name for name in names if not any(one.startswith(f"{name}/") for one in taken))


def _part(graph: ir.Graph, node: ir.Node, weights: NDArray[Any], parts: int, name: str) -> None:
    axis = _output_axis(node)
    whole = node.outputs[0]
    width = weights.shape[axis]
    ends = [width * part // parts for part in range(parts + 1)]
    biases = node.inputs[2:]
    nodes: list[ir.Node] = []
    joined: ir.Value | None = None
    for part, (start, end) in enumerate(pairwise(ends)):
        columns = slice(start, end)
        factor = weights[columns] if axis == 0 else weights[:, columns]
        constants = [
            _constant(graph, factor, f"{name}/weights{part}"),
            *(_bias(graph, value, width, columns, f"{name}/bias{part}") for value in biases),
        ]
        product = ir.Node(
            "",
            node.op_type,
            [node.inputs[0], *constants],
            attributes=list(node.attributes.values()),
            outputs=[_like(whole, f"{name}/part{part}", end - start)],
            name=f"{name}/part{part}",
        )
        nodes.append(product)
        if joined is not None:
            join = ir.Node(
                "",
                "Concat",
                [joined, product.outputs[0]],
                attributes=[ir.AttrInt64("axis", len(_shape(whole)) - 1)],
                outputs=[_like(whole, f"{name}/joined{part}", end)],
                name=f"{name}/joined{part}",
            )
            nodes.append(join)
        joined = nodes[-1].outputs[0]
    old = [value for value in node.inputs[1:] if value is not None]
    ir.convenience.replace_nodes_and_values(
        graph, node, [node], nodes, [whole], [nodes[-1].outputs[0]]
    )
    for value in dict.fromkeys(old):
        if not value.uses() and not value.is_graph_output():
            graph.initializers.pop(value.name or "", None)


def _bias(
    graph: ir.Graph, value: ir.Value | None, width: int, columns: slice, name: str
) -> ir.Value | None:
    """Return what of a Gemm's third input belongs to some columns of `width`."""
    tensor = None if value is None else value.const_value
    if tensor is None or not tensor.shape.dims or tensor.shape[-1] != width:
        return value  # the same for every column
    return _constant(graph, tensor.numpy()[..., columns], name)


def _constant(graph: ir.Graph, array: NDArray[Any], name: str) -> ir.Value:
    array = np.ascontiguousarray(array)
    constant = ir.Value(name=name, const_value=ir.tensor(array, name=name))
    constant.shape = ir.Shape(array.shape)
    constant.dtype = ir.DataType.from_numpy(array.dtype)
    graph.register_initializer(constant)
    return constant


def _like(whole: ir.Value, name: str, width: int) -> ir.Value:
    """Return a value as a layer answers, but narrower."""
    return ir.Value(name=name, type=whole.type, shape=ir.Shape([*_shape(whole)[:-1], width]))


def _shape(value: ir.Value) -> Sequence[int]:
    return static_shape(value) or ()
