"""Prune whole channels of convolutional networks, so that pictures between blocks become thinner.

It is `vectors` for convolutions: a channel matters as much as the loss changes, to first order, if
all that leads into it were 0. Channels that a residual block adds up count together and go
together; pooling and the depthwise part of a block keep the channels that they get.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import msgspec
import numpy as np

from evener.artifacts.conv_stack import Block, ConvStack
from evener.errors import InputError
from evener.search.chaos.activation import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Kernels:
    """The weights of a network, or their gradients, layer by layer.

    A convolution has (out, in, height, width), the depthwise part of a block (channels, 1, height,
    width) and then its pointwise part, a dense layer (in, out).

    Attributes:
        weights: of each layer with weights, in order.
        biases: of each, (out,).
    """

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]


@dataclass(frozen=True, slots=True)
class Channels:
    """Layers that share their channels.

    Attributes:
        count: how many channels.
        made: layers that give them, by index.
        kept: depthwise layers, whose channels they pass through.
        used: layers that take them.
        blocks: of the network, that give so many.
    """

    count: int
    made: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    used: tuple[int, ...] = ()
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel that may be pruned.

    Attributes:
        group: index of its `Channels`.
        index: of the channel.
        importance: how much the loss changes without it, to first order.
    """

    group: int
    index: int
    importance: float


def channel_groups(stack: ConvStack) -> tuple[Channels, ...]:
    """Return which layers share channels, from the first block on.

    The picture's own channels, and those that a residual block adds to them, are no group.
    """
    groups: list[Channels] = []
    now: int | None = None  # the group of what comes in; None for the picture's channels
    layer = 0
    for at, block in enumerate(stack.blocks):
        if block.kind == "pool3x3":
            if now is not None:
                groups[now] = _more(groups[now], blocks=at)
            continue
        depthwise = block.kind == "depthwise3x3"
        if now is not None:
            kept = {"kept": layer} if depthwise else {}
            groups[now] = _more(groups[now], used=layer + depthwise, **kept)
        layer += depthwise
        if not block.residual:
            groups.append(Channels(block.channels))
            now = len(groups) - 1
        if now is not None:
            groups[now] = _more(groups[now], made=layer, blocks=at)
        layer += 1
    if now is not None:
        groups[now] = _more(groups[now], used=layer)
    return tuple(groups)


def rank_channels(stack: ConvStack, kernels: Kernels, gradients: Kernels) -> list[Channel]:
    """Order the channels that may be pruned, the least important first.

    Args:
        stack: the network.
        kernels: its weights.
        gradients: of the loss, in the same shapes.

    Raises:
        InputError: weights or gradients that are not the network's.
    """
    _check(stack, kernels)
    _check(stack, gradients)
    found = []
    for number, group in enumerate(channel_groups(stack)):
        change: Floats = np.zeros(group.count)
        for layer in (*group.made, *group.kept):
            change = change + kernels.biases[layer] * gradients.biases[layer]
            into = kernels.weights[layer] * gradients.weights[layer]
            change = change + into.reshape(group.count, -1).sum(axis=1)
        found += [Channel(number, at, abs(float(one))) for at, one in enumerate(change)]
    return sorted(found, key=lambda one: (one.importance, one.group, one.index))


def least_channels(stack: ConvStack, ranked: Sequence[Channel], share: float) -> list[Channel]:
    """Pick the least important channels, up to a share, and leave one of every group.

    Args:
        stack: the network.
        ranked: its channels, the least important first.
        share: of the channels that may be pruned, from 0 to 1.

    Raises:
        InputError: the share is out of range.
    """
    if not 0 <= share <= 1:
        raise InputError(f"a share of {share:g} of the channels to prune: give one from 0 to 1")
    left = [group.count for group in channel_groups(stack)]
    most = ceil(share * sum(left) - 1e-9)
    picked: list[Channel] = []
    for channel in ranked:
        if len(picked) < most and left[channel.group] > 1:
            left[channel.group] -= 1
            picked.append(channel)
    return picked


def without_channels(
    stack: ConvStack, kernels: Kernels, gone: Sequence[Channel]
) -> tuple[ConvStack, Kernels]:
    """Return the smaller network; it answers as if nothing used the channels that are gone.

    Args:
        stack: the network.
        kernels: its weights.
        gone: which; some of every group must be left.

    Raises:
        InputError: weights that are not the network's, or a group without channels.
    """
    _check(stack, kernels)
    weights, biases, blocks = list(kernels.weights), list(kernels.biases), list(stack.blocks)
    for number, group in enumerate(channel_groups(stack)):
        out = {one.index for one in gone if one.group == number}
        stay = [at for at in range(group.count) if at not in out]
        if not stay:
            raise InputError(
                f"all {group.count} channels of blocks {list(group.blocks)} to prune: leave one "
                "or more"
            )
        for layer in (*group.made, *group.kept):
            weights[layer], biases[layer] = weights[layer][stay], biases[layer][stay]
        for layer in group.used:
            axis = 1 if weights[layer].ndim == 4 else 0
            places = weights[layer].shape[axis] // group.count  # of a channel, where it is flat
            kept = [at * places + place for at in stay for place in range(places)]
            weights[layer] = np.take(weights[layer], kept, axis=axis)
        for at in group.blocks:
            blocks[at] = msgspec.structs.replace(blocks[at], channels=len(stay))
    small = msgspec.structs.replace(stack, blocks=tuple(blocks))
    return small, Kernels(tuple(weights), tuple(biases))


def _more(group: Channels, **one: int) -> Channels:
    """Return a group with one more of some of its members."""
    return Channels(
        group.count,
        *(
            (*getattr(group, name), *([one[name]] if name in one else []))
            for name in ("made", "kept", "used", "blocks")
        ),
    )


def _check(stack: ConvStack, kernels: Kernels) -> None:
    """Check that weights are those of a network, whatever its picture and number of classes are.

    Raises:
        InputError: they are not.
    """
    wanted = [*(each for block in stack.blocks for each in _outputs(block)), stack.hidden, None]
    wanted = [one for one in wanted if one != 0]
    found = [len(bias) for bias in kernels.biases]
    alike = len(found) == len(kernels.weights) == len(wanted) and all(
        one in (None, other) for one, other in zip(wanted, found, strict=True)
    )
    if not alike:
        raise InputError(
            f"weights of {len(kernels.weights)} layers with {found} outputs for a network whose "
            f"layers have {wanted}, where None is any: give those of every layer"
        )


def _outputs(block: Block) -> Iterator[int | None]:
    """Yield how many outputs each layer of a block has; None for as many as come in."""
    if block.kind == "depthwise3x3":
        yield None
    if block.kind != "pool3x3":
        yield block.channels
