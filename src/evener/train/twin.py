"""The plain network that a sharded one must equal: dense matrices with a mask, and autograd."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import torch
from torch import Tensor

from evener.train.activations import Activation
from evener.train.ranked import RankedNetwork, Shape
from evener.train.sharding import coarse_groups

ACTIVATIONS: Final[Mapping[Activation, Callable[[Tensor], Tensor]]] = {
    "identity": lambda x: x,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "softmax": lambda x: torch.softmax(x, dim=-1),
}


class Twin:
    """A dense network in double precision, some weights of which are masked out.

    Args:
        shape: the network.
        ranks: all that compute it, whose weights are copied.

    Attributes:
        weights: of each layer, (outputs, inputs and coarse values).
        masks: one where a weight exists.
        biases: of each layer.
    """

    def __init__(self, shape: Shape, ranks: Sequence[RankedNetwork]) -> None:
        self.shape = shape
        self.weights: list[Tensor] = []
        self.masks: list[Tensor] = []
        self.biases: list[Tensor] = []
        for layer in range(1, len(shape.widths)):
            before, here = shape.widths[layer - 1 : layer + 1]
            groups = coarse_groups(shape.topology, shape.widths, layer)
            coarse = 0 if groups is None else len(groups) - 1
            weight = torch.zeros(here, before + coarse, dtype=torch.float64)
            mask = torch.zeros_like(weight)
            bias = torch.zeros(here, dtype=torch.float64)
            for network in ranks:
                for rows, columns, part, bias_part in parts_of(network, layer):
                    weight[rows, columns] = part.double()
                    mask[rows, columns] = 1.0
                    bias[rows[:, 0]] = bias_part.double()
            self.weights.append(weight.requires_grad_())
            self.masks.append(mask)
            self.biases.append(bias.requires_grad_())

    def forward(self, inputs_BI: Tensor) -> Tensor:
        """Return what it answers, (B, O)."""
        values = inputs_BI.double()
        for layer, (weight, mask, bias) in enumerate(
            zip(self.weights, self.masks, self.biases, strict=True), 1
        ):
            groups = coarse_groups(self.shape.topology, self.shape.widths, layer)
            seen = [values]
            if groups is not None:
                bounds = groups.tolist()
                seen += [
                    values[:, first:last].mean(1, keepdim=True) for first, last in pairwise(bounds)
                ]
            values = torch.cat(seen, 1) @ (weight * mask).T + bias
            values = ACTIVATIONS[self.shape.activations[layer - 1]](values)
        return values

    def loss(self, inputs_BI: Tensor, wanted_BO: Tensor) -> Tensor:
        """Return cross-entropy behind a softmax, else half of the sum of squares, per row."""
        answers = self.forward(inputs_BI)
        wanted = wanted_BO.double()
        if self.shape.activations[-1] == "softmax":
            return -(wanted * answers.log()).sum() / len(inputs_BI)
        return (answers - wanted).square().sum() / (2 * len(inputs_BI))

    def descend(self, inputs_BI: Tensor, wanted_BO: Tensor, rate: float) -> float:
        """Take a step of plain gradient descent, and return the loss before it."""
        loss = self.loss(inputs_BI, wanted_BO)
        params = [*self.weights, *self.biases]
        with torch.no_grad():
            for param, gradient in zip(params, torch.autograd.grad(loss, params), strict=True):
                param.sub_(gradient, alpha=rate)
        return loss.item()


def parts_of(network: RankedNetwork, layer: int) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Yield for each shard of a rank global rows and columns, and what stands there."""
    reach = network.reaches[layer - 1]
    first = int(network.placement.bounds(network.shape.widths[layer])[network.rank])
    for run in network.layers[layer - 1].runs:
        neurons = run.weight.shape[1]
        for place, shard in enumerate(run.shards):
            start = first + run.rows.start + place * neurons
            rows = torch.arange(start, start + neurons)[:, None]
            columns = torch.from_numpy(reach.held[reach.columns[shard]])
            yield rows, columns, run.weight[place], run.bias[place, :, 0]
