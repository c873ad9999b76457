"""The layout of the Blue Gene/Q paper to the letter: a master, and a ring of workers.

Surajiwale, Chowdhury, Fawcett and Giris, "A Massively Parallel Artificial Deep Neural Network
Framework for IBM Blue Gene/Q" (2017), section IV. Rank 0 is the master and computes no neuron.
Each worker has an equal part of every layer but the input, which all of them read whole, and holds
two ghosts of each hidden layer: the last neuron of the worker before (ghostTop) and the first of
the one after (ghostBottom). Going back "is not any different than it would be if the program is run
in serial": gradients end at the ghosts, and are never sent to their owners. So the weights are
those of `Topology(shards=workers, halo=1)`, and the steps are not; `evener.train.paper_twin` says
by how much. Shapes in names: N neurons of a worker, C that it sees, O outputs, B rows of a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from evener.comm.communicator import Communicator, Exchange
from evener.errors import InputError
from evener.train.activations import RULES
from evener.train.draw import weight_row
from evener.train.sharding import Indices, block_bounds

_SIGMOID = RULES["sigmoid"]


def ring_neighbours(rank: int, ranks: int) -> tuple[int, int]:
    """Return the workers before and after a worker: the three cases of the paper's section IV-A.

    Args:
        rank: of the worker, from 1.
        ranks: how many there are with the master; three or more.

    Example:
        >>> [ring_neighbours(rank, 5) for rank in (1, 2, 3, 4)]
        [(4, 2), (1, 3), (2, 4), (3, 1)]
    """
    if rank == 1:  # case 1, lines 16-20 of Algorithm 1
        return ranks - 1, 2
    if rank == ranks - 1:  # case 2, lines 21-25
        return rank - 1, 1
    return rank - 1, rank + 1  # case 3, lines 26-30


def check_workers(widths: Sequence[int], ranks: int) -> None:
    """Refuse layers that the ranks cannot share in the paper's way.

    Args:
        widths: neurons of each layer, the input first.
        ranks: how many there are, the master among them.

    Raises:
        InputError: no worker, a layer of fewer neurons than workers, or two workers with a neuron
            each, whose ghosts above and below would be one.
    """
    if ranks < 2:
        raise InputError(
            f"the paper's layout on {ranks} rank: rank 0 is the master and computes nothing; start "
            "2 or more"
        )
    workers = ranks - 1
    least = min(widths[1:])
    if least < workers:
        raise InputError(
            f"the paper's layout with {workers} workers and a layer of {least} neurons: each "
            f"worker has one or more; start {least + 1} ranks or fewer"
        )
    fewest = min(widths[1:-1], default=4)
    if workers == 2 and fewest < 4:
        raise InputError(
            f"the paper's layout with 2 workers and a hidden layer of {fewest} neurons: first and "
            "last neuron of a worker would be one; give 4 or more, or start 2 ranks"
        )


@dataclass(frozen=True, slots=True, eq=False)
class PaperLayer:
    """What a worker has of a layer.

    Attributes:
        rows: its neurons among those of the layer.
        seen: the neurons of the layer before that it sees: ghostTop, its own, ghostBottom.
        weight: (N, C).
        bias: (N, 1).
    """

    rows: slice
    seen: Indices
    weight: Tensor
    bias: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """The arrays of one size of a batch on one rank.

    Attributes:
        values: of each hidden layer what the next one sees of it, (C, B), and the worker's outputs.
        exchanges: of each hidden layer those of first and of last neurons.
        outputs: of each rank, one below the other in `gathered`.
        gathered: (O, B).
    """

    values: list[Tensor]
    exchanges: list[tuple[Exchange, ...]]
    outputs: list[Tensor]
    gathered: Tensor


class PaperNetwork:
    """One rank of the paper's program: the master, or a worker.

    Every layer is sigmoid, and the loss half of the sum of squares, as equations 1 and 4 say.

    Args:
        widths: neurons of each layer, the input first.
        communicator: the ranks; the first one is the master.
        seed: what the weights are drawn from: those of `RankedNetwork` with as many shards as
            workers and a halo of 1.
        dtype: of weights and values.

    Attributes:
        layers: what this rank has of each layer but the input; the master has none.

    Raises:
        InputError: the ranks cannot share the layers; see `check_workers`.
    """

    def __init__(
        self,
        widths: Sequence[int],
        communicator: Communicator,
        *,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        check_workers(widths, communicator.size)
        self._widths = tuple(widths)
        self._communicator = communicator
        self._dtype = dtype
        self._bounds = [block_bounds(one, communicator.size - 1) for one in widths]
        self.layers: list[PaperLayer] = []
        if communicator.rank > 0:
            self.layers = [self._make_layer(layer, seed) for layer in range(1, len(widths))]
        self._works: dict[int, _Work] = {}

    def forward(self, inputs_BI: Tensor) -> Tensor:
        """Return the whole output, (O, B), on every rank: Algorithm 1, and the Allgather after it.

        Args:
            inputs_BI: whole rows, the same on all ranks.
        """
        work = self._work_of(inputs_BI)
        seen_CB = inputs_BI.to(self._dtype).T
        for index, layer in enumerate(self.layers):
            values_CB = work.values[index]
            own_NB = values_CB[self._own(index + 1)]
            torch.addmm(layer.bias, layer.weight, seen_CB, out=own_NB)
            _SIGMOID.apply(own_NB)
            for exchange in work.exchanges[index]:
                exchange.start()
            for exchange in work.exchanges[index]:
                exchange.wait()
            seen_CB = values_CB
        self._communicator.barrier()
        mine = work.values[-1] if self.layers else work.outputs[0]
        self._communicator.all_gather(mine.numpy(), [one.numpy() for one in work.outputs])
        return work.gathered

    def gradients(self, inputs_BI: Tensor, wanted_BO: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return what this rank takes for the gradients of its weights and biases, ghosts cut off.

        Args:
            inputs_BI: whole rows.
            wanted_BO: what the network should answer to them.
        """
        error_OB = self.forward(inputs_BI) - wanted_BO.to(self._dtype).T
        work = self._work_of(inputs_BI)
        inputs_IB = inputs_BI.to(self._dtype).T
        found: list[tuple[Tensor, Tensor]] = []
        gradient_NB = error_OB[:0]
        for index in reversed(range(len(self.layers))):
            layer = self.layers[index]
            if index == len(self.layers) - 1:
                gradient_NB = error_OB[layer.rows] / len(inputs_BI)
            _SIGMOID.back(gradient_NB, work.values[index][self._own(index + 1)])
            seen_CB = work.values[index - 1] if index else inputs_IB
            found.append((gradient_NB @ seen_CB.T, gradient_NB.sum(1, keepdim=True)))
            if index:  # the rows of the ghosts end here, where their owners will never see them
                gradient_NB = (layer.weight.T @ gradient_NB)[self._own(index)]
        return found[::-1]

    def descend(self, inputs_BI: Tensor, wanted_BO: Tensor, rate: float) -> float | None:
        """Take a step by equation 9; return the loss before it on the master, None on workers.

        Args:
            inputs_BI: whole rows.
            wanted_BO: what the network should answer to them.
            rate: the learning rate.
        """
        gradients = self.gradients(inputs_BI, wanted_BO)
        for layer, (of_weight, of_bias) in zip(self.layers, gradients, strict=True):
            layer.weight.sub_(of_weight, alpha=rate)
            layer.bias.sub_(of_bias, alpha=rate)
        if self._communicator.rank > 0:
            return None
        error_OB = self._work_of(inputs_BI).gathered.double() - wanted_BO.T
        return error_OB.square().sum().item() / (2 * len(inputs_BI))

    def close(self) -> None:
        """Give back what the ranks prepared for one another."""
        for work in self._works.values():
            for exchange in (one for pair in work.exchanges for one in pair):
                exchange.close()
        self._works.clear()

    def _own(self, layer: int) -> slice:
        """Return the worker's own rows among those that the next layer sees of a layer."""
        ghosts = self._ghosts_of(layer)
        worker = self._communicator.rank - 1
        start, stop = self._bounds[layer][worker : worker + 2]
        return slice(ghosts, ghosts + int(stop - start))

    def _ghosts_of(self, layer: int) -> int:
        """Return how many ghosts a worker has at either end of a layer."""
        hidden = 0 < layer < len(self._widths) - 1
        return int(hidden and self._communicator.size > 2)

    def _make_layer(self, layer: int, seed: int) -> PaperLayer:
        worker = self._communicator.rank - 1
        start, stop = self._bounds[layer][worker : worker + 2].tolist()
        before = self._widths[layer - 1]
        seen = np.arange(before, dtype=np.int64)
        if layer > 1:
            first, last = self._bounds[layer - 1][worker : worker + 2].tolist()
            ghosts = self._ghosts_of(layer - 1)
            seen = np.arange(first - ghosts, last + ghosts, dtype=np.int64) % before
        drawn = np.stack([weight_row(seed, layer, row, before + 1) for row in range(start, stop)])
        drawn *= len(seen) ** -0.5
        weight, bias = (
            torch.from_numpy(part).to(self._dtype) for part in (drawn[:, seen], drawn[:, -1:])
        )
        return PaperLayer(slice(start, stop), seen, weight.contiguous(), bias.contiguous())

    def _work_of(self, inputs_BI: Tensor) -> _Work:
        batch = len(inputs_BI)
        if batch not in self._works:
            self._works[batch] = self._make_work(batch)
        return self._works[batch]

    def _make_work(self, batch: int) -> _Work:
        gathered = torch.zeros(self._widths[-1], batch, dtype=self._dtype)
        parts = [0, *np.diff(self._bounds[-1]).tolist()]  # the master has no output neuron
        values = []
        for layer in range(1, len(self._widths)) if self.layers else ():
            own = self._own(layer)
            values.append(torch.zeros(own.stop + own.start, batch, dtype=self._dtype))
        exchanges = [
            self._open(layer, values[layer - 1] if self.layers else gathered, batch)
            for layer in range(1, len(self._widths) - 1)
        ]
        return _Work(values, [*exchanges, ()], list(torch.split(gathered, parts)), gathered)

    def _open(self, layer: int, values_CB: Tensor, batch: int) -> tuple[Exchange, ...]:
        """Open the messages of one hidden layer: those of first neurons, and those of last ones."""
        ranks, rank = self._communicator.size, self._communicator.rank
        if ranks == 2:  # "the equivalent of running it sequentially": there is no other worker
            return ()
        names = [f"layer {layer}, {which} neurons, batch {batch}" for which in ("first", "last")]
        if rank == 0:  # in step with the others, but in nobody's reach
            return tuple(self._communicator.open_exchange(name, {}, {}) for name in names)
        before, after = ring_neighbours(rank, ranks)
        own = self._own(layer)
        top, bottom = values_CB[:1].numpy(), values_CB[-1:].numpy()
        first, last = values_CB[own][:1].numpy(), values_CB[own][-1:].numpy()
        return (
            self._communicator.open_exchange(names[0], {before: first}, {after: bottom}),
            self._communicator.open_exchange(names[1], {after: last}, {before: top}),
        )
