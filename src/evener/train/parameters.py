"""Draw the weights and biases of a rank's shards into one array, of which layers are views.

So an optimiser sees one array, whatever the shards; each view begins at a multiple of 64 numbers
and the array ends at one, so that no number is ever in the rest that a vector loop leaves over,
which some loops round otherwise. Long rows of weights begin at multiples of 16 numbers: MKL takes
twice as long to add to others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from evener.comm.communicator import Communicator
from evener.train.draw import weight_row
from evener.train.one_row import worth_holding
from evener.train.partial_sums import SummedLayer
from evener.train.reach import Reach
from evener.train.shape import Shape
from evener.train.sharded import Columns, Run, ShardedLayer, same_shapes
from evener.train.sharding import Indices, Placement, block_bounds, coarse_groups

_ALIGNED: Final = 64
_LINE: Final = 16  # numbers of a cache line
_LONG: Final = 256  # shorter rows stay together, for batches of small matrices

Views = list[list[tuple[Tensor, Tensor]]]
"""Weights (S, M, C) and biases (S, M, 1) of each run of each layer."""


class Parameters:
    """The weights and biases of one rank.

    Args:
        layers: for each layer the shapes (S, M, C) of its runs.
        dtype: of the numbers.

    Attributes:
        flat: all of them, with zeros between.
        views: the same by layer and run.
    """

    def __init__(
        self, layers: Sequence[Sequence[tuple[int, int, int]]], dtype: torch.dtype
    ) -> None:
        self._shapes = [list(runs) for runs in layers]
        size = 0
        for shape in (shape for runs in self._shapes for shape in runs):
            size += _padded(_stored(shape)) + _padded(shape[0] * shape[1])
        self.flat = torch.zeros(size, dtype=dtype)
        self.views = self.views_of(self.flat)

    def views_of(self, flat: Tensor) -> Views:
        """Return the views of another array of that kind: of gradients, or of an optimiser.

        Args:
            flat: as long as the parameters.
        """
        start = 0
        found: Views = []
        for runs in self._shapes:
            found.append([])
            for shape in runs:
                shards, neurons, seen = shape
                stored = flat[start : start + _stored(shape)].view(shards, neurons, -1)
                weight = stored[:, :, :seen]
                start += _padded(_stored(shape))
                bias = flat[start : start + shards * neurons].view(shards, neurons, 1)
                start += _padded(shards * neurons)
                found[-1].append((weight, bias))
        return found


def make_layers(
    shape: Shape,
    placement: Placement,
    reaches: Sequence[Reach],
    communicator: Communicator,
    dtype: torch.dtype,
    *,
    summed: Sequence[bool],
) -> tuple[list[ShardedLayer | SummedLayer], Parameters]:
    """Draw the weights of a rank, and no others.

    Args:
        shape: the network.
        placement: which rank has which shards.
        reaches: the rank's buffers before each layer but the input.
        communicator: the ranks.
        dtype: of the weights.
        summed: of each layer but the input, whether ranks add up its sums.
    """
    layers = range(1, len(shape.widths))
    rank = communicator.rank
    runs = [
        runs_of(shape, placement, reaches[layer - 1].columns, layer, rank, summed=summed[layer - 1])
        for layer in layers
    ]
    parameters = Parameters([[one.shape for one in of_layer] for of_layer in runs], dtype)
    made: list[ShardedLayer | SummedLayer] = []
    for layer in layers:
        reach = reaches[layer - 1]
        bounds = placement.bounds(shape.widths[layer]).tolist()
        first = bounds[rank]
        found = []
        for one, (weight_SMC, bias_SM1) in zip(
            runs[layer - 1], parameters.views[layer - 1], strict=True
        ):
            seen = [reach.held[columns] for columns in one.columns]
            _draw(shape, layer, first + one.rows.start, seen, weight_SMC, bias_SM1)
            found.append(
                Run(
                    one.shards,
                    one.rows,
                    weight_SMC,
                    bias_SM1,
                    Columns.of(one.columns),
                    dense=shape.topology.halo == "full",
                    held=_held(shape, layer, one),
                )
            )
        if summed[layer - 1]:
            views, held = parameters.views[layer - 1][0], found[0].held
            made.append(SummedLayer(communicator, bounds, *views, held=held))
            continue
        made.append(ShardedLayer(found, sum(neurons_of_shards(shape, placement, layer, rank))))
    return made, parameters


def neurons_of_shards(shape: Shape, placement: Placement, layer: int, rank: int) -> list[int]:
    """Return how many neurons of a layer each shard of a rank has."""
    bounds = block_bounds(shape.widths[layer], shape.topology.shards)
    return [int(bounds[shard + 1] - bounds[shard]) for shard in placement.shards_of(rank)]


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """A run of shards before it has weights.

    Attributes:
        shards: as counted on their rank; the first one alone if they are one matrix.
        rows: their neurons, counted from the rank's first one.
        columns: what each sees.
    """

    shards: range
    rows: slice
    columns: list[Indices]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shards, neurons of each, and how many each sees."""
        neurons = (self.rows.stop - self.rows.start) // len(self.shards)
        return len(self.shards), neurons, len(self.columns[0])


def runs_of(
    shape: Shape,
    placement: Placement,
    columns: Sequence[Indices],
    layer: int,
    rank: int,
    *,
    summed: bool,
) -> list[Planned]:
    """List the runs of a layer; all shards of a rank are one matrix where the network is dense.

    Where ranks add up sums, that matrix is of all neurons, those of ranks before and behind too.

    Args:
        shape: the network.
        placement: which rank has which shards.
        columns: what each of the rank's shards sees.
        layer: from 1.
        rank: which.
        summed: whether ranks add up the layer's sums.
    """
    if summed:
        first = int(placement.bounds(shape.widths[layer])[rank])
        return [Planned(range(1), slice(-first, shape.widths[layer] - first), [columns[0]])]
    neurons = neurons_of_shards(shape, placement, layer, rank)
    if shape.topology.halo == "full":
        neurons = [sum(neurons)]
    starts = np.cumsum([0, *neurons])
    return [
        Planned(
            shards,
            slice(int(starts[shards[0]]), int(starts[shards[-1] + 1])),
            [columns[shard] for shard in shards],
        )
        for shards in same_shapes(columns, neurons)
    ]


def _held(shape: Shape, layer: int, run: Planned) -> bool:
    """Return whether steps of one row are held back; see `evener.train.one_row`."""
    if shape.topology.halo == "full" or (layer == 1 and shape.topology.input == "replicated"):
        return worth_holding(shape.widths[layer - 1] * shape.widths[layer])
    _, neurons, seen = run.shape
    return worth_holding(neurons * seen)


def _draw(
    shape: Shape,
    layer: int,
    first: int,
    seen: Sequence[Indices],
    weight_SMC: Tensor,
    bias_SM1: Tensor,
) -> None:
    """Draw a number for each neuron before, each coarse value, and the bias; keep what is seen."""
    groups = coarse_groups(shape.topology, shape.widths, layer)
    coarse = 0 if groups is None else len(groups) - 1
    count = shape.widths[layer - 1] + coarse + 1
    weights, biases = weight_SMC.numpy(), bias_SM1.numpy()
    for shard, columns in enumerate(seen):
        # A rank that adds up sums has a part only of what its neurons see.
        seen_by_one = shape.widths[layer - 1] if shape.topology.halo == "full" else len(columns)
        bound = seen_by_one**-0.5
        for row in range(weights.shape[1]):
            neuron = first + shard * weights.shape[1] + row
            drawn = weight_row(shape.seed, layer, neuron, count)
            weights[shard, row] = drawn[columns] * bound
            biases[shard, row, 0] = drawn[-1] * bound


def _stored(shape: tuple[int, int, int]) -> int:
    """Return how many numbers the weights of a run take up."""
    shards, neurons, seen = shape
    return shards * neurons * (_padded(seen, _LINE) if seen >= _LONG else seen)


def _padded(count: int, to: int = _ALIGNED) -> int:
    return -(-count // to) * to
