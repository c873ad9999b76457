"""What one rank computes of a sharded network: forward, back and a step, its ghosts filled between.

The program is the same on every rank. Neurons come first and rows of a batch last; see
`evener.train.sharded`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import torch
from torch import Tensor

from evener.artifacts.topology import Topology
from evener.comm.communicator import Communicator
from evener.errors import InputError
from evener.train.activations import RULES, Activation
from evener.train.draw import weight_row
from evener.train.ghosts import Everything, Ghosts
from evener.train.losses import CrossEntropy, LossName, make_loss
from evener.train.reach import Reach, reach_of
from evener.train.sharded import Columns, Run, ShardedLayer, same_shapes
from evener.train.sharding import Placement, block_bounds, coarse_groups

DENSE: Final = Topology()


@dataclass(frozen=True, slots=True)
class Shape:
    """What a network is, whoever computes it.

    Attributes:
        widths: neurons of each layer, the input first.
        activations: of each layer but the input.
        topology: which neurons see which.
        seed: what its weights are drawn from.
    """

    widths: tuple[int, ...]
    activations: tuple[Activation, ...]
    topology: Topology = DENSE
    seed: int = 0

    def __post_init__(self) -> None:
        """Check that it is a network.

        Raises:
            InputError: fewer than two layers, an empty one, an unknown activation, or a softmax
                before the end.
        """
        if len(self.widths) < 2:
            raise InputError("a network has an input and an output: give two widths or more")
        if min(self.widths) < 1:
            raise InputError(f"widths {list(self.widths)}: every layer has 1 neuron or more")
        if len(self.activations) != len(self.widths) - 1:
            raise InputError(
                f"{len(self.activations)} activations for {len(self.widths) - 1} layers after the "
                "input: give one for each"
            )
        unknown = sorted(set(self.activations) - set(RULES))
        if unknown:
            raise InputError(f"'{unknown[0]}' is no activation; choose of {', '.join(RULES)}")
        if "softmax" in self.activations[:-1]:
            raise InputError("softmax stands at the end of a network: give another to the layers")


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """The arrays of one size of a batch.

    Attributes:
        values: before each layer its buffer, and at the end the outputs.
        gradients: of the same; None before the first layer.
        sums: before each activation, where the way back needs them.
        ghosts: what fills each buffer; None where nothing is missing.
    """

    values: list[Tensor]
    gradients: list[Tensor | None]
    sums: list[Tensor | None]
    ghosts: list[Ghosts | Everything | None]


class RankedNetwork:
    """The part of a network that one rank computes.

    Args:
        shape: the network.
        communicator: the ranks.
        placement: which rank has which shards; as even as can be if None.
        loss: what is to be little.
        dtype: of weights and values.
        collectives: whether layers of which everyone sees everything use collectives, which do the
            same as messages and are quicker.

    Attributes:
        layers: what this rank has of each layer but the input.
        reaches: its buffers before each layer.
    """

    def __init__(
        self,
        shape: Shape,
        communicator: Communicator,
        *,
        placement: Placement | None = None,
        loss: LossName = "squared",
        dtype: torch.dtype = torch.float32,
        collectives: bool = True,
    ) -> None:
        shards = shape.topology.shards
        self.shape = shape
        self.placement = placement or Placement.even(shards, communicator.size)
        if self.placement.ranks != communicator.size or self.placement.shards != shards:
            raise InputError(
                f"a placement of {self.placement.shards} shards on {self.placement.ranks} ranks "
                f"does not fit {shards} shards on {communicator.size}"
            )
        if ("softmax" in shape.activations) != (loss == "cross-entropy"):
            raise InputError(
                f"the loss '{loss}' with a last activation '{shape.activations[-1]}': "
                "cross-entropy goes with softmax, and softmax with nothing else"
            )
        self._communicator = communicator
        self._dtype = dtype
        self._collectives = collectives
        rank = communicator.rank
        count = len(shape.widths)
        self.reaches: list[Reach] = [
            reach_of(shape.topology, shape.widths, self.placement, layer, rank)
            for layer in range(1, count)
        ]
        self.layers = [self._make_layer(layer) for layer in range(1, count)]
        self._pools = [self._make_pool(layer) for layer in range(1, count)]
        self._loss = make_loss(loss, communicator, self._neurons_of_shards(count - 1))
        self._works: dict[int, _Work] = {}

    @property
    def rank(self) -> int:
        """Which rank it is."""
        return self._communicator.rank

    @property
    def outputs(self) -> slice:
        """Which of the network's outputs this rank has."""
        bounds = self.placement.bounds(self.shape.widths[-1])
        rank = self._communicator.rank
        return slice(int(bounds[rank]), int(bounds[rank + 1]))

    def forward(self, inputs_BI: Tensor) -> Tensor:
        """Compute the outputs of this rank, (N, B), which the next call overwrites.

        Args:
            inputs_BI: whole rows; of a sharded input a rank reads its own neurons.
        """
        outputs_NB = self._sums(inputs_BI)
        if isinstance(self._loss, CrossEntropy):
            self._loss.softmax(outputs_NB)
        return outputs_NB

    def descend(self, inputs_BI: Tensor, wanted_BO: Tensor, rate: float) -> None:
        """Take a step of plain gradient descent, without writing a gradient of weights anywhere.

        Args:
            inputs_BI: whole rows.
            wanted_BO: what the network should answer to them.
            rate: the learning rate.
        """
        for index, layer, gradient_NB in self._backwards(inputs_BI, wanted_BO):
            work = self._work_of(inputs_BI)
            layer.descend(work.values[index], gradient_NB, rate, work.gradients[index])

    def gradients(self, inputs_BI: Tensor, wanted_BO: Tensor) -> list[list[tuple[Tensor, Tensor]]]:
        """Return the gradients of weight and bias of each run of each layer; change nothing.

        Args:
            inputs_BI: whole rows.
            wanted_BO: what the network should answer to them.
        """
        found: list[list[tuple[Tensor, Tensor]]] = [[] for _ in self.layers]
        for index, layer, gradient_NB in self._backwards(inputs_BI, wanted_BO):
            work = self._work_of(inputs_BI)
            found[index] = [run.gradients(work.values[index], gradient_NB) for run in layer.runs]
            into_NB = work.gradients[index]
            if into_NB is not None:
                layer.back(gradient_NB, into_NB)
        return found

    def loss(self) -> float:
        """Return the loss of the last batch that went back; every rank must ask."""
        return self._loss.value()

    def close(self) -> None:
        """Give back what the ranks prepared for one another."""
        for work in self._works.values():
            for ghosts in work.ghosts:
                if ghosts is not None:
                    ghosts.close()
        self._works.clear()

    def _sums(self, inputs_BI: Tensor) -> Tensor:
        """Go forward, but for a softmax at the end."""
        work = self._work_of(inputs_BI)
        self._read(inputs_BI, work.values[0])
        for index, layer in enumerate(self.layers):
            self._fill(index, work)
            out_NB = self._own(index + 1, work.values[index + 1])
            layer.forward(work.values[index], out_NB)
            sums_NB = work.sums[index]
            if sums_NB is not None:
                sums_NB.copy_(out_NB)
            RULES[self.shape.activations[index]].apply(out_NB)
        return work.values[-1]

    def _backwards(
        self, inputs_BI: Tensor, wanted_BO: Tensor
    ) -> Iterator[tuple[int, ShardedLayer, Tensor]]:
        """Yield the layers from the last, each with the gradient of its sums.

        Whoever takes one writes the gradient of what it saw before taking the next.
        """
        outputs_NB = self._sums(inputs_BI)
        work = self._work_of(inputs_BI)
        gradient_NB = work.gradients[-1]
        if gradient_NB is None:
            raise InputError("a network has an input and an output")
        wanted_NB = wanted_BO.to(self._dtype)[:, self.outputs].T
        self._loss.gradient(outputs_NB, wanted_NB, gradient_NB)
        for index in reversed(range(len(self.layers))):
            rule = RULES[self.shape.activations[index]]
            sums_NB = work.sums[index]
            kept_NB = self._own(index + 1, work.values[index + 1]) if sums_NB is None else sums_NB
            rule.back(gradient_NB, kept_NB)
            yield index, self.layers[index], gradient_NB
            below_NB = work.gradients[index]
            if below_NB is not None:
                self._take_back(index, work, below_NB)
                gradient_NB = self._own(index, below_NB)

    def _own(self, layer: int, buffer_NB: Tensor) -> Tensor:
        """Return the rank's own rows of a buffer; the outputs are all its own."""
        return buffer_NB[self.reaches[layer].own] if layer < len(self.reaches) else buffer_NB

    def _read(self, inputs_BI: Tensor, buffer_NB: Tensor) -> None:
        if self.shape.topology.input == "replicated":
            buffer_NB.copy_(inputs_BI.T)
            return
        bounds = self.placement.bounds(self.shape.widths[0])
        rank = self._communicator.rank
        mine = slice(int(bounds[rank]), int(bounds[rank + 1]))
        self._own(0, buffer_NB).copy_(inputs_BI[:, mine].T)

    def _fill(self, index: int, work: _Work) -> None:
        pool = self._pools[index]
        if pool is not None:
            pool.forth(work.values[index])
        ghosts = work.ghosts[index]
        if ghosts is not None:
            ghosts.fill()

    def _take_back(self, index: int, work: _Work, gradient_NB: Tensor) -> None:
        ghosts = work.ghosts[index]
        if ghosts is not None:
            ghosts.take_back()
        pool = self._pools[index]
        if pool is not None:
            pool.back(gradient_NB)

    def _work_of(self, inputs_BI: Tensor) -> _Work:
        batch = len(inputs_BI)
        if batch not in self._works:
            self._works[batch] = self._make_work(batch)
        return self._works[batch]

    def _make_work(self, batch: int) -> _Work:
        last = self.outputs.stop - self.outputs.start
        sizes = [*(reach.rows for reach in self.reaches), last]
        values = [torch.zeros(rows, batch, dtype=self._dtype) for rows in sizes]
        gradients = [
            torch.zeros(rows, batch, dtype=self._dtype) if index else None
            for index, rows in enumerate(sizes)
        ]
        sums = [
            torch.zeros(layer.neurons, batch, dtype=self._dtype)
            if RULES[activation].keeps == "sums"
            else None
            for layer, activation in zip(self.layers, self.shape.activations, strict=True)
        ]
        ghosts = [
            self._make_ghosts(index, values[index], gradients[index], batch)
            for index in range(len(self.reaches))
        ]
        return _Work(values, gradients, sums, ghosts)

    def _make_ghosts(
        self, index: int, values_NB: Tensor, gradient_NB: Tensor | None, batch: int
    ) -> Ghosts | Everything | None:
        replicated = index == 0 and self.shape.topology.input == "replicated"
        alone = self._communicator.size == 1 and not self.reaches[index].receives
        if replicated or alone:
            return None
        if self.shape.topology.halo == "full" and self._collectives:
            bounds = self.placement.bounds(self.shape.widths[index]).tolist()
            return Everything(self._communicator, bounds, values_NB, gradient_NB)
        name = f"layer {index + 1}, batch {batch}"
        return Ghosts(self._communicator, self.reaches[index], values_NB, gradient_NB, name=name)

    def _neurons_of_shards(self, layer: int) -> list[int]:
        bounds = block_bounds(self.shape.widths[layer], self.shape.topology.shards)
        shards = self.placement.shards_of(self._communicator.rank)
        return [int(bounds[shard + 1] - bounds[shard]) for shard in shards]

    def _make_layer(self, layer: int) -> ShardedLayer:
        """Draw the weights of this rank's shards of a layer, and no others."""
        reach = self.reaches[layer - 1]
        neurons = self._neurons_of_shards(layer)
        dense = self.shape.topology.halo == "full"
        if dense:
            neurons = [sum(neurons)]
        starts = np.cumsum([0, *neurons])
        first = int(self.placement.bounds(self.shape.widths[layer])[self._communicator.rank])
        runs = []
        for shards in same_shapes(reach.columns, neurons):
            columns = [reach.columns[shard] for shard in shards]
            weight_SMC = np.empty((len(shards), neurons[shards[0]], len(columns[0])))
            bias_SM1 = np.empty((*weight_SMC.shape[:2], 1))
            for place, shard in enumerate(shards):
                seen = reach.held[columns[place]]
                for row in range(neurons[shard]):
                    drawn = self._draw(layer, first + int(starts[shard]) + row)
                    bound = len(seen) ** -0.5
                    weight_SMC[place, row] = drawn[seen] * bound
                    bias_SM1[place, row, 0] = drawn[-1] * bound
            rows = slice(int(starts[shards[0]]), int(starts[shards[-1] + 1]))
            weight, bias = (torch.from_numpy(one).to(self._dtype) for one in (weight_SMC, bias_SM1))
            runs.append(Run(shards, rows, weight, bias, Columns.of(columns), dense=dense))
        return ShardedLayer(runs, int(starts[-1]))

    def _draw(self, layer: int, neuron: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
        """Draw a number for each neuron before, each coarse value, and the bias."""
        groups = coarse_groups(self.shape.topology, self.shape.widths, layer)
        coarse = 0 if groups is None else len(groups) - 1
        before = self.shape.widths[layer - 1]
        return weight_row(self.shape.seed, layer, neuron, before + coarse + 1)

    def _make_pool(self, layer: int) -> "_Pool | None":
        groups = coarse_groups(self.shape.topology, self.shape.widths, layer)
        if groups is None:
            return None
        bounds = self.placement.bounds(self.shape.widths[layer - 1])
        first, last = bounds[self._communicator.rank : self._communicator.rank + 2].tolist()
        mine = [
            slice(start - first, stop - first)
            for start, stop in pairwise(groups.tolist())
            if first <= start < last
        ]
        reach = self.reaches[layer - 1]
        return _Pool(reach.own, reach.own_coarse, mine)


class _Pool:
    """The means of groups of a rank's own neurons."""

    def __init__(self, own: slice, coarse: slice, groups: Sequence[slice]) -> None:
        self._own = own
        self._coarse = coarse
        sizes = torch.tensor([group.stop - group.start for group in groups])
        self._group_of = torch.arange(len(groups)).repeat_interleave(sizes)
        self._sizes = sizes.unsqueeze(1)

    def forth(self, buffer_NB: Tensor) -> None:
        """Write the means behind the neurons."""
        means = buffer_NB[self._coarse]
        means.zero_().index_add_(0, self._group_of, buffer_NB[self._own])
        means /= self._sizes

    def back(self, gradient_NB: Tensor) -> None:
        """Add to each neuron's gradient its part of its group's."""
        part = gradient_NB[self._coarse] / self._sizes
        gradient_NB[self._own] += part[self._group_of]
