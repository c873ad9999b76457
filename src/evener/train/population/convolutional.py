"""Convolutional networks as a kind of the population: those of one shape are one stack.

Shapes in names: P individuals, K numbers of a block.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Final

import numpy as np
import torch
from torch import Tensor

from evener.train.population.chunks import held
from evener.train.population.conv_individual import ConvIndividual
from evener.train.population.conv_passes import ConvPasses
from evener.train.population.conv_weights import check_conv_weights, draw_conv_weights
from evener.train.population.kinds import Group
from evener.train.population.optimiser import make_optimiser, memories
from evener.train.population.probe import quickest
from evener.train.population.stack import Stack
from evener.train.population.streams import Dropout
from evener.train.population.weights import Weights

_BESIDE: Final = 3  # sums, values and their gradients


class Convolutional:
    """Networks of convolutions; see `evener.train.population.kinds.Kind`."""

    def draw(self, individual: ConvIndividual) -> Weights:
        """Draw the weights that an individual starts from."""
        return draw_conv_weights(individual)

    def check(self, individual: ConvIndividual, weights: Weights) -> None:
        """Check that weights are those of an individual."""
        check_conv_weights(individual, weights)

    def groups(self, individuals: Sequence[ConvIndividual]) -> list[Group[ConvIndividual]]:
        """Put individuals of one shape, activation and optimiser into one stack."""
        alike: dict[tuple[object, ...], list[int]] = {}
        for index, one in enumerate(individuals):
            key = (one.picture, one.layers, one.activation, one.optimiser)
            alike.setdefault(key, []).append(index)
        return [
            Group(tuple(members), ConvForm(individuals[members[0]])) for members in alike.values()
        ]


class ConvForm:
    """The shape that individuals share; see `evener.train.population.kinds.Form`.

    Args:
        like: one of them.
    """

    def __init__(self, like: ConvIndividual) -> None:
        self._like = like
        self._weighted = like.weighted

    def of(self, blocks: Sequence[Tensor]) -> Stack:
        """Return blocks by layer; numbers of a kernel stand channel by channel for each place."""
        count = len(blocks[0])
        links = {}
        for node, (layer, block) in enumerate(zip(self._weighted, blocks, strict=False)):
            if layer.operation == "dense":
                links[node, node + 1] = block.view(count, *layer.shape)
                continue
            outputs, inputs, *kernel = layer.shape
            places_last = block.view(count * outputs, *kernel, inputs)
            links[node, node + 1] = places_last.permute(0, 3, 1, 2)
        own = [0, *(one.outputs for one in self._weighted)]
        biases = tuple(one.unsqueeze(1) for one in torch.split(blocks[-1], own, 1))
        return Stack(links, biases, tuple(blocks))

    def zeros(self, individuals: int, dtype: torch.dtype, device: torch.device) -> Stack:
        """Return arrays of zeros for so many individuals."""
        counts = [prod(one.shape) for one in self._weighted]
        counts.append(sum(one.outputs for one in self._weighted))
        return self.of(
            [torch.zeros(individuals, count, dtype=dtype, device=device) for count in counts]
        )

    def pack(
        self,
        individuals: Sequence[ConvIndividual],
        weights: Sequence[Weights],
        dtype: torch.dtype,
        device: torch.device,
    ) -> Stack:
        """Return weights side by side."""
        stack = self.zeros(len(individuals), dtype, torch.device("cpu"))
        for row, one in enumerate(weights):
            for link, array in one.links.items():
                self._part(stack, row, link).copy_(torch.from_numpy(array))
            for bias, own in zip(stack.biases[1:], one.biases, strict=True):
                bias[row, 0].copy_(torch.from_numpy(own))
        return self.of([block.to(device) for block in stack.blocks])

    def moves(self, *_: object) -> list[Tensor | None]:
        """Return None for each block: every number may move."""
        return [None] * (len(self._weighted) + 1)

    def unpack(self, stack: Stack, row: int, _: ConvIndividual) -> Weights:
        """Return what a stack holds of an individual, copied."""
        links = {
            link: np.ascontiguousarray(self._part(stack, row, link).cpu().numpy()).copy()
            for link in stack.links
        }
        biases = [bias[row, 0].cpu().numpy().copy() for bias in stack.biases[1:]]
        return Weights(links, tuple(biases))

    def layer_of(self, _: ConvIndividual, place: int) -> int:
        """Return the same number."""
        return place

    def passes(self, _: Sequence[ConvIndividual], weights: Stack, *__: int) -> ConvPasses:
        """Return the way through a stack of individuals."""
        return ConvPasses(self._like.layers, self._like.picture, self._like.activation, weights)

    def dropout(self, *_: object) -> Dropout | None:
        """Return None: no unit is left out."""
        return None

    def at_once(
        self,
        individuals: Sequence[ConvIndividual],
        batch: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> int:
        """Return how many of some individuals a short trial finds quickest to train at a time.

        Raises:
            MemoryError: memory does not hold one.
        """
        most = min(held(self.bytes_each(batch, dtype), device), len(individuals))

        def prepare(count: int) -> Callable[[], None]:
            return self._trial(individuals[:count], batch, dtype, device)

        return quickest(prepare, most)

    def bytes_each(self, batch: int, dtype: torch.dtype) -> int:
        """Return what the arrays of one individual take, in bytes.

        Args:
            batch: rows of a step.
            dtype: of weights and values.
        """
        weights = sum(prod(one.shape) + one.outputs for one in self._weighted)
        rows = 1 + memories(self._like) + (self._like.optimiser == "adam")
        _, height, width = self._like.picture
        values = self._like.ends[0]
        for layer in self._like.layers:
            if layer.operation == "dense":
                height = width = 1
            height, width = -(-height // layer.stride), -(-width // layer.stride)
            values += _BESIDE * layer.outputs * height * width
        return (rows * weights + batch * values) * dtype.itemsize

    def _trial(
        self,
        individuals: Sequence[ConvIndividual],
        batch: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> Callable[[], None]:
        """Return a step of some individuals, over weights and rows of 0, which change nothing."""
        count = len(individuals)

        def zeros() -> Stack:
            return self.zeros(count, dtype, device)

        weights = zeros()
        memory = [zeros() for _ in range(memories(individuals[0]))]
        moves = self.moves()
        optimiser = make_optimiser(individuals, weights, moves, memory, zeros)
        passes = self.passes(individuals, weights)
        inputs, outputs = self._like.ends
        x_PBI = torch.zeros(count, batch, inputs, dtype=dtype, device=device)
        wanted_PBO = torch.zeros(count, batch, outputs, dtype=dtype, device=device)

        def step() -> None:
            optimiser.pace(1, 1.0)
            passes.forward(x_PBI)
            passes.compare("squared", wanted_PBO)
            passes.backward(optimiser)
            if device.type == "cuda":
                torch.cuda.synchronize(device)

        return step

    def _part(self, stack: Stack, row: int, link: tuple[int, int]) -> Tensor:
        """Return an individual's part of a layer's weights."""
        layer = self._weighted[link[0]]
        whole = stack.links[link]
        if layer.operation == "dense":
            return whole[row]
        return whole[row * layer.outputs : (row + 1) * layer.outputs]
