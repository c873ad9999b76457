"""The layers that the blocks of a convolutional network come to, one operation each."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from evener.artifacts.conv_stack import Block, HeadKind, shrunk

Picture = tuple[int, int, int]
"""Channels, height and width."""


@dataclass(frozen=True, slots=True)
class ConvLayer:
    """One operation, and what stands around it.

    Attributes:
        operation: a convolution, one of each channel by itself, an average of 3x3 places, or a
            dense layer, before the first of which the mean of each channel is taken or all of its
            places are put side by side.
        inputs: channels or units that come in.
        outputs: that go out.
        kernel: places of a convolution's window, in height and in width.
        stride: 1, or 2 to halve height and width, rounded up.
        activates: whether the activation follows.
        opens: whether what comes in is kept to be added later.
        adds: whether what was kept is added to what goes out.
        flattens: whether a dense layer sees every place of each channel, channel by channel.
    """

    operation: Literal["conv", "depthwise", "pool", "dense"]
    inputs: int
    outputs: int
    kernel: int = 1
    stride: int = 1
    activates: bool = False
    opens: bool = False
    adds: bool = False
    flattens: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Of its weights: (outputs, inputs, height, width), or (inputs, outputs) of a dense layer.

        Pooling has none, which is ().
        """
        if self.operation == "pool":
            return ()
        if self.operation == "dense":
            return (self.inputs, self.outputs)
        inputs = 1 if self.operation == "depthwise" else self.inputs
        return (self.outputs, inputs, self.kernel, self.kernel)

    @property
    def seen(self) -> int:
        """How many numbers one of its sums adds up."""
        return self.inputs if self.operation == "dense" else prod(self.shape[1:])


def conv_layers(
    blocks: Sequence[Block], head: HeadKind, hidden: int, picture: Picture, outputs: int
) -> tuple[ConvLayer, ...]:
    """Return the layers of a network, in order.

    A depthwise block is two layers without an activation between them, as in Chollet, "Xception"
    (2017).

    Args:
        blocks: of the network.
        head: what the first dense layer sees.
        hidden: units of the dense layer before the last; 0 for none.
        picture: that the first block sees.
        outputs: of the network.

    Example:
        >>> layers = conv_layers([Block(kind="depthwise3x3", channels=8)], "mean", 0, (3, 9, 9), 10)
        >>> [(one.operation, one.shape) for one in layers]
        [('depthwise', (3, 1, 3, 3)), ('conv', (8, 3, 1, 1)), ('dense', (8, 10))]
    """
    layers: list[ConvLayer] = []
    channels, height, width = picture
    for block in blocks:
        layers += _layers_of(block, channels)
        channels = block.channels
    flattens = head == "flatten"
    seen = channels * (prod(shrunk(blocks, height, width)) if flattens else 1)
    if not hidden:
        return (*layers, ConvLayer("dense", seen, outputs, flattens=flattens))
    first = ConvLayer("dense", seen, hidden, activates=True, flattens=flattens)
    return (*layers, first, ConvLayer("dense", hidden, outputs))


def _layers_of(block: Block, channels: int) -> list[ConvLayer]:
    adds = block.residual
    match block.kind:
        case "pool3x3":
            return [ConvLayer("pool", channels, channels, 3, block.stride, opens=adds, adds=adds)]
        case "depthwise3x3":
            return [
                ConvLayer("depthwise", channels, channels, 3, block.stride, opens=adds),
                ConvLayer("conv", channels, block.channels, activates=True, adds=adds),
            ]
    kernel = 3 if block.kind == "conv3x3" else 1
    return [
        ConvLayer(
            "conv",
            channels,
            block.channels,
            kernel,
            block.stride,
            activates=True,
            opens=adds,
            adds=adds,
        )
    ]
