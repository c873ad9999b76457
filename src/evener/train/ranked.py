"""What one rank computes of a sharded network: forward, back and a step, its ghosts filled between.

The program is the same on every rank. Neurons come first and rows of a batch last; see
`evener.train.sharded`.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from evener.comm.communicator import Communicator
from evener.errors import InputError
from evener.train.activations import RULES
from evener.train.carriage import Carriage, adds_up
from evener.train.ghosts import Everything, Ghosts
from evener.train.losses import LossName, make_loss
from evener.train.mixed import MixedLayer, Precision
from evener.train.parameters import Parameters, Views, make_layers, neurons_of_shards
from evener.train.partial_sums import SummedLayer, own_reach
from evener.train.pool import Pool
from evener.train.reach import Reach, reach_of
from evener.train.shape import Shape
from evener.train.sharded import ShardedLayer
from evener.train.sharding import Placement, coarse_groups, most_seeing
from evener.train.work import LayerWork, Work

Masks = Sequence[Tensor | None]
"""For each layer but the input what its neurons' answers are multiplied by, (N, B)."""


class RankedNetwork:
    """The part of a network that one rank computes.

    Args:
        shape: the network.
        communicator: the ranks.
        placement: which rank has which shards; as even as can be if None.
        loss: what is to be little.
        dtype: of weights and values.
        carriage: what travels between ranks where everyone sees everything; the result differs by
            rounding only.
        keep_errors: whether gradients of answers are kept beside those of sums, for whoever looks.

    Attributes:
        shape: the network.
        placement: which rank has which shards.
        outputs: which neurons of the last layer this rank has.
        reaches: its buffers before each layer.
        summed: of each layer but the input, whether ranks add up its sums.

    Raises:
        InputError: the placement is of other shards or ranks, or loss and last activation do not go
            together.
    """

    def __init__(
        self,
        shape: Shape,
        communicator: Communicator,
        *,
        placement: Placement | None = None,
        loss: LossName = "squared",
        dtype: torch.dtype = torch.float32,
        carriage: Carriage = "cheapest",
        keep_errors: bool = False,
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
        self._carriage = carriage
        self._keep_errors = keep_errors
        rank = communicator.rank
        count = len(shape.widths)
        self.summed = [
            adds_up(shape.topology, shape.widths, layer, communicator.size, carriage)
            for layer in range(1, count)
        ]
        self.reaches: list[Reach] = [self.reach(layer, rank) for layer in range(1, count)]
        self._layers, self._parameters = make_layers(
            shape, self.placement, self.reaches, communicator, dtype, summed=self.summed
        )
        self._pools = [self._make_pool(layer) for layer in range(1, count)]
        self.outputs = self.neurons_of(count - 1)
        self._loss = make_loss(
            loss, communicator, neurons_of_shards(shape, self.placement, count - 1, rank)
        )
        self._layers_in: dict[Precision, Sequence[ShardedLayer | SummedLayer | MixedLayer]] = {
            "float32": self._layers
        }
        self._works: dict[tuple[int, Precision], Work] = {}
        self._work: Work | None = None
        self._holding: Work | None = None  # steps of one row, which weights lack

    @property
    def layers(self) -> list[ShardedLayer | SummedLayer]:
        """What this rank has of each layer but the input; the weights after all steps so far."""
        self._settle()
        return self._layers

    @property
    def parameters(self) -> Parameters:
        """Its weights and biases after all steps so far, in one array; ask anew after more."""
        self._settle()
        return self._parameters

    @property
    def rank(self) -> int:
        """Which rank it is."""
        return self._communicator.rank

    @property
    def communicator(self) -> Communicator:
        """The ranks that compute the network."""
        return self._communicator

    @property
    def work(self) -> Work:
        """The arrays of the batch that went forward last.

        Raises:
            InputError: none did.
        """
        if self._work is None:
            raise InputError("nothing went forward yet: give the network a batch first")
        return self._work

    def reach(self, layer: int, rank: int) -> Reach:
        """Return a rank's buffer before a layer, from 1."""
        shape = self.shape
        if self.summed[layer - 1]:
            return own_reach(self.placement, shape.widths[layer - 1], rank)
        return reach_of(shape.topology, shape.widths, self.placement, layer, rank)

    def neurons_of(self, layer: int) -> slice:
        """Return which neurons of a layer this rank has, counting layers from 0, the input."""
        bounds = self.placement.bounds(self.shape.widths[layer])
        return slice(int(bounds[self.rank]), int(bounds[self.rank + 1]))

    def forward(
        self,
        inputs_BI: Tensor,
        *,
        masks: Masks | None = None,
        precision: Precision = "float32",
    ) -> Tensor:
        """Compute the answers of this rank's outputs, (N, B), which the next call overwrites.

        Args:
            inputs_BI: whole rows; of a sharded input a rank reads its own neurons.
            masks: what each layer's answers are multiplied by; nothing if None.
            precision: of products, on the way back too; see `evener.train.mixed`.
        """
        if len(inputs_BI) > 1 or precision != "float32":
            self._settle()
        work = self._work = self._work_of(len(inputs_BI), precision)
        if self.shape.topology.input == "sharded":
            inputs_BI = inputs_BI[:, self.neurons_of(0)]
        work.read.copy_(inputs_BI.T)
        for index, layer in enumerate(work.layers):
            layer.forward()
            layer.drop(masks[index] if masks is not None else None)
        self._loss.answer(work.out)
        return work.out

    def compare(self, wanted_BO: Tensor, *, rows: int | None = None) -> None:
        """Compare the answers with what they should be, as `loss` and the way back need it.

        Args:
            wanted_BO: what the network should answer to the batch that went forward last.
            rows: what the mean is taken over; as many as the batch has if None.
        """
        work = self.work
        # Neurons first in memory as well: the order of additions follows from that.
        wanted_NB = wanted_BO[:, self.outputs].to(self._dtype).T.contiguous()
        self._loss.gradient(work.out, wanted_NB, work.layers[-1].gradient, rows or work.rows)

    def step_down(self, rate: float) -> None:
        """Go back through what was compared, and down: the second half of `descend`."""
        for layer in self._backwards():
            layer.bound.descend(rate)
        self._holding = self.work if self.work.rows == 1 else None

    def differentiate(self, into: Views) -> None:
        """Go back through what was compared, and write the gradients of weights and biases.

        Args:
            into: of each run of each layer, such as `parameters.views_of` makes.
        """
        self._settle()
        left = list(into)
        for layer in self._backwards():
            layer.bound.gradients(left.pop())
            if layer.below is not None:
                layer.bound.back()

    def descend(self, inputs_BI: Tensor, wanted_BO: Tensor, rate: float) -> None:
        """Take a step of plain gradient descent, without writing a gradient of weights anywhere.

        Args:
            inputs_BI: whole rows.
            wanted_BO: what the network should answer to them.
            rate: the learning rate.
        """
        self.forward(inputs_BI)
        self.compare(wanted_BO)
        self.step_down(rate)

    def gradients(self, inputs_BI: Tensor, wanted_BO: Tensor) -> Views:
        """Return the gradients of weight and bias of each run of each layer; change nothing.

        Args:
            inputs_BI: whole rows.
            wanted_BO: what the network should answer to them.
        """
        parameters = self.parameters
        found = parameters.views_of(torch.zeros_like(parameters.flat))
        self.forward(inputs_BI)
        self.compare(wanted_BO)
        self.differentiate(found)
        return found

    def loss(self) -> float:
        """Return the loss of the last batch that was compared; every rank must ask."""
        return self._loss.value()

    def close(self) -> None:
        """Give back what the ranks prepared for one another."""
        self._settle()
        for work in self._works.values():
            work.close()
        self._works.clear()
        self._work = None

    def _settle(self) -> None:
        """Write what was held back of steps of one row."""
        if self._holding is not None:
            work, self._holding = self._holding, None
            for layer in work.layers:
                layer.bound.settle()

    def _backwards(self) -> Iterator[LayerWork]:
        """Yield the layers from the last, each with the gradient of its sums.

        Whoever takes one writes the gradient of what it saw before taking the next.
        """
        for layer in reversed(self.work.layers):
            layer.through_activation()
            yield layer
            layer.take_back()

    def _work_of(self, batch: int, precision: Precision) -> Work:
        if (batch, precision) not in self._works:
            self._works[batch, precision] = self._make_work(batch, precision)
        return self._works[batch, precision]

    def _make_work(self, batch: int, precision: Precision) -> Work:
        def zeros(rows: int) -> Tensor:
            return torch.zeros(rows, batch, dtype=self._dtype)

        values = [zeros(reach.rows) for reach in self.reaches]
        below = [
            zeros(reach.rows).to(self._summed_in(index + 1)) if index else None
            for index, reach in enumerate(self.reaches)
        ]
        outputs = zeros(self.outputs.stop - self.outputs.start)
        last_gradient = torch.zeros_like(outputs)
        made = []
        for index, layer in enumerate(self._layers_of(precision)):
            out_NB, gradient_NB, collected_NB = outputs, last_gradient, None
            if index + 1 < len(self._layers):
                own = self.reaches[index + 1].own
                above = below[index + 1]
                out_NB = values[index + 1][own]
                collected_NB = out_NB if above is None else above[own]
                gradient_NB = collected_NB.to(self._dtype)
                collected_NB = None if gradient_NB is collected_NB else collected_NB
            rule = RULES[self.shape.activations[index]]
            made.append(
                LayerWork(
                    values=values[index],
                    below=below[index],
                    pool=self._pools[index],
                    ghosts=self._make_ghosts(index, values[index], below[index], batch),
                    bound=layer.bind(values[index], out_NB, gradient_NB, below[index]),
                    rule=rule,
                    out=out_NB,
                    gradient=gradient_NB,
                    collected=collected_NB,
                    kept=out_NB if rule.keeps == "values" else torch.zeros_like(out_NB),
                    error=torch.zeros_like(out_NB) if self._keep_errors else None,
                )
            )
        replicated = self.shape.topology.input == "replicated"
        return Work(values[0] if replicated else values[0][self.reaches[0].own], made)

    def _layers_of(self, precision: Precision) -> Sequence[ShardedLayer | SummedLayer | MixedLayer]:
        """Return the layers with their products in a precision, made at the first need."""
        if precision not in self._layers_in:
            self._layers_in[precision] = [
                layer.mixed(precision)
                if isinstance(layer, SummedLayer)
                else MixedLayer(layer, precision)
                for layer in self._layers
            ]
        return self._layers_in[precision]

    def _summed_in(self, layer: int) -> torch.dtype:
        """Return what gradients of what a layer sees are added in.

        Of two parts the order does not matter. Of more it would, and depend on who has which shard;
        but in double precision sums of single ones are exact, unless one is 2^29 times another.
        """
        topology, widths = self.shape.topology, self.shape.widths
        if topology.halo == "full" or most_seeing(topology, widths, layer) <= 2:
            return self._dtype
        return torch.float64

    def _make_ghosts(
        self, index: int, values_NB: Tensor, gradient_NB: Tensor | None, batch: int
    ) -> Ghosts | Everything | None:
        replicated = index == 0 and self.shape.topology.input == "replicated"
        alone = self._communicator.size == 1 and not self.reaches[index].receives
        if replicated or alone or self.summed[index]:
            return None
        if self.shape.topology.halo == "full" and self._carriage != "messages":
            bounds = self.placement.bounds(self.shape.widths[index]).tolist()
            return Everything(
                self._communicator,
                bounds,
                values_NB,
                gradient_NB,
                in_turn=self._carriage == "broadcast",
            )
        name = f"layer {index + 1}, batch {batch}"
        return Ghosts(self._communicator, self.reaches[index], values_NB, gradient_NB, name=name)

    def _make_pool(self, layer: int) -> Pool | None:
        groups = coarse_groups(self.shape.topology, self.shape.widths, layer)
        if groups is None:
            return None
        own = self.neurons_of(layer - 1)
        mine = [
            slice(start - own.start, stop - own.start)
            for start, stop in pairwise(groups.tolist())
            if own.start <= start < own.stop
        ]
        reach = self.reaches[layer - 1]
        return Pool(reach.own, reach.own_coarse, mine)
