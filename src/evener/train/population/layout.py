"""Lay the weights of a bucket's individuals side by side, and make what computes them.

Shapes in names: P individuals, I and O neurons of two nodes, K numbers of a block.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evener.train.population.buckets import Bucket, node_in
from evener.train.population.chunks import cached
from evener.train.population.individual import Individual, Link
from evener.train.population.optimiser import memories
from evener.train.population.passes import Passes
from evener.train.population.products import link_view
from evener.train.population.stack import Stack
from evener.train.population.streams import Dropout
from evener.train.population.weights import Weights

_BESIDE = 3  # sums, values and their gradients of each neuron


class Layout:
    """What the arrays of a bucket look like.

    Args:
        bucket: whose.

    Attributes:
        widths: neurons of its nodes.
        links: in order of where they end.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self.widths, self.links = bucket.widths, bucket.links

    def layer_of(self, individual: Individual, place: int) -> int:
        """Return which node of an individual stands at one of the stack's; see `node_in`."""
        return len(individual.widths) - 1 if place == len(self.widths) - 1 else place

    def passes(self, individuals: Sequence[Individual], weights: Stack, batch: int) -> Passes:
        """Return the way through a stack of individuals, for batches of so many rows."""
        return Passes(self._bucket, individuals, weights, batch)

    def dropout(
        self,
        individuals: Sequence[Individual],
        batch: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> Dropout | None:
        """Return what leaves neurons out; None if no individual wants it."""
        if not any(one.dropout for one in individuals):
            return None
        return Dropout(individuals, self.widths, batch, dtype, device)

    def at_once(
        self,
        individuals: Sequence[Individual],
        batch: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> int:
        """Return how many of some individuals are trained at a time, at most.

        Raises:
            MemoryError: memory does not hold one.
        """
        return cached(self.bytes_each(individuals, batch, dtype), device)

    def bytes_each(self, individuals: Sequence[Individual], batch: int, dtype: torch.dtype) -> int:
        """Return what the arrays of one of some individuals take, in bytes.

        Args:
            individuals: of the bucket, whose padded shape counts.
            batch: rows of a step.
            dtype: of weights and values.
        """
        weights = sum(self.widths[start] * self.widths[end] for start, end in self.links)
        weights += sum(self.widths[1:])
        adam = individuals[0].optimiser == "adam"
        rows = 1 + memories(individuals[0]) + adam + 1  # a gradient of adam's, and masks
        beside = _BESIDE + any(one.dropout for one in individuals)
        neurons = self.widths[0] + beside * sum(self.widths[1:]) + self.widths[-1]
        return (rows * weights + batch * neurons) * dtype.itemsize

    def of(self, blocks: Sequence[Tensor]) -> Stack:
        """Return blocks by link and node."""
        links = {
            (start, end): link_view(block, self.widths[start], self.widths[end])
            for (start, end), block in zip(self.links, blocks, strict=False)
        }
        own = [0, *self.widths[1:]]  # the input adds nothing
        biases = tuple(one.unsqueeze(1) for one in torch.split(blocks[-1], own, 1))
        return Stack(links, biases, tuple(blocks))

    def zeros(self, individuals: int, dtype: torch.dtype, device: torch.device) -> Stack:
        """Return arrays of zeros for so many individuals."""
        counts = [self.widths[start] * self.widths[end] for start, end in self.links]
        counts.append(sum(self.widths[1:]))
        return self.of(
            [torch.zeros(individuals, count, dtype=dtype, device=device) for count in counts]
        )

    def pack(
        self,
        individuals: Sequence[Individual],
        weights: Sequence[Weights],
        dtype: torch.dtype,
        device: torch.device,
    ) -> Stack:
        """Return weights side by side, with zeros for what an individual lacks.

        Args:
            individuals: of the stack.
            weights: of each.
            dtype: of the arrays.
            device: where they are.
        """
        stack = self.zeros(len(individuals), dtype, torch.device("cpu"))
        for row, (individual, one) in enumerate(zip(individuals, weights, strict=True)):
            for link, array in one.links.items():
                self._part(stack, row, individual, link).copy_(torch.from_numpy(array))
            for node, bias in enumerate(one.biases, 1):
                place = node_in(individual, len(self.widths), node)
                stack.biases[place][row, 0, : len(bias)].copy_(torch.from_numpy(bias))
        return self.of([block.to(device) for block in stack.blocks])

    def moves(
        self,
        individuals: Sequence[Individual],
        weights: Sequence[Weights],
        dtype: torch.dtype,
        device: torch.device,
    ) -> list[Tensor | None]:
        """Return 1 where a number may move and 0 where not, (P, K) by block; None if all may.

        What may not: weights that a mask cuts, and links of the stack that an individual has not,
        between nodes that it has. Padding needs no mask: it is 0, and so is its gradient.
        """
        stack = self.zeros(len(individuals), dtype, torch.device("cpu"))
        cut: set[Link] = set()
        for block in stack.blocks:
            block.fill_(1)
        for row, (individual, one) in enumerate(zip(individuals, weights, strict=True)):
            for link in self._lacking(individual):
                stack.links[link][row] = 0
                cut.add(link)
            for link, mask in one.masks.items():
                self._part(stack, row, individual, link).copy_(torch.from_numpy(mask))
                cut.add(self._link_in(individual, link))
        moves = [
            block.to(device) if link in cut else None
            for link, block in zip(self.links, stack.blocks, strict=False)
        ]
        return [*moves, None]

    def unpack(self, stack: Stack, row: int, individual: Individual) -> Weights:
        """Return what a stack holds of an individual, copied, without masks."""
        links = {
            link: _copied(self._part(stack, row, individual, link)) for link in individual.edges
        }
        biases = []
        for node in range(1, len(individual.widths)):
            place = node_in(individual, len(self.widths), node)
            biases.append(_copied(stack.biases[place][row, 0, : individual.widths[node]]))
        return Weights(links, tuple(biases))

    def _lacking(self, individual: Individual) -> list[Link]:
        """Return the links of the stack that an individual could have, and has not."""
        nodes = len(self.widths)
        mine = {node_in(individual, nodes, node) for node in range(len(individual.widths))}
        links = {self._link_in(individual, one) for one in individual.edges}
        return [one for one in self.links if one not in links and mine.issuperset(one)]

    def _link_in(self, individual: Individual, link: Link) -> Link:
        nodes = len(self.widths)
        return node_in(individual, nodes, link[0]), node_in(individual, nodes, link[1])

    def _part(self, stack: Stack, row: int, individual: Individual, link: Link) -> Tensor:
        start, end = link
        whole = stack.links[self._link_in(individual, link)]
        return whole[row, : individual.widths[start], : individual.widths[end]]


def _copied(tensor: Tensor) -> NDArray[np.floating]:
    # Torch copies while other threads run Python; NumPy does not.
    array: NDArray[np.floating] = tensor.clone(memory_format=torch.contiguous_format).numpy(
        force=True
    )
    return array
