"""Turn the gradients of a rank's weights into a step, by an optimiser of PyTorch.

Weights and biases of a rank are one array, and so are their gradients; see
`evener.train.parameters`. Plain gradient descent needs none of this: it writes no gradients.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evener.train.parameters import Views
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe

_BLOCK: Final = 1 << 21  # numbers that are squared in double precision at a time
_NORM_EPSILON: Final = 1e-6  # as torch.nn.utils.clip_grad_norm_


class Optimiser:
    """What moves the weights of one rank.

    Args:
        recipe: which optimiser, and how it is set.
        network: whose weights it moves.
        measures: whether the norm of every gradient is asked for.

    Attributes:
        gradient: of the network's parameters, in an array like theirs.
        views: the same by layer and run.
        norm: of the gradient of the last step, before it was clipped; None where nobody needs it.
    """

    def __init__(self, recipe: Recipe, network: RankedNetwork, *, measures: bool = False) -> None:
        self.norm: float | None = None
        self._measures = measures
        self._parameters = network.parameters
        self._clip = recipe.clip
        self._norm = GradientNorm(network)
        flat = network.parameters.flat
        self.gradient = torch.zeros_like(flat)
        self.views = network.parameters.views_of(self.gradient)
        flat.grad = self.gradient
        self._optimiser = _make(recipe, flat)

    def step(self, rate: float) -> None:
        """Move the weights by what stands in `gradient`; every rank calls it.

        Args:
            rate: the learning rate.
        """
        if self._measures or self._clip is not None:
            self.norm = self._norm.of(self.views)
        if self._clip is not None and self.norm is not None:
            scale = self._clip / (self.norm + _NORM_EPSILON)
            if scale < 1:
                self.gradient *= scale
        self._optimiser.param_groups[0]["lr"] = rate
        self._optimiser.step()

    def arrays(self) -> dict[str, Tensor]:
        """Return what it remembers of past steps: arrays like the parameters', by name."""
        state = self._optimiser.state.get(self._parameters.flat, {})
        return {
            name: value
            for name, value in state.items()
            if isinstance(value, Tensor) and value.shape == self.gradient.shape
        }

    def restore(self, arrays: Mapping[str, Tensor], steps: int) -> None:
        """Remember what `arrays` returned after some steps.

        Args:
            arrays: by name; none after no steps.
            steps: how many were taken.
        """
        if not arrays:
            return
        state = self._optimiser.state[self._parameters.flat]
        state.clear()
        state.update(arrays)
        if "exp_avg" in arrays:
            state["step"] = torch.tensor(float(steps))


class GradientNorm:
    """The norm of the gradient of all ranks' weights and biases, the same on each.

    Args:
        network: the rank's part.
    """

    def __init__(self, network: RankedNetwork) -> None:
        self._communicator = network.communicator
        self._parts: list[NDArray[np.float64]] = []

    def of(self, gradients: Views) -> float:
        """Return the norm; every rank calls it.

        Args:
            gradients: of this rank.
        """
        mine = np.array(list(_squares(gradients)))
        if not self._parts:
            counts = np.zeros((self._communicator.size, 1), np.int64)
            self._communicator.all_gather(np.array([len(mine)], np.int64), list(counts))
            self._parts = [np.zeros(count) for count in counts[:, 0]]
        self._communicator.all_gather(mine, self._parts)
        # An exactly rounded sum depends neither on order nor on who has which shard.
        return math.sqrt(math.fsum(np.concatenate(self._parts).tolist()))


class MeasuredGradient:
    """The norm of the gradient of plain steps, which is written only to be measured.

    Args:
        network: the rank's part.

    Attributes:
        norm: of the gradient that was measured last; None before.
    """

    def __init__(self, network: RankedNetwork) -> None:
        self.norm: float | None = None
        self._network = network
        self._views = network.parameters.views_of(torch.zeros_like(network.parameters.flat))
        self._norm = GradientNorm(network)

    def see(self, wanted_BO: Tensor) -> None:
        """Measure that of the batch that was compared last; every rank calls it.

        Args:
            wanted_BO: what it was compared with, and is once more, for the way back overwrites it.
        """
        self._network.differentiate(self._views)
        self.norm = self._norm.of(self._views)
        self._network.compare(wanted_BO)


def _squares(gradients: Views) -> Iterator[float]:
    """Yield the sums of squares of each shard of each layer, and of its biases, in blocks.

    What a shard's numbers are added up in depends on its own size only.
    """
    for part in (part for runs in gradients for run in runs for part in run):
        for columns in torch.split(part.flatten(1), _BLOCK, 1):
            for some in torch.split(columns, max(1, _BLOCK // columns.shape[1])):
                yield from some.double().square().sum(1).tolist()


def _make(recipe: Recipe, flat: Tensor) -> torch.optim.Optimizer:
    """Make an optimiser that computes one array at a time: the order of additions is its own."""
    if recipe.optimiser == "sgd":
        return torch.optim.SGD(
            [flat],
            lr=recipe.learning_rate,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
            foreach=False,
        )
    kind = torch.optim.Adam if recipe.optimiser == "adam" else torch.optim.AdamW
    return kind([flat], lr=recipe.learning_rate, weight_decay=recipe.weight_decay, foreach=False)
