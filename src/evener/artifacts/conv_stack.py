"""Convolutions in a row with a head: what a genome of blocks means, and what training fills."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from evener.artifacts.files import digest
from evener.artifacts.layer_graph import Activation, Recipe
from evener.errors import InputError

BlockKind = Literal["conv1x1", "conv3x3", "depthwise3x3", "pool3x3"]
HeadKind = Literal["mean", "flatten"]
"""What the dense layers see of the last blocks: the mean of each channel, or every place."""

_KERNEL = {"conv1x1": 1, "conv3x3": 9, "depthwise3x3": 9, "pool3x3": 0}


class Block(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One convolution or pooling, padded so that only its stride shrinks the picture.

    A 3x3 depthwise convolution is followed by a 1x1 one that sets the channels. Pooling takes
    averages, keeps the channels and has no activation.

    Attributes:
        kind: what it does.
        channels: that leave it.
        stride: 1, or 2 to halve height and width, rounded up.
        residual: whether its input is added to its output; only where both have one shape.
    """

    kind: BlockKind
    channels: int
    stride: Literal[1, 2] = 1
    residual: bool = False


class ConvStack(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="blocks"
):
    """Blocks in a row, and a dense layer to the classes.

    Attributes:
        blocks: in order, the picture first.
        head: what the first dense layer sees: the mean of each channel, which forgets where things
            are, or all of its places.
        hidden: units of a dense layer before the output; 0 for none.
        activation: of convolutions and of the hidden layer.
        recipe: how it is trained; None if that does not evolve.
    """

    blocks: tuple[Block, ...]
    head: HeadKind = "mean"
    hidden: int = 0
    activation: Activation = "relu"
    recipe: Recipe | None = None

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: a block without channels, a negative hidden layer, pooling that changes the
                channels, or a residual block whose output has another shape than its input.
        """
        if self.hidden < 0:
            raise InputError(f"a hidden layer of {self.hidden} units: give 0 for none")
        before = 0  # the channels of the picture are not known here
        for index, block in enumerate(self.blocks):
            where = f"block {index} ({block.kind}, {block.channels} channels)"
            if block.channels < 1:
                raise InputError(f"{where}: a block has 1 channel or more")
            if block.kind == "pool3x3" and before not in (0, block.channels):
                raise InputError(f"{where}: pooling keeps the {before} channels that it gets")
            if block.residual and (block.stride != 1 or before != block.channels):
                raise InputError(
                    f"{where}: its input is added to its output, so that both need one shape; give "
                    f"stride 1 and {before or 'a block before it'} channels"
                )
            before = block.channels

    @property
    def id(self) -> str:
        """Short hash that equal networks share.

        Example:
            >>> ConvStack(blocks=()).id == ConvStack(blocks=(), hidden=0).id
            True
        """
        return digest(msgspec.to_builtins(self))[:12]

    def macs(self, channels: int, height: int, width: int, classes: int) -> int:
        """Count the multiply-accumulates of one prediction.

        Args:
            channels: of the picture.
            height: of the picture.
            width: of the picture.
            classes: how many outputs.

        Example:
            >>> conv = Block(kind="conv3x3", channels=8, stride=2)
            >>> ConvStack(blocks=(conv,)).macs(1, 28, 28, 10)
            14192
        """
        total = 0
        for block in self.blocks:
            height, width = -(-height // block.stride), -(-width // block.stride)
            total += _per_place(block, channels) * height * width
            channels = block.channels
        seen = channels * (height * width if self.head == "flatten" else 1)
        return total + self._head(seen, classes)

    def weights(self, channels: int, height: int, width: int, classes: int) -> int:
        """Count the numbers that training sets: a bias for each channel and unit beside weights.

        Args:
            channels: of the picture.
            height: of the picture.
            width: of the picture.
            classes: how many outputs.

        Example:
            >>> ConvStack(blocks=(Block(kind="conv3x3", channels=8),)).weights(1, 28, 28, 10)
            170
        """
        total = 0
        for block in self.blocks:
            if block.kind != "pool3x3":
                total += _per_place(block, channels) + block.channels
                total += channels * (block.kind == "depthwise3x3")  # biases of the depthwise part
            channels = block.channels
        seen = channels * self._places(height, width)
        return total + self._head(seen, classes) + self.hidden + classes

    def __str__(self) -> str:
        """Name it for people.

        Example:
            >>> str(ConvStack(blocks=(Block(kind="conv3x3", channels=8, stride=2),), hidden=32))
            'blocks conv3x3(8)/2, hidden 32, relu'
        """
        blocks = [
            f"{block.kind}({block.channels}){'/2' * (block.stride == 2)}{'+' * block.residual}"
            for block in self.blocks
        ]
        hidden = f", hidden {self.hidden}" if self.hidden else ""
        flat = ", flattened" if self.head == "flatten" else ""
        return f"blocks {' '.join(blocks) or 'none'}{flat}{hidden}, {self.activation}"

    def _head(self, seen: int, classes: int) -> int:
        if self.hidden:
            return seen * self.hidden + self.hidden * classes
        return seen * classes

    def _places(self, height: int, width: int) -> int:
        """Return how many numbers of each channel the dense layers see."""
        height, width = shrunk(self.blocks, height, width)
        return height * width if self.head == "flatten" else 1


def shrunk(blocks: Sequence[Block], height: int, width: int) -> tuple[int, int]:
    """Return height and width of what blocks leave of a picture.

    Example:
        >>> shrunk([Block(kind="conv3x3", channels=8, stride=2)], 28, 7)
        (14, 4)
    """
    for block in blocks:
        height, width = -(-height // block.stride), -(-width // block.stride)
    return height, width


def _per_place(block: Block, channels: int) -> int:
    """Return the weights of a block, each of which is used once for every place of its output."""
    if block.kind == "depthwise3x3":
        return _KERNEL[block.kind] * channels + channels * block.channels
    return _KERNEL[block.kind] * channels * block.channels
