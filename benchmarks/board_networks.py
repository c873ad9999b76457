"""Build the networks that the boards were timed with: examples of the Arm Compute Library.

They are described at github.com/ARM-software/ComputeLibrary, `examples/graph_*.cpp`. Three differ
from the common files of their names: ResNet-50 strides in the last unit of a group instead of the
first, SqueezeNet is version 1.0, and AlexNet reads 227 x 227 pixels. Where only shapes count, every
weight is 0.
"""

from collections.abc import Callable, Mapping
from math import prod, sqrt
from typing import Any, Final

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from evener.network.model import Network, load_network, parse_network


class Chain:
    """A graph that grows layer by layer; `last` is the tensor that the next layer reads.

    Attributes:
        last: name of that tensor.
        channels: how many channels each tensor has, by name.
    """

    def __init__(self, pixels: int, rng: np.random.Generator | None = None) -> None:
        """Begin with a picture of so many pixels a side.

        Args:
            pixels: a side.
            rng: what weights are drawn from, so that a ReLU leaves a signal its power; biases are
                0, and so are all weights if None.
        """
        self.pixels = pixels
        self._rng = rng
        self.last = "x"
        self.channels = {"x": 3}
        self._nodes: list[NodeProto] = []
        self._weights: list[TensorProto] = []

    def convolve(
        self,
        out: int,
        size: int,
        *,
        stride: int = 1,
        pad: int = 0,
        group: int = 1,
        active: bool = True,
    ) -> None:
        """Add a convolution with a bias, and its ReLU if it is to be active."""
        depth = self.channels[self.last] // group
        weight, bias = self._weight(out, depth, size, size), self._weight(out)
        geometry = {"strides": [stride] * 2, "pads": [pad] * 4, "group": group}
        self._add("Conv", [self.last, weight, bias], out, **geometry)
        if active:
            self._add("Relu", [self.last], out)

    def pool(
        self, size: int, *, stride: int = 2, ceil: bool = False, kind: str = "MaxPool"
    ) -> None:
        """Add a pool."""
        geometry = {"kernel_shape": [size] * 2, "strides": [stride] * 2}
        ceiling = {"ceil_mode": int(ceil)} if kind == "MaxPool" else {}
        self._add(kind, [self.last], self.channels[self.last], **geometry, **ceiling)

    def normalise(self) -> None:
        """Add a local response normalisation."""
        self._add("LRN", [self.last], self.channels[self.last], size=5)

    def connect(self, features: int, out: int) -> None:
        """Add a fully connected layer that reads so many features."""
        if self.channels[self.last] != features:
            self._add("Flatten", [self.last], features)
        self._add("Gemm", [self.last, self._weight(features, out), self._weight(out)], out)

    def join(self, operator: str, tensors: list[str]) -> None:
        """Add a Concat of channels or a Sum of tensors, followed by a ReLU if a Sum."""
        channels = [self.channels[name] for name in tensors]
        if operator == "Concat":
            self._add("Concat", tensors, sum(channels), axis=1)
        else:
            self._add("Sum", tensors, channels[0])
            self._add("Relu", [self.last], channels[0])

    def classify(self) -> None:
        """Add a global pool, a 1x1 convolution to 1000 classes and a softmax."""
        self._add("GlobalAveragePool", [self.last], self.channels[self.last])
        self.convolve(1000, 1, active=False)
        self.end()

    def end(self) -> None:
        """Flatten if need be, and add the softmax."""
        self._add("Flatten", [self.last], 1000)
        self._add("Softmax", [self.last], 1000)

    def network(self, name: str) -> Network:
        """Return what has grown."""
        graph = helper.make_graph(
            self._nodes,
            name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, *[self.pixels] * 2])],
            [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, [1, 1000])],
            self._weights,
        )
        opsets = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return parse_network(model.SerializeToString(), name=name)

    def _add(self, operator: str, inputs: list[str], channels: int, **attributes: Any) -> None:  # noqa: ANN401 - as helper.make_node
        self.last = f"t{len(self._nodes)}"
        self.channels[self.last] = channels
        self._nodes.append(
            helper.make_node(operator, inputs, [self.last], name=self.last, **attributes)
        )

    def _weight(self, *shape: int) -> str:
        name = f"w{len(self._weights)}"
        weight = np.zeros(shape, np.float32)
        if self._rng is not None and len(shape) > 1:
            summands = shape[0] if len(shape) == 2 else prod(shape[1:])
            weight = self._rng.normal(0.0, sqrt(2 / summands), shape).astype(np.float32)
        self._weights.append(numpy_helper.from_array(weight, name))
        return name


def alexnet() -> Network:
    """Build AlexNet, of 8 parts."""
    chain = Chain(227)
    chain.convolve(96, 11, stride=4)
    chain.normalise()
    chain.pool(3)
    chain.convolve(256, 5, pad=2, group=2)
    chain.normalise()
    chain.pool(3)
    chain.convolve(384, 3, pad=1)
    chain.convolve(384, 3, pad=1, group=2)
    chain.convolve(256, 3, pad=1, group=2)
    chain.pool(3)
    chain.connect(9216, 4096)
    chain.connect(4096, 4096)
    chain.connect(4096, 1000)
    chain.end()
    return chain.network("alexnet")


def mobilenet(rng: np.random.Generator | None = None) -> Network:
    """Build MobileNet-V1: a convolution, 13 pairs of depthwise and 1x1, and 1x1 for classes."""
    chain = Chain(224, rng)
    chain.convolve(32, 3, stride=2, pad=1)
    widths = (64, 128, 128, 256, 256, *[512] * 6, 1024, 1024)
    strides = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)
    for out, stride in zip(widths, strides, strict=True):
        channels = chain.channels[chain.last]
        chain.convolve(channels, 3, stride=stride, pad=1, group=channels)
        chain.convolve(out, 1)
    chain.classify()
    return chain.network("mobilenet")


def resnet50() -> Network:
    """Build ResNet-50 whose groups stride in the 3x3 of their last unit."""
    chain = Chain(224)
    chain.convolve(64, 7, stride=2, pad=3)
    chain.pool(3, ceil=True)
    for depth, units, last_stride in ((64, 3, 2), (128, 4, 2), (256, 6, 2), (512, 3, 1)):
        for unit in range(units):
            start = chain.last
            stride = last_stride if unit == units - 1 else 1
            chain.convolve(depth, 1)
            chain.convolve(depth, 3, stride=stride, pad=1)
            chain.convolve(4 * depth, 1, active=False)
            right, chain.last = chain.last, start
            if unit == 0:
                chain.convolve(4 * depth, 1, active=False)
            elif stride > 1:
                chain.pool(1)
            chain.join("Sum", [chain.last, right])
    chain.classify()
    return chain.network("resnet50")


def squeezenet() -> Network:
    """Build SqueezeNet 1.0."""
    chain = Chain(224)
    chain.convolve(96, 7, stride=2)
    chain.pool(3, ceil=True)
    for index, (narrow, wide) in enumerate(
        ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
    ):
        chain.convolve(narrow, 1)
        start = chain.last
        chain.convolve(wide, 1)
        left, chain.last = chain.last, start
        chain.convolve(wide, 3, pad=1)
        chain.join("Concat", [left, chain.last])
        if index in (2, 6):
            chain.pool(3, ceil=True)
    chain.convolve(1000, 1)
    chain.pool(13, kind="AveragePool")
    chain.end()
    return chain.network("squeezenet")


TIMED: Final[Mapping[str, tuple[Callable[[], Network], tuple[int, ...]]]] = {
    "alexnet": (alexnet, (1,) * 8),
    "googlenet": (lambda: load_network("googlenet"), (1, 2, *[1] * 8, 2)),
    "mobilenet": (mobilenet, (1, *[2] * 12, 3)),
    "resnet50": (resnet50, (1,) * 18),
    "squeezenet": (squeezenet, (1, *[2] * 8, 2)),
}
"""How to build each network that was timed, and how many blocks each of its parts takes."""
