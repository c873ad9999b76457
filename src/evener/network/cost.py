"""What a node costs: multiply-accumulates from its shapes, and bytes of the weights it reads."""

from collections.abc import Iterable
from math import prod
from typing import Final

import onnx_ir as ir

from evener.errors import InvalidNetworkError
from evener.network.graph import reads, static_shape

# Position of the two factors among the inputs of each operator that multiplies and accumulates.
_FACTORS: Final[dict[str, tuple[int, int]]] = {
    "Conv": (0, 1),
    "ConvInteger": (0, 1),
    "QLinearConv": (0, 3),
    "ConvTranspose": (0, 1),
    "Gemm": (0, 1),
    "MatMul": (0, 1),
    "MatMulInteger": (0, 1),
    "QLinearMatMul": (0, 3),
}
CONVOLUTIONS: Final = frozenset({"Conv", "ConvInteger", "QLinearConv", "ConvTranspose"})


def is_main(node: ir.Node) -> bool:
    """Whether a node is one that cuts are placed before: a convolution or a product with weights.

    A product of two values that both depend on the input, as in attention, is none.
    """
    if node.domain or node.op_type not in _FACTORS:
        return False
    if node.op_type in CONVOLUTIONS:
        return True
    # The second factor is mostly the weights, and the first leads back to the input.
    first, second = _FACTORS[node.op_type]
    return _is_constant(node.inputs[second], {}) or _is_constant(node.inputs[first], {})


def macs(node: ir.Node) -> int:
    """Count the multiply-accumulates of a node for one frame; 0 for one that is not a product.

    Raises:
        InvalidNetworkError: a shape that they depend on is not known.
    """
    if node.domain or node.op_type not in _FACTORS:
        return 0
    first, second = (_shape(node, node.inputs[position]) for position in _FACTORS[node.op_type])
    out = _shape(node, node.outputs[0])
    if node.op_type == "ConvTranspose":
        return prod(first) * prod(second[1:])
    if node.op_type in CONVOLUTIONS:
        return prod(out) * prod(second[1:])
    if node.op_type == "Gemm" and node.attributes.get_int("transA"):
        return prod(out) * first[0]
    return prod(out) * first[-1]


def weights_bytes(nodes: Iterable[ir.Node]) -> int:
    """Add up the bytes of the constants that some nodes read, each counted once.

    Constants inside the bodies of If, Loop and Scan are not counted.
    """
    seen: set[ir.Value] = set()
    total = 0
    known: dict[ir.Value, bool] = {}
    waiting = [value for node in nodes for value in reads(node)]
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.const_value is not None:
            total += value.const_value.nbytes
        elif _is_constant(value, known):
            node = value.producer()
            waiting.extend(reads(node) if node else ())
    return total


def _is_constant(value: ir.Value | None, known: dict[ir.Value, bool]) -> bool:
    """Whether a value is a weight, or made from weights only.

    Args:
        value: which; None is no value.
        known: of values that were asked for, as long as the graph does not change.
    """
    if value is None or value.is_initializer():
        return value is not None
    if value not in known:
        node = value.producer()
        known[value] = node is not None and all(_is_constant(one, known) for one in reads(node))
    return known[value]


def _shape(node: ir.Node, value: ir.Value | None) -> tuple[int, ...]:
    shape = None if value is None else static_shape(value)
    if shape is None:
        raise InvalidNetworkError(
            f"the cost of node '{node.name}' ({node.op_type}) depends on the data: "
            f"'{'' if value is None else value.name}' has no static shape",
            node=node.name or "",
        )
    return shape
