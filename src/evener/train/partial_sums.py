"""A dense layer of which a rank has the weights that read its own values, for all neurons.

Each rank multiplies what it has, and the sums of all are added up at the rank of each neuron. Going
back, the gradients of all neurons are gathered, and each rank computes those of its own values: so
nothing else travels. A bias is kept on the rank of its neuron; that of others is 0 there.
Shapes in names: M neurons of the layer, N of a rank, C values of a rank, B rows of a batch.
"""

from collections.abc import Sequence
from copy import copy
from itertools import pairwise

import numpy as np
from torch import Tensor

from evener.comm.communicator import Communicator
from evener.train.mixed import BoundMixed, MixedLayer, Precision
from evener.train.reach import Reach
from evener.train.sharded import BoundLayer, Columns, Run, ShardedLayer
from evener.train.sharding import Placement


def own_reach(placement: Placement, neurons: int, rank: int) -> Reach:
    """Lay out the buffer of a rank that sees its own neurons of a layer only.

    Args:
        placement: which rank has which shards.
        neurons: of the layer.
        rank: whose buffer.
    """
    first, last = placement.bounds(neurons)[rank : rank + 2].tolist()
    rows = np.arange(last - first, dtype=np.int64)
    return Reach(
        held=rows + first,
        own=slice(0, last - first),
        own_coarse=slice(last - first, last - first),
        columns=(rows,) * placement.counts[rank],
        receives={},
        sends={},
    )


class SummedLayer:
    """The weights of one rank, which read its own values.

    Args:
        communicator: the ranks.
        bounds: where each rank's neurons of the layer begin, and the last one's end.
        weight_SMC: (1, M, C).
        bias_SM1: (1, M, 1); what is not this rank's is set to 0, and stays so.
        held: whether steps of one row are held back.

    Attributes:
        runs: one of all neurons; its rows are counted from the rank's first neuron, so that those
            of ranks before have numbers below 0.
        neurons: how many neurons are the rank's own.
    """

    def __init__(
        self,
        communicator: Communicator,
        bounds: Sequence[int],
        weight_SMC: Tensor,
        bias_SM1: Tensor,
        *,
        held: bool,
    ) -> None:
        self._communicator = communicator
        self._bounds = bounds
        first, last = bounds[communicator.rank : communicator.rank + 2]
        self._own = slice(first, last)
        every = bounds[-1]
        columns = Columns(weight_SMC.shape[2])

        def run(rows: slice) -> Run:
            return Run(range(1), rows, weight_SMC, bias_SM1, columns, dense=True, held=held)

        self.runs = (run(slice(-first, every - first)),)
        self.neurons = last - first
        self._products: ShardedLayer | MixedLayer = ShardedLayer([run(slice(0, every))], every)
        keep_own(bias_SM1, self._own)

    def mixed(self, precision: Precision) -> "SummedLayer":
        """Return the layer with its products in half precision, and its sums as they are.

        Args:
            precision: of the products.
        """
        other = copy(self)
        if isinstance(self._products, ShardedLayer):
            other._products = MixedLayer(self._products, precision)  # noqa: SLF001 - of its own kind
        return other

    def bind(
        self, buffer_CB: Tensor, out_NB: Tensor, gradient_NB: Tensor, into_CB: Tensor | None
    ) -> "BoundSums":
        """Say what the layer reads and writes; see `evener.train.sharded.Run.bind`."""
        sums_MB = buffer_CB.new_zeros(self._bounds[-1], buffer_CB.shape[1])
        bound = self._products.bind(buffer_CB, sums_MB, sums_MB, into_CB)
        biases = [run.bias for run in self.runs]
        return BoundSums(
            self._communicator, bound, self._bounds, sums_MB, out_NB, gradient_NB, biases
        )


class BoundSums:
    """A layer whose sums are added up between ranks, and the arrays that it reads and writes.

    Args:
        communicator: the ranks.
        products: of this rank, from `sums_MB` and into it.
        bounds: where each rank's neurons begin, and the last one's end.
        sums_MB: sums of this rank's products on the way forward, gradients of all on the way back.
        out_NB: where the sums of the rank's own neurons go, contiguous.
        gradient_NB: the gradient of these, contiguous.
        biases: of the layer.
    """

    def __init__(
        self,
        communicator: Communicator,
        products: BoundLayer | BoundMixed,
        bounds: Sequence[int],
        sums_MB: Tensor,
        out_NB: Tensor,
        gradient_NB: Tensor,
        biases: Sequence[Tensor],
    ) -> None:
        self._communicator = communicator
        self._products = products
        self._parts = [sums_MB[first:last].numpy() for first, last in pairwise(bounds)]
        self._out = out_NB.numpy()
        self._gradient = gradient_NB.numpy()
        self._own = slice(*bounds[communicator.rank : communicator.rank + 2])
        self._biases = biases

    def forward(self) -> None:
        """Write the sums of the rank's own neurons, added in the order of the ranks."""
        self._products.forward()
        self._communicator.reduce_scatter(self._parts, self._out)

    def gradients(self, into: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Gather the gradients of all neurons, and write those of weight and bias."""
        self._communicator.all_gather(self._gradient, self._parts)
        self._products.gradients(into)
        for _, bias_SM1 in into:
            keep_own(bias_SM1, self._own)

    def back(self) -> None:
        """Write the gradient of what it saw, once `gradients` has gathered that of its sums."""
        self._products.back()

    def descend(self, rate: float) -> None:
        """Gather the gradients of all neurons, go back, and move weights and biases down."""
        self._communicator.all_gather(self._gradient, self._parts)
        self._products.descend(rate)
        for bias_SM1 in self._biases:
            keep_own(bias_SM1, self._own)

    def settle(self) -> None:
        """Move the weights as far as all steps say, where some were held back."""
        self._products.settle()


def keep_own(bias_SM1: Tensor, own: slice) -> None:
    """Set to 0 what is not of the rank's own neurons."""
    bias_SM1[:, : own.start].zero_()
    bias_SM1[:, own.stop :].zero_()
