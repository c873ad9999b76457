"""Look at the layers and neurons of a network one by one, as if each were an object.

Views hold nothing: a figure is read where training keeps it, when it is asked for.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from evener.errors import InputError
from evener.train.activations import Activation
from evener.train.ranked import RankedNetwork
from evener.train.reach import Reach

Values = NDArray[np.floating]
LayerKind = Literal["input", "hidden", "output"]


class Layer:
    """One layer of a network, as its rank sees it.

    Args:
        network: the rank's part.
        index: which layer; 0 is the input.

    Attributes:
        index: which layer; 0 is the input.
    """

    def __init__(self, network: RankedNetwork, index: int) -> None:
        self._network = network
        self.index = index

    @property
    def kind(self) -> LayerKind:
        """Whether it is the input, hidden, or the output."""
        if self.index == 0:
            return "input"
        return "output" if self.index == len(self._network.layers) else "hidden"

    @property
    def activation(self) -> Activation:
        """Its activation; "identity" for the input."""
        return self._network.shape.activations[self.index - 1] if self.index else "identity"

    @property
    def neurons(self) -> "Neurons":
        """Its neurons, of all ranks."""
        return Neurons(self._network, self.index)

    def __len__(self) -> int:
        return self._network.shape.widths[self.index]


class Neurons(Sequence["Neuron"]):
    """The neurons of a layer; those of other ranks are there, but their figures are not.

    Args:
        network: the rank's part.
        layer: which; 0 is the input.
    """

    def __init__(self, network: RankedNetwork, layer: int) -> None:
        self._network = network
        self._layer = layer

    @overload
    def __getitem__(self, index: int) -> "Neuron": ...

    @overload
    def __getitem__(self, index: slice) -> "Sequence[Neuron]": ...

    def __getitem__(self, index: int | slice) -> "Neuron | Sequence[Neuron]":
        found = range(len(self))[index]
        if isinstance(found, range):
            return [Neuron(self._network, self._layer, one) for one in found]
        return Neuron(self._network, self._layer, found)

    def __len__(self) -> int:
        return self._network.shape.widths[self._layer]


class Neuron:
    """One neuron, whose figures are there on the rank that computes it.

    Args:
        network: the rank's part.
        layer: which; 0 is the input.
        index: number in its layer.

    Attributes:
        layer: which; 0 is the input.
        index: number in its layer.
    """

    def __init__(self, network: RankedNetwork, layer: int, index: int) -> None:
        self._network = network
        self.layer = layer
        self.index = index

    @property
    def rank(self) -> int:
        """The rank that computes it."""
        bounds = self._network.placement.bounds(self._network.shape.widths[self.layer])
        return int(np.searchsorted(bounds, self.index, side="right")) - 1

    @property
    def output(self) -> Values:
        """What it answers to each row of the batch that went forward last, (B,).

        Raises:
            InputError: nothing went forward, or another rank has the neuron.
        """
        row = self._row()
        work = self._network.work
        values = work.layers[self.layer - 1].out if self.layer else work.read
        return values[row].numpy().copy()

    @property
    def error(self) -> Values:
        """Derivative of the loss by its output, for each row that went back last, (B,).

        Raises:
            InputError: it is an input, nothing went forward, or another rank has the neuron.
        """
        error = self._network.work.layers[self._hidden() - 1].error
        if error is None:
            raise InputError("errors are not kept: make the network with keep_errors=True")
        return error[self._row()].numpy().copy()

    @property
    def gradient(self) -> Values:
        """Derivative of the loss by the sum before its activation, for each row, (B,).

        Raises:
            InputError: it is an input, nothing went forward, or another rank has the neuron.
        """
        gradient = self._network.work.layers[self._hidden() - 1].gradient
        return gradient[self._row()].numpy().copy()

    @property
    def bias(self) -> float:
        """What is added to its sum.

        Raises:
            InputError: it is an input, or another rank has it.
        """
        neurons, _, _, bias_M = self._part()
        return float(bias_M[self.index - neurons.start])

    @property
    def incoming(self) -> dict[int, float]:
        """Its weights by the neuron of the layer before; coarse values are counted behind those.

        Where ranks add up sums (`evener.train.carriage`), those from other ranks' neurons are on
        the ranks of these.

        Raises:
            InputError: it is an input, or another rank has it.
        """
        neurons, seen, weight_MC, _ = self._part()
        return dict(zip(seen.tolist(), weight_MC[self.index - neurons.start].tolist(), strict=True))

    @property
    def outgoing(self) -> dict[int, float]:
        """Its weights by the neuron of the next layer, of those that this rank computes.

        Raises:
            InputError: it is an output.
        """
        if self.layer == len(self._network.layers):
            raise InputError(f"neuron {self.index} of the output layer has no outgoing weights")
        found: dict[int, float] = {}
        for neurons, seen, weight_MC, _ in parts(self._network, self.layer + 1):
            for column in np.flatnonzero(seen == self.index).tolist():
                found.update(zip(neurons, weight_MC[:, column].tolist(), strict=True))
        return found

    def _hidden(self) -> int:
        if not self.layer:
            raise InputError(
                f"neuron {self.index} of the input layer is given: it has an output, and no "
                "incoming weights, error or gradient"
            )
        return self.layer

    def _row(self) -> int:
        """Return its place among the rank's neurons."""
        mine = self._network.neurons_of(self.layer)
        if self.layer == 0 and self._network.shape.topology.input == "replicated":
            return self.index
        if not mine.start <= self.index < mine.stop:
            raise InputError(
                f"neuron {self.index} of layer {self.layer} is on rank {self.rank}, and this is "
                f"rank {self._network.rank}, which has {mine.start} to {mine.stop - 1}: ask there"
            )
        return int(self.index - mine.start)

    def _part(self) -> "Part":
        """Return the shard that it is in."""
        layer = self._hidden()
        self._row()
        return next(part for part in parts(self._network, layer) if self.index in part[0])


Part = tuple[range, NDArray[np.int64], Tensor, Tensor]
"""Neurons of a shard, those they see, weights (M, C) and biases (M,)."""


def parts(network: RankedNetwork, layer: int) -> Iterator[Part]:
    """Yield the shards of a rank.

    Args:
        network: the rank's part.
        layer: from 1.
    """
    runs = network.layers[layer - 1].runs
    return parts_of_runs(
        network.reaches[layer - 1],
        network.neurons_of(layer).start,
        [(run.shards, run.rows) for run in runs],
        [(run.weight, run.bias) for run in runs],
    )


def parts_of_runs(
    reach: Reach,
    first: int,
    runs: Sequence[tuple[range, slice]],
    views: Sequence[tuple[Tensor, Tensor]],
) -> Iterator[Part]:
    """Yield the shards of a rank's runs of one layer.

    Args:
        reach: the rank's buffer before the layer.
        first: the rank's first neuron of it.
        runs: for each its shards, and its neurons among those of the rank.
        views: for each its weights (S, M, C) and biases (S, M, 1).
    """
    for (shards, rows), (weight_SMC, bias_SM1) in zip(runs, views, strict=True):
        count = weight_SMC.shape[1]
        for place, shard in enumerate(shards):
            start = first + rows.start + place * count
            seen = reach.held[reach.columns[shard]]
            yield range(start, start + count), seen, weight_SMC[place], bias_SM1[place, :, 0]
