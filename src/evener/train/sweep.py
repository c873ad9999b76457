"""Train networks that differ in who sees whom, and say how good each is for how many bytes.

Each is trained alike with several seeds. On one rank all shards are computed in one process, which
gives the bits that any number of ranks gives with a halo.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import ClassVar

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from evener.artifacts.swept import Swept
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.timed import Timed
from evener.errors import DivergedError, InputError
from evener.train.answers import judge
from evener.train.checkpoint import digest_rows
from evener.train.loop import one_thread
from evener.train.losses import LossName
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.shape import Shape
from evener.train.sharding import Placement, count_weights
from evener.train.sweet_spot import interval
from evener.train.traffic import VALUE_BYTES, traffic_of
from evener.train.trainer import Trainer

Rows = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Rows to learn from, and rows to judge by.

    Attributes:
        inputs_BI: to learn from.
        wanted_BO: what a network should answer to them; of classes, 1 for the right one.
        test_inputs_BI: to judge by.
        test_wanted_BO: what it should answer to those.
    """

    inputs_BI: Rows
    wanted_BO: Rows
    test_inputs_BI: Rows
    test_wanted_BO: Rows

    def digest(self) -> str:
        """Return the sha256 of all of them."""
        tables = (self.inputs_BI, self.wanted_BO, self.test_inputs_BI, self.test_wanted_BO)
        return digest_rows(map(torch.from_numpy, tables))


class Cell(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one network came to from one seed: the smallest part of a sweep that is kept.

    Attributes:
        train_loss: mean over the rows it learned from, at the end.
        test_loss: the same over the others.
        train_accuracy: share of rows whose largest answer is the wanted one.
        test_accuracy: the same over the others.
        iteration_s: median time of an iteration on the first rank.
        epoch_s: time of a pass over the rows there.
        communication_share: of that time in messages, on the rank that spends most there.
    """

    kind: ClassVar[str] = "cell"
    schema: ClassVar[int] = 1

    train_loss: float
    test_loss: float
    train_accuracy: float
    test_accuracy: float
    iteration_s: float
    epoch_s: float
    communication_share: float


def train_cell(
    shape: Shape,
    held: Held,
    *,
    recipe: Recipe,
    iterations: int | None = None,
    communicator: Communicator | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Cell:
    """Train one network from the seed of its shape; every rank calls it, and gets the same.

    Args:
        shape: the network.
        held: the rows.
        recipe: how it is trained.
        iterations: how many steps; as many as the recipe's epochs have if None.
        communicator: the ranks; all shards are computed in this process if None.
        clock: seconds that never go back.

    Raises:
        DivergedError: a loss stopped being a number; says of which network.
    """
    loss: LossName = "cross-entropy" if shape.activations[-1] == "softmax" else "squared"
    inputs, wanted = torch.from_numpy(held.inputs_BI), torch.from_numpy(held.wanted_BO)
    test_inputs, test_wanted = map(torch.from_numpy, (held.test_inputs_BI, held.test_wanted_BO))
    ranks = Timed(communicator or Alone())
    network = RankedNetwork(shape, ranks, loss=loss)
    trainer = Trainer(network, recipe, inputs, wanted)
    trainer.steps = iterations or trainer.steps
    taken_s: list[float] = []
    ranks.seconds = 0.0
    while trainer.step < trainer.steps:
        begun = clock()
        try:
            trainer.advance()
        except DivergedError as error:
            raise DivergedError(
                f"{shape.topology}, seed {shape.seed}: {error}",
                epoch=error.epoch,
                step=error.step,
                layer=error.layer,
                rank=error.rank,
            ) from error
        taken_s.append(clock() - begun)
    shares = np.zeros((ranks.size, 1))
    elapsed_s = sum(taken_s)
    ranks.all_gather(np.array([ranks.seconds / elapsed_s if elapsed_s else 0.0]), list(shares))
    times = np.array([median(taken_s), elapsed_s / len(taken_s)])
    ranks.broadcast(times, root=0)
    train_loss, train_accuracy = judge(network, inputs, wanted)
    test_loss, test_accuracy = judge(network, test_inputs, test_wanted)
    network.close()
    return Cell(
        train_loss=train_loss,
        test_loss=test_loss,
        train_accuracy=train_accuracy,
        test_accuracy=test_accuracy,
        iteration_s=float(times[0]),
        epoch_s=float(times[1]) * recipe.steps_per_epoch(len(inputs)),
        communication_share=float(shares.max()) if ranks.size > 1 else 0.0,
    )


def summed_up(shape: Shape, cells: Sequence[Cell], *, equal_weights: bool = False) -> Swept:
    """Put together what a network came to from several seeds.

    Args:
        shape: the network, of whatever seed.
        cells: one or more.
        equal_weights: whether it was made as wide as weights ask for.
    """
    classifies = shape.activations[-1] == "softmax"
    return Swept(
        widths=shape.widths,
        topology=shape.topology,
        seeds=len(cells),
        weights=count_weights(shape.topology, shape.widths),
        bytes_per_row=bytes_per_row(shape),
        train_loss=interval([one.train_loss for one in cells]),
        test_loss=interval([one.test_loss for one in cells]),
        train_accuracy=interval([one.train_accuracy for one in cells]) if classifies else None,
        test_accuracy=interval([one.test_accuracy for one in cells]) if classifies else None,
        iteration_s=median(one.iteration_s for one in cells),
        epoch_s=median(one.epoch_s for one in cells),
        communication_share=median(one.communication_share for one in cells),
        equal_weights=equal_weights,
    )


def sweep(shapes: Sequence[Shape], held: Held, *, recipe: Recipe, seeds: int) -> list[Swept]:
    """Train each network from several seeds in this process, on one core.

    Args:
        shapes: the networks.
        held: the rows.
        recipe: how each is trained.
        seeds: how many times each, from the seed of its shape on.

    Raises:
        InputError: no seed.
        DivergedError: a loss stopped being a number.
    """
    with one_thread():
        return [
            summed_up(shape, [train_cell(one, held, recipe=recipe) for one in seeded(shape, seeds)])
            for shape in shapes
        ]


def seeded(shape: Shape, seeds: int) -> list[Shape]:
    """Return a network with so many seeds, from its own on.

    Raises:
        InputError: no seed.
    """
    if seeds < 1:
        raise InputError(f"{seeds} seeds: give 1 or more, and 3 or more for an interval")
    return [replace(shape, seed=shape.seed + number) for number in range(seeds)]


def bytes_per_row(shape: Shape) -> int:
    """Return what all shards receive for one row, forward and back, each on a rank of its own.

    Example:
        >>> from evener.artifacts.topology import Topology
        >>> bytes_per_row(Shape((4, 8, 4), ("tanh", "softmax"), Topology(shards=2, halo=1)))
        32
    """
    shards = shape.topology.shards
    layers = traffic_of(shape.topology, shape.widths, Placement.even(shards, shards))
    values = [
        int(layer.carried_R.sum()) * (shards - 1)
        if layer.everything
        else sum(sum(peers.values()) for peers in layer.received)
        for layer in layers
    ]
    gradients = [  # nobody wants those of the input
        count * layer.gradient_bytes for count, layer in zip(values[1:], layers[1:], strict=True)
    ]
    return VALUE_BYTES * sum(values) + sum(gradients)


def circumstances() -> dict[str, object]:
    """Return what times and rounding depend on beside the network and the rows."""
    return {"threads": torch.get_num_threads(), "torch": str(torch.__version__)}
