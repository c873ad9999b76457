"""Pruning whole channels."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.conv_stack import Block, ConvStack
from evener.errors import InputError
from evener.search.conv_space import ConvSpace
from evener.search.pruning.channels import (
    Channel,
    Channels,
    Kernels,
    channel_groups,
    least_channels,
    rank_channels,
    without_channels,
)

SPACE = ConvSpace(stages=2, blocks=3, channels=(3, 5), hidden=(0, 4), picture_channels=2)
PLACES = 5  # of a picture, in height and in width
PICTURES = np.random.default_rng(1).normal(size=(3, 2, PLACES, PLACES))


def drawn(stack: ConvStack, seed: int) -> Kernels:
    """Draw weights of two inputs and three classes."""
    rng = np.random.default_rng(seed)
    shapes: list[tuple[int, ...]] = []
    before = 2
    places = PLACES
    for block in stack.blocks:
        size = 1 if block.kind == "conv1x1" else 3
        if block.kind == "depthwise3x3":
            shapes += [(before, 1, 3, 3), (block.channels, before, 1, 1)]
        elif block.kind != "pool3x3":
            shapes.append((block.channels, before, size, size))
        before, places = block.channels, -(-places // block.stride)
    seen = before * (places**2 if stack.head == "flatten" else 1)
    shapes += pairwise([one for one in (seen, stack.hidden, 3) if one])
    return Kernels(
        tuple(rng.normal(size=shape) for shape in shapes),
        tuple(rng.normal(size=one[0] if len(one) == 4 else one[1]) for one in shapes),
    )


def patches(pictures: np.ndarray, size: int, stride: int) -> np.ndarray:
    """Return what each place sees, (pictures, channels, height, width, size, size)."""
    edge = size // 2
    padded = np.pad(pictures, ((0, 0), (0, 0), (edge, edge), (edge, edge)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(2, 3))
    return np.asarray(seen[:, :, ::stride, ::stride])


def answers(stack: ConvStack, kernels: Kernels) -> np.ndarray:
    """Compute a network slowly and plainly."""
    layers = zip(kernels.weights, kernels.biases, strict=True)
    now = PICTURES
    for block in stack.blocks:
        before = now
        if block.kind == "pool3x3":
            now = patches(now, 3, block.stride).mean(axis=(4, 5))
            continue
        stride = block.stride
        if block.kind == "depthwise3x3":
            kernel, bias = next(layers)
            now = np.einsum("pchwij,cij->pchw", patches(now, 3, stride), kernel[:, 0])
            now, stride = now + bias[:, None, None], 1
        kernel, bias = next(layers)
        now = np.einsum("pchwij,ocij->pohw", patches(now, kernel.shape[2], stride), kernel)
        now = np.maximum(now + bias[:, None, None], 0)
        now = now + before if block.residual else now
    now = now.reshape(len(now), -1) if stack.head == "flatten" else now.mean(axis=(2, 3))
    rest = list(layers)
    for index, (weight, bias) in enumerate(rest):
        now = now @ weight + bias
        now = np.maximum(now, 0) if index < len(rest) - 1 else now
    return np.asarray(now)


def unused(stack: ConvStack, kernels: Kernels, gone: list[Channel]) -> Kernels:
    """Return the weights with all zero by which some channels are used."""
    weights = [one.copy() for one in kernels.weights]
    for channel in gone:
        for layer in channel_groups(stack)[channel.group].used:
            if weights[layer].ndim == 4:
                weights[layer][:, channel.index] = 0
            else:  # the numbers of a channel stand together
                by_channel = weights[layer].reshape(channel_groups(stack)[channel.group].count, -1)
                by_channel[channel.index] = 0
    return Kernels(tuple(weights), kernels.biases)


@st.composite
def stacks(draw: st.DrawFn) -> ConvStack:
    bits = draw(st.lists(st.booleans(), min_size=SPACE.length, max_size=SPACE.length))
    genome = np.array([bits])
    [stack] = SPACE.decode(genome)
    return stack


@settings(deadline=None, max_examples=60)
@given(stacks(), st.integers(0, 99), st.sampled_from([0.5, 0.7, 1.0]))
def test_the_small_network_answers_as_if_channels_were_not_used(
    stack: ConvStack, seed: int, share: float
) -> None:
    kernels = drawn(stack, seed)
    gone = least_channels(stack, rank_channels(stack, kernels, drawn(stack, seed + 1)), share)

    small, left = without_channels(stack, kernels, gone)

    assert answers(small, left) == pytest.approx(answers(stack, unused(stack, kernels, gone)))
    pruned = sum(group.count for group in channel_groups(stack)) - len(gone)
    assert sum(group.count for group in channel_groups(small)) == pruned
    assert small.weights(2, PLACES, PLACES, 3) == sum(
        one.size for one in (*left.weights, *left.biases)
    )


def test_a_residual_block_shares_the_channels_that_it_adds_to() -> None:
    conv = Block(kind="conv3x3", channels=4)
    residual = Block(kind="depthwise3x3", channels=4, residual=True)
    pool = Block(kind="pool3x3", channels=4, stride=2)
    stack = ConvStack(blocks=(conv, residual, pool, Block(kind="conv1x1", channels=6)))

    assert channel_groups(stack) == (
        Channels(4, made=(0, 2), kept=(1,), used=(2, 3), blocks=(0, 1, 2)),
        Channels(6, made=(3,), used=(4,), blocks=(3,)),
    )


def test_the_pictures_own_channels_are_left_alone() -> None:
    pool = Block(kind="pool3x3", channels=2)
    added = Block(kind="conv3x3", channels=2, residual=True)

    assert channel_groups(ConvStack(blocks=(pool, added))) == ()


def test_importance_is_what_leads_into_a_channel_times_its_gradient() -> None:
    stack = ConvStack(blocks=(Block(kind="conv1x1", channels=2),))
    kernels = Kernels(
        (np.array([[[[2.0]], [[1.0]]], [[[0.5]], [[0.0]]]]), np.ones((2, 3))),
        (np.array([1.0, 0.0]), np.zeros(3)),
    )
    gradients = Kernels((np.ones((2, 2, 1, 1)), np.ones((2, 3))), (np.ones(2), np.ones(3)))

    ranked = rank_channels(stack, kernels, gradients)

    assert ranked == [Channel(0, 1, 0.5), Channel(0, 0, 4.0)]
    assert least_channels(stack, ranked, 0.5) == ranked[:1]


def test_what_is_not_the_networks_is_refused() -> None:
    stack = ConvStack(blocks=(Block(kind="conv1x1", channels=2),))
    kernels = drawn(stack, 0)

    with pytest.raises(InputError, match=r"weights of 1 layers with \[2\] outputs for a network"):
        rank_channels(stack, Kernels(kernels.weights[:1], kernels.biases[:1]), kernels)
    with pytest.raises(InputError, match=r"all 2 channels of blocks \[0\] to prune"):
        without_channels(stack, kernels, [Channel(0, 0, 0.0), Channel(0, 1, 0.0)])
    with pytest.raises(InputError, match="a share of 2 of the channels"):
        least_channels(stack, [], 2)
