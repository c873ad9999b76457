"""The plain network that a sharded one must equal: dense matrices with a mask, and autograd."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import torch
from torch import Tensor

from evener.train.activations import Activation
from evener.train.draw import dropout_mask, input_noise, row_order
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.shape import Shape
from evener.train.sharding import coarse_groups
from evener.train.views import parts

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
                    bias[rows[:, 0]] += bias_part.double()  # 0 but on one rank
            self.weights.append(weight.requires_grad_())
            self.masks.append(mask)
            self.biases.append(bias.requires_grad_())

    def forward(self, inputs_BI: Tensor, masks: Sequence[Tensor | None] | None = None) -> Tensor:
        """Return what it answers, (B, O).

        Args:
            inputs_BI: rows that go in.
            masks: what each layer's answers are multiplied by, (B, N); nothing if None.
        """
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
            dropped = masks[layer - 1] if masks is not None else None
            if dropped is not None:
                values = values * dropped
        return values

    def loss(
        self,
        inputs_BI: Tensor,
        wanted_BO: Tensor,
        masks: Sequence[Tensor | None] | None = None,
    ) -> Tensor:
        """Return cross-entropy behind a softmax, else half of the sum of squares, per row."""
        answers = self.forward(inputs_BI, masks)
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

    def train(self, recipe: Recipe, inputs_RI: Tensor, wanted_RO: Tensor) -> list[float]:
        """Train by PyTorch's own optimisers and clipping, and return the loss of each step.

        Args:
            recipe: how.
            inputs_RI: rows that go in.
            wanted_RO: what it should answer to each.
        """
        params = [*self.weights, *self.biases]
        optimiser = self._optimiser(recipe, params)
        per_epoch = recipe.steps_per_epoch(len(inputs_RI))
        losses = []
        for step in range(recipe.epochs * per_epoch):
            epoch, place = divmod(step, per_epoch)
            order = row_order(self.shape.seed, epoch, len(inputs_RI))
            rows = torch.from_numpy(order[place * recipe.batch : (place + 1) * recipe.batch])
            masks = self._dropout(recipe, step, len(rows))
            loss = self.loss(self._noisy(recipe, step, inputs_RI[rows]), wanted_RO[rows], masks)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            if recipe.clip is not None:
                torch.nn.utils.clip_grad_norm_(params, recipe.clip)
            for group in optimiser.param_groups:
                group["lr"] = recipe.rate(step, recipe.epochs * per_epoch)
            optimiser.step()
            losses.append(loss.item())
        return losses

    def _noisy(self, recipe: Recipe, step: int, inputs_BI: Tensor) -> Tensor:
        batch, features = inputs_BI.shape
        drawn = input_noise(self.shape.seed, step, slice(0, batch), features)
        return inputs_BI + recipe.input_noise * torch.from_numpy(drawn)

    def _optimiser(self, recipe: Recipe, params: list[Tensor]) -> torch.optim.Optimizer:
        rate, decay = recipe.learning_rate, recipe.weight_decay
        match recipe.optimiser:
            case "sgd":
                return torch.optim.SGD(
                    params, lr=rate, momentum=recipe.momentum, weight_decay=decay
                )
            case "adam":
                return torch.optim.Adam(params, lr=rate, weight_decay=decay)
            case "adamw":
                return torch.optim.AdamW(params, lr=rate, weight_decay=decay)

    def _dropout(self, recipe: Recipe, step: int, batch: int) -> list[Tensor | None] | None:
        if not recipe.dropout:
            return None
        keep = 1 - recipe.dropout
        hidden = [
            dropout_mask(self.shape.seed, step, layer, slice(0, width), batch, keep)
            for layer, width in enumerate(self.shape.widths[1:-1], 1)
        ]
        return [*(torch.from_numpy(one.T).double() / keep for one in hidden), None]


def parts_of(network: RankedNetwork, layer: int) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Yield for each shard of a rank global rows and columns, and what stands there."""
    for neurons, seen, weight_MC, bias_M in parts(network, layer):
        yield torch.tensor(neurons)[:, None], torch.from_numpy(seen), weight_MC, bias_M
