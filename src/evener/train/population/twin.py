"""Train one individual alone, the plain way: what stacks are held against.

Gradients are autograd's and steps those of PyTorch's own optimisers; only what is drawn is drawn by
the same functions.
"""

import torch
from torch import Tensor
from torch.nn import functional

from evener.train.draw import row_order, units_kept
from evener.train.population.activate import ACTIVATIONS
from evener.train.population.course import Course, Rows
from evener.train.population.individual import Individual
from evener.train.population.weights import Weights


class Twin:
    """An individual by itself.

    Args:
        individual: which.
        start: weights that it begins from.
        rows: what it learns from.
        course: for how long.
        dtype: of weights and values.

    Attributes:
        step: how many were taken.
        losses: mean loss of each epoch.
    """

    def __init__(
        self, individual: Individual, start: Weights, rows: Rows, course: Course, dtype: torch.dtype
    ) -> None:
        self.step = 0
        self.losses: list[float] = []
        self._individual, self._course = individual, course
        self._inputs, self._wanted = rows.inputs.to(dtype), rows.wanted.to(dtype)
        self._links = {
            link: torch.tensor(array, dtype=dtype, requires_grad=True)
            for link, array in start.links.items()
        }
        self._biases = [
            torch.tensor(bias, dtype=dtype, requires_grad=True) for bias in start.biases
        ]
        self._masks = {link: torch.from_numpy(mask) for link, mask in start.masks.items()}
        parameters = [*self._links.values(), *self._biases]
        for one in parameters:  # what nothing leads on from has a gradient of 0, and decays
            one.grad = torch.zeros_like(one)
        rate, decay = individual.learning_rate, individual.weight_decay
        self._optimiser: torch.optim.Optimizer = (
            torch.optim.SGD(parameters, lr=rate, momentum=individual.momentum, weight_decay=decay)
            if individual.optimiser == "sgd"
            else torch.optim.Adam(
                parameters, lr=rate, betas=(individual.momentum, 0.999), weight_decay=decay
            )
        )

    @property
    def weights(self) -> Weights:
        """What it has come to."""
        links = {link: one.detach().numpy() for link, one in self._links.items()}
        biases = tuple(one.detach().numpy() for one in self._biases)
        return Weights(links, biases, {link: mask.numpy() for link, mask in self._masks.items()})

    def train(self) -> None:
        """Train to the end of the course, or until the loss is no finite number."""
        count = len(self._inputs)
        for epoch in range(self._course.epochs):
            order = torch.from_numpy(row_order(self._individual.seed, epoch, count))
            total = 0.0
            for rows in torch.split(order, self._course.batch):
                for group in self._optimiser.param_groups:
                    scale = self._course.scale(self.step, count)
                    group["lr"] = self._individual.learning_rate * scale
                self._optimiser.zero_grad(set_to_none=False)
                sums = self.sums(self._inputs[rows], step=self.step)
                loss = _loss(self._course, sums, self._wanted[rows])
                self.step += 1
                total += float(loss.detach()) * len(rows)
                if not bool(torch.isfinite(loss)):
                    return
                torch.autograd.backward(loss)
                self._optimiser.step()
            self.losses.append(total / count)

    def sums(self, x: Tensor, step: int | None = None) -> Tensor:
        """Return the sums of the last node.

        Args:
            x: (rows, inputs).
            step: of the training, whose dropout applies; None for none.
        """
        one = self._individual
        values = [x]
        last = len(one.widths) - 1
        for node in range(1, last + 1):
            total = self._biases[node - 1].expand(len(x), -1)
            for (start, end), weight in self._links.items():
                if end == node:
                    mask = self._masks.get((start, end))
                    total = total + values[start] @ (weight if mask is None else weight * mask)
            if node < last:
                total = ACTIVATIONS[one.activation](total)
                if one.dropout and step is not None:
                    total = total * self._kept(step, node, len(x)) / (1 - one.dropout)
            values.append(total)
        return values[-1]

    def _kept(self, step: int, node: int, rows: int) -> Tensor:
        one, batch = self._individual, self._course.batch
        count = batch * one.widths[node]
        kept = units_kept(one.seed, range(step, step + 1), node, count, 1 - one.dropout)
        return torch.from_numpy(kept.reshape(batch, -1)[:rows])


def _loss(course: Course, sums: Tensor, wanted: Tensor) -> Tensor:
    counts = None if course.importance is None else sums.new_tensor(course.importance)
    if course.loss == "cross-entropy":
        return functional.cross_entropy(sums, wanted, weight=counts)
    if course.loss == "binary":
        each = functional.binary_cross_entropy_with_logits(
            sums, wanted, pos_weight=counts, reduction="none"
        )
        return each.sum(1).mean()
    return 0.5 * (sums - wanted).square().sum(1).mean()
