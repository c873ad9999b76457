"""Go forward and back through a stack of networks, each product being one of all individuals.

Products of a batch touch no other individual: what is no number in one stays there. Shapes in
names: P individuals, B rows of a batch, I and O neurons of two nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evener.train.population.activations import Activations
from evener.train.population.buckets import Bucket, node_in
from evener.train.population.individual import Individual
from evener.train.population.losses import LossName, compare
from evener.train.population.optimiser import Optimiser
from evener.train.population.stack import Stack

Masks = Sequence[Tensor | None]


class Passes:
    """The way through a stack and back, in arrays that are used again at each step.

    Args:
        bucket: whose shape the weights have.
        individuals: of the stack.
        weights: of the stack.
        batch: rows of a step.
    """

    def __init__(
        self, bucket: Bucket, individuals: Sequence[Individual], weights: Stack, batch: int
    ) -> None:
        self._weights = weights
        self._links = bucket.links
        self._last = len(bucket.widths) - 1
        first = next(iter(weights.links.values()))
        shapes = [(len(individuals), batch, width) for width in bucket.widths]
        self._sums = [first.new_zeros(shape) for shape in shapes[1:]]
        self._values = [first.new_zeros(shape) for shape in shapes[1:-1]]
        self._gradients = [first.new_zeros(shape) for shape in shapes[1:]]
        self._bias_gradients = [first.new_zeros(len(individuals), 1, one[2]) for one in shapes[1:]]
        self._dropped = (
            [first.new_zeros(shape) for shape in shapes[1:-1]]
            if any(one.dropout for one in individuals)
            else self._values
        )
        there = _neurons_there(bucket, individuals, first.dtype)[1:-1]
        self._activations = [
            Activations(individuals, z, y, gradient, one.to(first.device))
            for z, y, gradient, one in zip(
                self._sums, self._values, self._gradients, there, strict=False
            )
        ]
        self._x = first.new_zeros(())
        self._back: list[list[_Back]] = []  # by node, from the first hidden one
        self._back_for: Optimiser | None = None

    def forward(self, x_PBI: Tensor, masks: Masks | None = None) -> Tensor:
        """Return the sums (P, B, O) of the last node, which the next call overwrites.

        Args:
            x_PBI: rows for each individual.
            masks: what the values of each hidden node are multiplied by; None where no neuron is
                left out.
        """
        if x_PBI is not self._x:
            self._x, self._back_for = x_PBI, None
        for node in range(1, self._last + 1):
            sums = self._sums[node - 1]
            bias = self._weights.biases[node]
            entered = False
            for start, end in self._links:
                if end != node:
                    continue
                values = self._outgoing(start)
                if entered:
                    sums.baddbmm_(values, self._weights.links[start, end])
                else:
                    torch.baddbmm(bias, values, self._weights.links[start, end], out=sums)
                entered = True
            if not entered:
                sums.copy_(bias.expand_as(sums))
            if node < self._last:
                self._activations[node - 1].apply()
                mask = masks[node - 1] if masks is not None else None
                if mask is not None:
                    torch.mul(self._values[node - 1], mask, out=self._dropped[node - 1])
                elif self._dropped is not self._values:
                    self._dropped[node - 1].copy_(self._values[node - 1])
        return self._sums[-1]

    def compare(
        self, loss: LossName, wanted_PBO: Tensor, importance_O: Tensor | None = None
    ) -> Tensor:
        """Return the loss (P,) of what went forward last, and remember which way is down."""
        return compare(loss, self._sums[-1], wanted_PBO, self._gradients[-1], importance_O)

    def backward(self, optimiser: Optimiser, masks: Masks | None = None) -> None:
        """Move the weights by the gradient of the loss that was compared last, link by link.

        Args:
            optimiser: of the weights.
            masks: those that went forward.
        """
        if self._back_for is not optimiser:
            self._back, self._back_for = self._way_back(optimiser), optimiser
        biases = len(self._links)
        optimiser.begin(biases)
        reached = {self._last}
        for node in range(self._last, 0, -1):
            gradient = self._gradients[node - 1]
            if node not in reached:  # nothing leads on from it
                gradient.zero_()
            elif node < self._last:
                mask = masks[node - 1] if masks is not None else None
                if mask is not None:
                    gradient.mul_(mask)
                self._activations[node - 1].back()
            own = torch.sum(gradient, 1, keepdim=True, out=self._bias_gradients[node - 1])
            optimiser.gradient.biases[node].add_(own)
            for link in self._back[node - 1]:
                if link.onward is not None:
                    if link.start in reached:
                        link.onward.baddbmm_(gradient, link.weights_POI)
                    else:
                        torch.bmm(gradient, link.weights_POI, out=link.onward)
                    reached.add(link.start)
                # Now that the weights have been read, they may move, while they are in the cache.
                optimiser.begin(link.block)
                link.room.baddbmm_(link.values_PIB, gradient)
                optimiser.step(link.block)
        optimiser.step(biases)

    def first_without_numbers(self) -> Tensor:
        """Return the first node whose sums are no finite numbers, (P,); the last where all are."""
        found_P = torch.full_like(self._sums[-1][:, 0, 0], self._last)
        for node in range(self._last, 0, -1):
            finite_P = torch.isfinite(self._sums[node - 1]).all(-1).all(-1)
            found_P = torch.where(finite_P, found_P, node)
        return found_P.to(torch.int64)

    def _outgoing(self, node: int) -> Tensor:
        return self._dropped[node - 1] if node else self._x

    def _way_back(self, optimiser: Optimiser) -> list[list["_Back"]]:
        """Return what goes back through each link, by the node that it leads to."""
        found: list[list[_Back]] = [[] for _ in self._sums]
        for block, (start, end) in enumerate(self._links):
            found[end - 1].append(
                _Back(
                    block,
                    start,
                    optimiser.gradient.links[start, end],
                    self._outgoing(start).transpose(1, 2),
                    self._gradients[start - 1] if start else None,
                    self._weights.links[start, end].transpose(1, 2),
                )
            )
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Back:
    """What goes back through a link.

    Attributes:
        block: of its weights.
        start: node from which it leads.
        room: for the gradient of its weights.
        values_PIB: that it led on.
        onward: gradient of these; None for the input, which needs none.
        weights_POI: of the link.
    """

    block: int
    start: int
    room: Tensor
    values_PIB: Tensor
    onward: Tensor | None
    weights_POI: Tensor


def _neurons_there(
    bucket: Bucket, individuals: Sequence[Individual], dtype: torch.dtype
) -> list[Tensor]:
    """Return 1 for each neuron of each node that an individual has, 0 for padding, (P, 1, O)."""
    nodes = len(bucket.widths)
    there = [torch.zeros(len(individuals), 1, width, dtype=dtype) for width in bucket.widths]
    for row, individual in enumerate(individuals):
        for node, width in enumerate(individual.widths):
            there[node_in(individual, nodes, node)][row, 0, :width] = 1
    return there
