"""What the paper's way back leaves out: gradients that end at the ghosts, beside all of them.

The sequential twin of `evener.train.paper`: a dense network with a mask, of whose weights those
between two shards are multiplied with values that autograd takes for constants.
"""

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.train.activations import Activation
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape
from evener.train.sharding import block_bounds
from evener.train.twin import ACTIVATIONS, Twin


def paper_shape(widths: tuple[int, ...], workers: int, *, seed: int = 0) -> Shape:
    """Return the network that the paper's workers hold, as one with shards.

    Example:
        >>> paper_shape((3, 64, 128, 256, 64), 32).topology
        Topology(shards=32, halo=1, shuffle=False, coarse=0, input='replicated')
    """
    # One worker has no neighbour: its own ghosts would be neurons that it sees already.
    topology = Topology(shards=workers, halo=1 if workers > 1 else 0)
    sigmoid: Activation = "sigmoid"
    return Shape(widths, (sigmoid,) * (len(widths) - 1), topology, seed)


class CutOffTwin:
    """A masked dense network whose gradients end at the ghosts; double precision.

    Args:
        shape: the network; of one without shuffling and coarse values.

    Attributes:
        twin: the network, whose weights steps change.
    """

    def __init__(self, shape: Shape) -> None:
        self.twin = Twin(shape, [RankedNetwork(shape, Alone(), dtype=torch.float64)])
        shards = [_shard_of_each(width, shape.topology.shards) for width in shape.widths]
        self._own = [here[:, None] == before for before, here in pairwise(shards)]

    def gradients(self, inputs_BI: Tensor, wanted_BO: Tensor) -> list[Tensor]:
        """Return the gradients of all weights, then of all biases, without what came by ghosts."""
        return list(torch.autograd.grad(self._loss(inputs_BI, wanted_BO), self._params()))

    def exact_gradients(self, inputs_BI: Tensor, wanted_BO: Tensor) -> list[Tensor]:
        """Return the same with what comes by ghosts: the gradients of the loss."""
        return list(torch.autograd.grad(self.twin.loss(inputs_BI, wanted_BO), self._params()))

    def error(self, inputs_BI: Tensor, wanted_BO: Tensor) -> float:
        """Return by how much the two differ, as a share of the exact one's Euclidean length."""
        cut, exact = (
            torch.cat([one.reshape(-1) for one in found])
            for found in (
                self.gradients(inputs_BI, wanted_BO),
                self.exact_gradients(inputs_BI, wanted_BO),
            )
        )
        return float((cut - exact).norm() / exact.norm())

    def descend(self, inputs_BI: Tensor, wanted_BO: Tensor, rate: float) -> float:
        """Take a step down the gradients that end at the ghosts; return the loss before it."""
        loss = self._loss(inputs_BI, wanted_BO)
        with torch.no_grad():
            found = torch.autograd.grad(loss, self._params())
            for param, gradient in zip(self._params(), found, strict=True):
                param.sub_(gradient, alpha=rate)
        return loss.item()

    def _params(self) -> list[Tensor]:
        return [*self.twin.weights, *self.twin.biases]

    def _loss(self, inputs_BI: Tensor, wanted_BO: Tensor) -> Tensor:
        twin = self.twin
        values = inputs_BI.double()
        layers = zip(twin.weights, twin.masks, twin.biases, self._own, strict=True)
        for (stored, mask, bias, own), name in zip(layers, twin.shape.activations, strict=True):
            weight = stored * mask
            sums = values @ (weight * own).T + values.detach() @ (weight * ~own).T + bias
            values = ACTIVATIONS[name](sums)
        return (values - wanted_BO.double()).square().sum() / (2 * len(inputs_BI))


def _shard_of_each(neurons: int, shards: int) -> Tensor:
    sizes = torch.from_numpy(np.diff(block_bounds(neurons, shards)))
    return torch.arange(shards).repeat_interleave(sizes)
