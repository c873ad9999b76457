"""Tiny ONNX networks whose answers differ from frame to frame, for contract suites and tests."""

from collections.abc import Sequence

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from evener.runtime.session import Array

WIDTH = 8


def dense(*, layers: int = 1, seed: int = 0, width: int = WIDTH) -> bytes:
    """Make a row of dense layers with tanh: `x` [2, width] to `y` [2, width].

    The tensor after layer i is called `h{i}`, the last one `y`.
    """
    names = ["x", *(f"h{index}" for index in range(1, layers)), "y"]
    return dense_between(names, first=0, last=layers - 1, seed=seed, width=width)


def dense_between(
    names: Sequence[str], *, first: int, last: int, seed: int = 0, width: int = WIDTH
) -> bytes:
    """Make layers `first` to `last` of the network that `dense` makes, by the same weights.

    Args:
        names: name of the tensor before each layer, and of the last output.
        first: index of the first layer.
        last: index of the last layer, included.
        seed: what the weights are drawn from.
        width: features.
    """
    nodes: list[NodeProto] = []
    weights: dict[str, Array] = {}
    for layer in range(first, last + 1):
        rng = np.random.default_rng((seed, layer))
        weights[f"w{layer}"] = rng.normal(size=(width, width)).astype(np.float32) / width**0.5
        nodes += [
            helper.make_node("MatMul", [names[layer], f"w{layer}"], [f"m{layer}"]),
            helper.make_node("Tanh", [f"m{layer}"], [names[layer + 1]]),
        ]
    return network(
        nodes,
        inputs=[floats(names[first], 2, width)],
        outputs=[floats(names[last + 1], 2, width)],
        weights=weights,
    )


def forked(*, branches: int = 3, width: int = WIDTH) -> bytes:
    """Make a network of dense branches that are added up: `x` [2, width] to `y` [2, width]."""
    nodes = [
        helper.make_node("MatMul", ["x", f"w{index}"], [f"b{index}"]) for index in range(branches)
    ]
    nodes.append(helper.make_node("Sum", [f"b{index}" for index in range(branches)], ["y"]))
    rng = np.random.default_rng(0)
    return network(
        nodes,
        inputs=[floats("x", 2, width)],
        outputs=[floats("y", 2, width)],
        weights={
            f"w{index}": rng.normal(size=(width, width)).astype(np.float32)
            for index in range(branches)
        },
    )


def branching(*, compare: bool = True) -> bytes:
    """Make a network of two inputs and three outputs of different shapes and types.

    `a` and `b` [2, 3] give `sum` [2, 3], `larger` [2, 3] (bool) and `total` [2].

    Args:
        compare: whether there is `larger`.
    """
    return network(
        [
            helper.make_node("Add", ["a", "b"], ["sum"]),
            *([helper.make_node("Greater", ["a", "b"], ["larger"])] * compare),
            helper.make_node("ReduceMax", ["sum"], ["total"], axes=[1], keepdims=0),
        ],
        inputs=[floats("a", 2, 3), floats("b", 2, 3)],
        outputs=[
            floats("sum", 2, 3),
            *([helper.make_tensor_value_info("larger", TensorProto.BOOL, [2, 3])] * compare),
            floats("total", 2),
        ],
    )


def passing() -> bytes:
    """Make a network that hands its input on: `x` [2, 3] to `y` = relu(x) and `x` itself."""
    return network(
        [helper.make_node("Relu", ["x"], ["y"])],
        inputs=[floats("x", 2, 3)],
        outputs=[floats("y", 2, 3), floats("x", 2, 3)],
    )


def unet(*, depth: int = 2, seed: int = 0, size: int = 16) -> bytes:
    """Make a small U-Net: `x` [1, 2, size, size] to `y` of the same shape.

    Each level down is a convolution with ReLU, `s0`, `s1` and so on, that both a pool and the same
    level on the way up read, where it is joined to what came from below.

    Args:
        depth: how many levels down; so many tensors skip the bottom.
        seed: what the weights are drawn from.
        size: height and width, divisible by 2 to the power of `depth`.
    """
    rng = np.random.default_rng(seed)
    nodes: list[NodeProto] = []
    weights: dict[str, Array] = {}

    def layer(read: str, output: str, inputs: int, outputs: int) -> str:
        array = rng.normal(size=(outputs, inputs, 3, 3)).astype(np.float32)
        weights[f"w_{output}"] = array / np.float32(3 * inputs**0.5)
        c = f"c_{output}"
        nodes.append(helper.make_node("Conv", [read, f"w_{output}"], [c], c, pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [c], [output], output))
        return output

    last, width = "x", 2
    for level in range(depth):
        last, pool = layer(last, f"s{level}", width, 2 * width), f"p{level}"
        nodes.append(
            helper.make_node("MaxPool", [last], [pool], pool, kernel_shape=[2, 2], strides=[2, 2])
        )
        last, width = pool, 2 * width
    last = layer(last, "bottom", width, width)
    for level in reversed(range(depth)):
        weights[f"w_u{level}"] = rng.normal(size=(width, width, 2, 2)).astype(np.float32)
        weights[f"w_u{level}"] /= np.float32(width**0.5)
        up, joined = f"u{level}", f"j{level}"
        nodes.append(helper.make_node("ConvTranspose", [last, f"w_{up}"], [up], up, strides=[2, 2]))
        nodes.append(helper.make_node("Concat", [f"s{level}", up], [joined], joined, axis=1))
        last = layer(joined, f"d{level}" if level else "y", 2 * width, width // 2)
        width //= 2
    return network(
        nodes,
        inputs=[floats("x", 1, 2, size, size)],
        outputs=[floats("y", 1, 2, size, size)],
        weights=weights,
    )


def network(
    nodes: Sequence[NodeProto],
    *,
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    weights: dict[str, Array] | None = None,
) -> bytes:
    """Make a serialised ONNX model of some nodes."""
    constants = [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "tiny", list(inputs), list(outputs), constants)
    model: ModelProto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    return bytes(model.SerializeToString())


def floats(name: str, *shape: int | str) -> ValueInfoProto:
    """Describe a float tensor; a text among the sizes leaves that one open."""
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def frames(count: int, *, seed: int = 0, shape: tuple[int, ...] = (2, WIDTH)) -> list[tuple[Array]]:
    """Draw frames of one float tensor, no two alike."""
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=shape).astype(np.float32),) for _ in range(count)]
