"""Compute what does not depend on any input: constants, and shapes once they are known."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np
import onnx
import onnx_ir as ir
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

from evener.network.graph import static_shape

# fmt: off
FOLDED: Final = frozenset({
    "Add", "And", "Cast", "Ceil", "Concat", "ConstantOfShape", "CumSum", "Div", "Equal",
    "Expand", "Flatten", "Floor", "Gather", "Greater", "GreaterOrEqual", "Identity", "Less",
    "LessOrEqual", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Pow", "Range",
    "Reciprocal", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Round",
    "ScatterND", "Shape", "Size", "Slice", "Sqrt", "Squeeze", "Sub", "Tile", "Transpose",
    "Unsqueeze", "Where",
})
# fmt: on
"""Operators of which shape arithmetic and stored weights are made.

Quantised weights are left alone: DequantizeLinear would quadruple them.
"""
LARGEST_FOLD_BYTES: Final = 2**31 - 1
_READS_SHAPE_ONLY: Final = frozenset({"Shape", "Size"})

Array = NDArray[Any]


def fold_constants(model: ir.Model) -> bool:
    """Replace every node of the folded operators whose value is known by that value, in place.

    A node that the reference implementation cannot compute stays a node.

    Returns:
        Whether anything was replaced.
    """
    graph = model.graph
    answered = set(graph.outputs)
    folded = False
    for node in tuple(graph):
        if node.domain or node.op_type not in FOLDED or len(node.outputs) != 1:
            continue
        output = node.outputs[0]
        if output in answered or _bytes(output) > LARGEST_FOLD_BYTES:
            continue
        feeds = _known_inputs(node)
        if feeds is None:
            continue
        answers = evaluate(node, feeds, model.opset_imports)
        if answers is None:
            continue
        array = np.asarray(answers[0])
        name = output.name or ""
        constant = ir.Value(name=name, const_value=ir.tensor(array, name=name))
        constant.shape = ir.Shape(array.shape)
        constant.dtype = ir.DataType.from_numpy(array.dtype)
        output.replace_all_uses_with(constant)
        graph.remove(node, safe=True)
        graph.register_initializer(constant)
        folded = True
    return folded


def evaluate(
    node: ir.Node, feeds: Mapping[str, Array], opsets: Mapping[str, int]
) -> Sequence[object] | None:
    """Compute one node with the ONNX reference implementation.

    Args:
        node: one without If, Loop or Scan bodies.
        feeds: value of each input, by name.
        opsets: version by domain.

    Returns:
        Its outputs, or None if the reference cannot compute it.
    """
    # A lone NodeProto would be computed by the newest opset, whatever opsets are given.
    function = onnx.helper.make_function(
        "evener",
        "one_node",
        list(dict.fromkeys(value.name or "" for value in node.inputs if value)),
        [value.name or "" for value in node.outputs],
        [ir.serde.serialize_node(node)],
        [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()],
    )
    try:
        answers = ReferenceEvaluator(function).run(None, dict(feeds), attributes={})
    except Exception:  # noqa: BLE001 (the reference lacks operators and raises what numpy raises)
        return None
    return tuple(answers)


def _known_inputs(node: ir.Node) -> dict[str, Array] | None:
    """Return the value of every input, or None if one is unknown or does not matter."""
    feeds = {}
    for value in node.inputs:
        if value is None:
            continue
        if value.const_value is not None:
            feeds[value.name or ""] = value.const_value.numpy()
            continue
        shape = static_shape(value)
        if node.op_type not in _READS_SHAPE_ONLY or shape is None:
            return None
        feeds[value.name or ""] = np.broadcast_to(np.zeros((), np.float32), shape)
    return feeds


def _bytes(value: ir.Value) -> int:
    shape = static_shape(value)
    if shape is None or value.dtype is None:
        return 0
    return prod(shape) * 8
