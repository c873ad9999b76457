"""Train deep networks of several domains side by side, as one batch of matrices."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log, sqrt
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evener.search.chaos.domains import Domain, Start, draw_start

ACTIVATION: Final = "tanh"
CLASSES: Final = 10
MOMENTUM: Final = 0.9
GUESSING: Final = log(CLASSES)


@dataclass(frozen=True)
class Rows:
    """Rows to learn from and to judge by; a pixel has the mean square 1."""

    inputs: Tensor
    labels: Tensor
    test_inputs: Tensor
    test_labels: Tensor


@dataclass(frozen=True)
class Learnt:
    """What each network came to: arrays of one value a network, or [looks, networks]."""

    loss: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    diverged: NDArray[np.bool_]
    gradient: NDArray[np.float64]


@dataclass
class Batch:
    """Networks of one shape: weights [networks, inputs, outputs] and biases of every layer."""

    weights: list[Tensor]
    biases: list[Tensor]
    masks: list[Tensor]

    def parameters(self) -> list[Tensor]:
        """Return all that is learned."""
        return [*self.weights, *self.biases]

    def answers(self, rows: Tensor) -> Tensor:
        """Return the sums of the last layer: [networks, rows, classes]."""
        values = rows.expand(len(self.weights[0]), *rows.shape)
        for weights, biases in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values = torch.baddbmm(biases, values, weights).tanh()
        return torch.baddbmm(self.biases[-1], values, self.weights[-1])

    def losses(self, rows: Tensor, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy of each network."""
        answers = self.answers(rows).transpose(1, 2)
        wanted = labels.expand(len(answers), -1)
        return torch.nn.functional.cross_entropy(answers, wanted, reduction="none").mean(dim=1)

    def back(self, rows: Tensor, labels: Tensor) -> list[Tensor]:
        """Return the gradients; those of missing links are 0."""
        found = torch.autograd.grad(self.losses(rows, labels).sum(), self.parameters())
        count = len(self.weights)
        # where: a network that diverged has NaN, of which 0 times is NaN.
        cut = [
            torch.where(mask, one, 0.0) for mask, one in zip(self.masks, found[:count], strict=True)
        ]
        return [*cut, *found[count:]]


def draw(domain: Domain, seed: int) -> Start:
    """Draw where a network starts."""
    return draw_start(domain, ACTIVATION, np.random.default_rng([seed, 1]))


def make(starts: Sequence[Start], widths: Sequence[int], seeds: Sequence[int]) -> Batch:
    """Draw networks; the last layer has all its links and a gain of 1."""
    rngs = [np.random.default_rng([seed, 2]) for seed in seeds]
    made = Batch([], [], [])
    layers = list(pairwise(widths))
    for index, (before, after) in enumerate(layers):
        last = index == len(layers) - 1
        parts = []
        for start, rng in zip(starts, rngs, strict=True):
            mask = rng.random((before, after)) < (1.0 if last else start.density)
            spread = sqrt((1.0 if last else start.weight_variance) / before)
            weights = np.where(mask, rng.standard_normal(mask.shape) * spread, 0.0)
            biases = rng.standard_normal((1, after)) * sqrt(start.bias_variance)
            parts.append((weights, biases * (not last), mask))
        for arrays, kept in zip(
            zip(*parts, strict=True), (made.weights, made.biases, made.masks), strict=True
        ):
            tensor = torch.from_numpy(np.stack(arrays))
            kept.append(tensor if tensor.dtype == torch.bool else tensor.float().requires_grad_())
    return made


def train(
    batch: Batch,
    rates: Sequence[float],
    rows: Rows,
    *,
    epochs: int,
    size: int,
    looks: Sequence[int],
) -> Learnt:
    """Train by steps with momentum, every network with its own rate, all on the same batches.

    Rates fall to 0 in a line: else a rate that is best for a few epochs lets a deep network burst
    after many.

    Args:
        batch: the networks; they change.
        rates: a learning rate for each.
        rows: what they learn.
        epochs: passes over the rows.
        size: rows of a step.
        looks: epochs after which the loss on all rows is taken, 0 for before the first.
    """
    speeds = [torch.zeros_like(one) for one in batch.parameters()]
    rate = torch.tensor(rates)[:, None, None]
    steps = epochs * ceil(len(rows.inputs) / size)
    step = 0
    order = torch.Generator().manual_seed(20_26)
    gradients = batch.back(rows.inputs[:size], rows.labels[:size])
    ends = gradients[0], gradients[len(batch.weights) - 1]
    first, last = (one.flatten(1).norm(dim=1).double() for one in ends)
    seen = []
    for epoch in range(epochs + 1):
        if epoch in looks:
            with torch.no_grad():
                seen.append(batch.losses(rows.inputs, rows.labels).double().numpy())
        if epoch == epochs:
            break
        shuffled = torch.randperm(len(rows.inputs), generator=order)
        for part in torch.split(shuffled, size):
            found = batch.back(rows.inputs[part], rows.labels[part])
            with torch.no_grad():
                for one, speed, down in zip(batch.parameters(), speeds, found, strict=True):
                    speed.mul_(MOMENTUM).add_(down)
                    one.sub_(rate * (1 - step / steps) * speed)
            step += 1
    with torch.no_grad():
        right = batch.answers(rows.test_inputs).argmax(dim=2) == rows.test_labels
    loss = np.stack(seen)
    return Learnt(
        np.where(np.isfinite(loss), loss, GUESSING),
        right.double().mean(dim=1).numpy(),
        ~np.isfinite(loss[-1]),
        (first.clamp_min(1e-300).log10() - last.clamp_min(1e-300).log10()).numpy(),
    )
