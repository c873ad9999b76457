"""Go forward and back through a stack of networks, each product being one of all individuals.

Products of a batch touch no other individual: what is no number in one stays there. Shapes in
names: P individuals, B rows of a batch, I and O neurons of two nodes.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from evener.train.population.activations import Activations
from evener.train.population.buckets import Bucket, node_in
from evener.train.population.individual import Individual
from evener.train.population.losses import LossName, compare
from evener.train.population.optimiser import Optimiser
from evener.train.population.products import Act, added_product, product, values_room
from evener.train.population.stack import Stack

Masks = Sequence[Tensor | None]


class Passes:
    """The way through a stack and back, in arrays that are used again at each step.

    What a step does is the same each time and with the same arrays, so it is made ready once: calls
    with all they are given, one after the other.

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
        widths = bucket.widths[1:]
        room = partial(values_room, len(individuals), batch, like=first)
        self._sums = [room(width) for width in widths]
        self._values = [room(width) for width in widths[:-1]]
        self._gradients = [room(width) for width in widths]
        own = first.new_zeros(len(individuals), sum(widths))
        self._bias_gradient = own
        self._bias_gradients = [one.unsqueeze(1) for one in torch.split(own, list(widths), 1)]
        self._dropped = (
            [room(width) for width in widths[:-1]]
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
        self._masks: Masks | None = None
        self._forth: list[Act] = []
        self._back: list[Act] = []
        self._back_for: tuple[Optimiser | None, Masks | None] = None, None

    def forward(self, x_PBI: Tensor, masks: Masks | None = None) -> Tensor:
        """Return the sums (P, B, O) of the last node, which the next call overwrites.

        Args:
            x_PBI: rows for each individual.
            masks: what the values of each hidden node are multiplied by; None where no neuron is
                left out.
        """
        if x_PBI is not self._x or masks is not self._masks:
            self._x, self._masks, self._back_for = x_PBI, masks, (None, None)
            self._forth = list(self._way_forth())
        for act in self._forth:
            act()
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
        if self._back_for[0] is not optimiser or self._back_for[1] is not masks:
            self._back, self._back_for = list(self._way_back(optimiser, masks)), (optimiser, masks)
        for act in self._back:
            act()

    def first_without_numbers(self) -> Tensor:
        """Return the first node whose sums are no finite numbers, (P,); the last where all are."""
        found_P = torch.full_like(self._sums[-1][:, 0, 0], self._last)
        for node in range(self._last, 0, -1):
            finite_P = torch.isfinite(self._sums[node - 1]).all(-1).all(-1)
            found_P = torch.where(finite_P, found_P, node)
        return found_P.to(torch.int64)

    def _outgoing(self, node: int) -> Tensor:
        return self._dropped[node - 1] if node else self._x

    def _way_forth(self) -> Iterator[Act]:
        """Yield what goes forward through the stack, call by call."""
        for node in range(1, self._last + 1):
            sums, bias = self._sums[node - 1], self._weights.biases[node]
            entered = False
            for (start, end), weights_PIO in self._weights.links.items():
                if end != node:
                    continue
                values = self._outgoing(start)
                if entered:
                    yield added_product(values, weights_PIO, sums)
                else:
                    yield product(values, weights_PIO, sums, bias)
                entered = True
            if not entered:
                yield partial(sums.copy_, bias.expand_as(sums))
            if node < self._last:
                yield self._activations[node - 1].apply
                mask = self._masks[node - 1] if self._masks is not None else None
                values, dropped = self._values[node - 1], self._dropped[node - 1]
                if mask is not None:
                    yield partial(torch.mul, values, mask, out=dropped)
                elif dropped is not values:
                    yield partial(dropped.copy_, values)

    def _way_back(self, optimiser: Optimiser, masks: Masks | None) -> Iterator[Act]:
        """Yield what goes back through the stack and moves the weights, call by call."""
        reached = {self._last}
        for node in range(self._last, 0, -1):
            gradient = self._gradients[node - 1]
            if node not in reached:  # nothing leads on from it
                yield gradient.zero_
            elif node < self._last:
                mask = masks[node - 1] if masks is not None else None
                if mask is not None:
                    yield partial(gradient.mul_, mask)
                yield self._activations[node - 1].back
            yield partial(torch.sum, gradient, 1, keepdim=True, out=self._bias_gradients[node - 1])
            for block, (start, end) in enumerate(self._links):
                if end != node:
                    continue
                weights_PIO = self._weights.links[start, end]
                if start:
                    onward = added_product if start in reached else product
                    yield onward(gradient, weights_PIO.mT, self._gradients[start - 1])
                    reached.add(start)
                # Now that the weights have been read, they may move, while they are in the cache.
                yield partial(optimiser.begin, block)
                yield added_product(
                    self._outgoing(start).mT, gradient, optimiser.gradient.links[start, end]
                )
                yield partial(optimiser.step, block)
        biases = len(self._links)
        yield partial(optimiser.begin, biases)
        yield partial(optimiser.gradient.blocks[biases].add_, self._bias_gradient)
        yield partial(optimiser.step, biases)


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
