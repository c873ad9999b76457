"""Count what the time of a block depends on, for cost models.

Which features there are, and how well they predict, was tried on the published tables of two
boards; see `docs/boards.md`. Convolutions are told apart by the algorithm that libraries for Arm
processors choose: Winograd's for 3x3 with stride 1 (Lavin and Gray, arXiv 1509.09308), a plain
matrix product for 1x1, a kernel of its own for depthwise, and a matrix product of unrolled patches
for the rest.
"""

from collections.abc import Iterable, Sequence
from math import prod
from typing import Final

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from evener.artifacts.board_file import FEATURES
from evener.network.blocks import Blocks
from evener.network.cost import CONVOLUTIONS, is_main, macs, weights_bytes
from evener.network.graph import static_shape
from evener.network.model import Network

_GIGA: Final = 1e9
_MEGA: Final = 1e6
_CHANNELS: Final = 2  # axes of a kernel that are no space: output and input channels
_ROWS: Final = 2  # axes of the indices by which shards gather


def block_features(network: Network, blocks: Blocks) -> NDArray[np.float64]:
    """Count the features of each block.

    * `dense_gmac`: 10^9 multiply-accumulates of convolutions that are none of the next three;
    * `winograd_gmac`: of those with a 3x3 kernel and stride 1;
    * `pointwise_gmac`: of those with a 1x1 kernel;
    * `depthwise_gmac`: of those in which each group has one input channel;
    * `product_gmac`: of Gemm and MatMul;
    * `conv_weights_mb`, `conv_in_mb`, `conv_out_mb`: 10^6 bytes that convolutions read and write;
    * `lrn_mb`: 10^6 bytes that local response normalisations read;
    * `layers`: convolutions and products with weights;
    * `gathers`: where each of several shards takes what it sees, as layers that are divided do.

    Other operators count for nothing; what they cost is in the rates of the layers around them.

    Args:
        network: what was cut.
        blocks: its blocks, merged or not.

    Returns:
        An array of shape (blocks, features), the features in the order of `FEATURES`.

    Raises:
        InvalidNetworkError: the cost of a node depends on the data.

    Example:
        >>> from evener.network.blocks import cut_into_blocks
        >>> from evener.network.model import load_network
        >>> network = load_network("squeezenet")
        >>> found = block_features(network, cut_into_blocks(network, "paper"))
        >>> found.shape, found[:, FEATURES.index("layers")].sum()
        ((19, 11), np.float64(26.0))
    """
    nodes = {node.name: node for node in network.model.graph}
    return np.array([_count(nodes[name] for name in names) for names in blocks.nodes])


def _count(nodes: Iterable[ir.Node]) -> list[float]:
    found = dict.fromkeys(FEATURES, 0.0)
    for node in nodes:
        found["layers"] += is_main(node)
        found["gathers"] += _is_of_shards(node)
        if not node.domain and node.op_type in CONVOLUTIONS:
            found[_kind(node)] += macs(node) / _GIGA
            found["conv_weights_mb"] += weights_bytes([node]) / _MEGA
            found["conv_in_mb"] += _bytes(node.inputs[:1]) / _MEGA
            found["conv_out_mb"] += _bytes(node.outputs) / _MEGA
        elif node.op_type == "LRN":
            found["lrn_mb"] += _bytes(node.inputs) / _MEGA
        else:
            found["product_gmac"] += macs(node) / _GIGA
    return list(found.values())


def _is_of_shards(node: ir.Node) -> bool:
    """Return whether a node takes several rows of the same values, as known from the start."""
    if node.domain or node.op_type != "Gather":
        return False
    rows = node.inputs[1]
    return rows is not None and rows.const_value is not None and len(_shape(rows)) == _ROWS


def _kind(node: ir.Node) -> str:
    """Name the feature that counts the multiply-accumulates of a convolution."""
    shapes = map(_shape, node.inputs[1:])
    kernel = next((shape for shape in shapes if len(shape) > _CHANNELS), ())
    if node.op_type == "ConvTranspose" or not kernel:
        return "dense_gmac"
    if node.attributes.get_int("group", 1) > 1 and kernel[1] == 1:
        return "depthwise_gmac"
    if prod(kernel[2:]) == 1:
        return "pointwise_gmac"
    strides = node.attributes.get_ints("strides", [1])
    return "winograd_gmac" if kernel[2:] == (3, 3) and prod(strides) == 1 else "dense_gmac"


def _bytes(values: Sequence[ir.Value | None]) -> int:
    sizes = [
        prod(_shape(value)) * value.dtype.itemsize
        for value in values
        if value is not None and value.dtype is not None
    ]
    return int(sum(sizes))


def _shape(value: ir.Value | None) -> tuple[int, ...]:
    return () if value is None else static_shape(value) or ()
