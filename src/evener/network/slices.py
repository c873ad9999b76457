"""Slice heavy layers by what they answer, so that a cut can go through one.

A convolution or a product with weights becomes several of the same input, each with some of the
weights' outputs, whose answers are joined one after the other: between two of them only the input
and what is joined so far are alive. Where one layer takes a quarter of a network's time, no balance
of stages is had while it stays whole.

A group of a convolution reads only its own channels; a slice lies within one group and begins with
these channels cut out. What runs in one segment is made one layer again by `rejoin.py`.
"""

from dataclasses import dataclass
from itertools import chain, count, pairwise
from typing import Any, Final

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from evener.network.cost import macs
from evener.network.graph import live_nodes, static_shape

SHARE: Final = 1 / 32
"""Of a network's work: what a slice has at least."""
LEAST_WORK: Final = 8_000_000
"""What a slice has at least: some tenths of a millisecond, several times what a hand-off costs."""
LEAST_OUTPUTS: Final = 32
MOST_SLICES: Final = 8

KEY: Final = "evener.slice"
"""Under which a node's `meta` holds its `Slice`."""
_WEIGHT: Final = 8  # multiply-accumulates that take as long as reading a weight from memory
_STEP: Final = 16  # outputs that kernels compute at once
_SLICED: Final = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.DOUBLE})
_OPSET_OF_INPUTS: Final = 10  # from which on Slice reads where to cut instead of having it

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer that was sliced.

    Attributes:
        node: it is in no graph any more, and what it read is taken from it.
        x: what it reads that is not known.
        constants: what it reads that is: the weights, and what is added.
        base: what names of its slices begin with.
        ends: how many outputs there are up to each slice, from none to all.
        groups: of a convolution.
        channels: that a group of a convolution reads.
        weights_axis: along which its outputs lie in the weights.
        output_axis: along which they lie in what it answers.
    """

    node: ir.Node
    x: ir.Value
    constants: tuple[ir.Value | None, ...]
    base: str
    ends: tuple[int, ...]
    groups: int
    channels: int
    weights_axis: int
    output_axis: int

    @property
    def slices(self) -> int:
        """How many slices there are."""
        return len(self.ends) - 1

    def factors(self, start: int, end: int) -> list[Array | None]:
        """Return what some outputs need of each constant that it reads; None for all of it."""
        found: list[Array | None] = []
        for position, value in enumerate(self.constants):
            tensor = None if value is None else value.const_value
            axis = self.weights_axis if not position else -1
            if tensor is None or not tensor.shape.dims or tensor.shape[axis] != self.ends[-1]:
                found.append(None)  # the same for every output
                continue
            array = tensor.numpy()
            found.append(array[start:end] if axis == 0 else array[..., start:end])
        return found


@dataclass(frozen=True)
class Slice:
    """Where a node belongs.

    Attributes:
        layer: to which.
        number: of the slice, from 0.
        joins: whether it joins the slice to those before it.
    """

    layer: Layer
    number: int
    joins: bool = False


def slice_layers(
    model: ir.Model,
    *,
    share: float = SHARE,
    least_work: float = LEAST_WORK,
    least_outputs: int = LEAST_OUTPUTS,
    most: int = MOST_SLICES,
) -> int:
    """Slice every layer that is heavy enough for two slices, in place.

    Taken are Conv, Gemm and MatMul nodes whose weights are a constant that nothing else reads. The
    value that a layer answers keeps its name; the last slice joins it.

    Args:
        model: one in normal form, its shapes settled.
        share: of the network's work that a slice has at least.
        least_work: that a slice has at least, in multiply-accumulates.
        least_outputs: of a slice.
        most: slices of a layer.

    Returns:
        How many layers were sliced.

    Raises:
        InvalidNetworkError: the cost of a node depends on the data.
    """
    graph = model.graph
    work = {node: _work(node) for node in live_nodes(graph)}
    least = max(least_work, share * sum(work.values()))
    sliced = 0
    for node, own in work.items():
        weights, x = _weights(node), node.inputs[0]
        if weights is None or x is None:
            continue
        axis = 1 if node.op_type != "Conv" and not node.attributes.get_int("transB") else 0
        outputs = weights.shape[axis]
        slices = int(min(most, own // least, outputs // least_outputs))
        groups = (node.attributes.get_int("group") or 1) if node.op_type == "Conv" else 1
        slices -= slices % groups
        if slices > 1 and outputs % groups == 0:
            shape = static_shape(node.outputs[0]) or ()
            layer = Layer(
                node=node,
                x=x,
                constants=tuple(node.inputs[1:]),
                base=_free_name(graph, node),
                ends=_ends(outputs, slices, groups),
                groups=groups,
                channels=weights.shape[1],
                weights_axis=axis,
                output_axis=1 if node.op_type == "Conv" else len(shape) - 1,
            )
            _slice(graph, layer, model.opset_imports[""])
            sliced += 1
    return sliced


def like(whole: ir.Value, name: str, layer: Layer, outputs: int) -> ir.Value:
    """Return a value as a layer answers, but with so many outputs."""
    shape = list(static_shape(whole) or ())
    shape[layer.output_axis] = outputs
    return ir.Value(name=name, type=whole.type, shape=ir.Shape(shape))


def constant(array: Array, name: str) -> ir.Value:
    """Return a value that is known."""
    value = ir.Value(name=name, const_value=ir.tensor(array, name=name))
    value.shape = ir.Shape(array.shape)
    value.dtype = ir.DataType.from_numpy(array.dtype)
    return value


def _work(node: ir.Node) -> int:
    weights = _weights(node)
    return macs(node) + (0 if weights is None else _WEIGHT * weights.size)


def _weights(node: ir.Node) -> Array | None:
    """Return the weights of a layer that can be sliced, else None."""
    if node.domain or node.op_type not in ("Conv", "Gemm", "MatMul"):
        return None
    factor, output = node.inputs[1], node.outputs[0]
    if (
        factor is None
        or factor.const_value is None
        or factor.dtype not in _SLICED
        or (len(factor.const_value.shape) != 2 and node.op_type != "Conv")
        or len(factor.uses()) > 1
        or factor.is_graph_output()
        or not static_shape(output)
        or not all(one is None or one.const_value is not None for one in node.inputs[2:])
    ):
        return None
    return factor.const_value.numpy()


def _free_name(graph: ir.Graph, node: ir.Node) -> str:
    """Return the name of a node, or the like if something else has names below it."""
    taken = {*graph.initializers, *(value.name or "" for value in graph.inputs)}
    for one in ir.traversal.RecursiveGraphIterator(graph):
        taken |= {one.name or "", *(value.name or "" for value in one.outputs)}
    names = (f"{node.name}{more}" for more in chain([""], map(str, count(2))))
    return next(name for name in names if not any(one.startswith(f"{name}/") for one in taken))


def _slice(graph: ir.Graph, layer: Layer, opset: int) -> None:
    whole = layer.node.outputs[0]
    nodes: list[ir.Node] = []
    joined: ir.Value | None = None
    for number, (start, end) in enumerate(pairwise(layer.ends)):
        read, more = _channels(graph, layer, number, opset)
        name = f"{layer.base}/slice{number}"
        product = ir.Node(
            "",
            layer.node.op_type,
            [read, *_factors(graph, layer, number)],
            attributes=_attributes(layer),
            outputs=[like(whole, name, layer, end - start)],
            name=name,
        )
        nodes += [*more, product]
        product.meta[KEY] = Slice(layer, number)
        if joined is not None:
            name = f"{layer.base}/joined{number}"
            join = ir.Node(
                "",
                "Concat",
                [joined, product.outputs[0]],
                attributes=[ir.AttrInt64("axis", layer.output_axis)],
                outputs=[like(whole, name, layer, end)],
                name=name,
            )
            join.meta[KEY] = Slice(layer, number, joins=True)
            nodes.append(join)
        joined = nodes[-1].outputs[0]
    ir.convenience.replace_nodes_and_values(
        graph, layer.node, [layer.node], nodes, [whole], [nodes[-1].outputs[0]]
    )
    for value in dict.fromkeys(layer.constants):
        if value is not None and not value.uses() and not value.is_graph_output():
            graph.initializers.pop(value.name or "", None)


def _ends(outputs: int, slices: int, groups: int) -> tuple[int, ...]:
    step = _STEP if outputs // slices >= 2 * _STEP and groups == 1 else 1
    inner = (step * round(outputs * at / slices / step) for at in range(1, slices))
    return (0, *inner, outputs)


def _channels(
    graph: ir.Graph, layer: Layer, number: int, opset: int
) -> tuple[ir.Value, list[ir.Node]]:
    """Return what a slice reads, and the node that cuts it out for one of several groups."""
    x, channels = layer.x, layer.channels
    if layer.groups == 1:
        return x, []
    group = number * layer.groups // layer.slices
    name = f"{layer.base}/channels{number}"
    where = {"starts": group * channels, "ends": (group + 1) * channels, "axes": 1}
    shape = list(static_shape(x) or ())
    shape[1] = channels
    given = [_held(graph, np.array([at]), f"{name}/{what}") for what, at in where.items()]
    by_inputs = opset >= _OPSET_OF_INPUTS
    node = ir.Node(
        "",
        "Slice",
        [x, *given] if by_inputs else [x],
        attributes=[] if by_inputs else [ir.AttrInt64s(what, [at]) for what, at in where.items()],
        outputs=[ir.Value(name=name, type=x.type, shape=ir.Shape(shape))],
        name=name,
    )
    node.meta[KEY] = Slice(layer, number)
    return node.outputs[0], [node]


def _factors(graph: ir.Graph, layer: Layer, number: int) -> list[ir.Value | None]:
    """Return what a slice reads beside its input: its weights, and what is added."""
    found = layer.factors(layer.ends[number], layer.ends[number + 1])
    return [
        value if array is None else _held(graph, array, f"{layer.base}/{what}{number}")
        for what, value, array in zip(("weights", "bias"), layer.constants, found, strict=False)
    ]


def _attributes(layer: Layer) -> list[ir.Attr]:
    attributes = dict(layer.node.attributes)
    if layer.groups > 1:
        attributes["group"] = ir.AttrInt64("group", 1)
    return list(attributes.values())


def _held(graph: ir.Graph, array: Array, name: str) -> ir.Value:
    value = constant(array, name)
    graph.register_initializer(value)
    return value
