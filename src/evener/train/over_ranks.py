"""Train a sharded network on the ranks that are there, and measure what an iteration takes."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evener.artifacts.files import write_whole
from evener.artifacts.topology import Topology
from evener.comm.communicator import Communicator
from evener.comm.share import together
from evener.comm.timed import Timed
from evener.comm.virtual import run_ranks
from evener.train.answers import TOGETHER, whole_answers
from evener.train.bound import moved_bytes, scaling_bandwidth
from evener.train.draw import row_order
from evener.train.grid import Grid
from evener.train.paper import PaperNetwork
from evener.train.partial_sums import SummedLayer
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.scaling import Scaling
from evener.train.shape import Shape
from evener.train.sharded import ShardedLayer
from evener.train.sharded_onnx import export_sharded, gather_parts
from evener.train.sharding import count_weights
from evener.train.step_log import Curve, logging_to
from evener.train.trainer import Progress as TrainerProgress
from evener.train.trainer import Trainer

Layout = Literal["shards", "paper"]
OnStep = Callable[[str, int, int], object]
"""Told what is done, how many iterations are, and of how many."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of numbers to learn from, and some to be tested on.

    Attributes:
        inputs: float32 (rows, features), scaled.
        wanted: float32 (rows, outputs).
        test_inputs: the same of rows that training does not see; None of random rows.
        test_labels: int64, which output should be the largest.
        scaling: what the features were brought to a mean of 0 and a spread of 1 by; None if not.
    """

    inputs: NDArray[np.float32]
    wanted: NDArray[np.float32]
    test_inputs: NDArray[np.float32] | None = None
    test_labels: NDArray[np.int64] | None = None
    scaling: Scaling | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """A training that can start.

    Attributes:
        shape: the network.
        rows: what it is trained on.
        recipe: how.
        iterations: how many steps.
        layout: "shards", or "paper" with as many workers as the shape has shards.
        replicas: copies of the network, each of which takes a part of every batch.
        checkpoint: folder to go on from, if it has any, and to save into.
        log: file or folder where each step is logged; see `evener.train.step_log`.
        out: file for the network as ONNX.
    """

    shape: Shape
    rows: Rows
    recipe: Recipe
    iterations: int
    layout: Layout = "shards"
    replicas: int = 1
    checkpoint: Path | None = None
    log: Path | None = None
    out: Path | None = None


class TrainingResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a training came to.

    Attributes:
        iteration_s: median time of an iteration on the first rank, in seconds.
        weights: how many exist, biases left out.
        communication_share: of its time that the rank spent in messages which spent most.
        bytes_per_iteration: what all ranks together send in one.
        bound_s: time that the rank with most weights needs to pass them through memory.
        loss: mean over the iterations of the last epoch, each before its step.
        losses: mean over those that this run took of each epoch; none in the paper's layout.
        test: share of test rows whose largest output is the right one; None without such rows.
        iterations: how many were taken in this run.
        batch: rows of each.
        ranks: on how many ranks; those of the paper's layout take turns in a process that is alone.
        layout: of the ranks.
        replicas: copies of the network that they computed.
        topology: which neurons see which.
        widths: neurons of each layer.
        network: the ONNX file, if one was asked for.
    """

    iteration_s: float
    weights: int
    communication_share: float
    bytes_per_iteration: float
    bound_s: float
    loss: float
    losses: tuple[float, ...]
    test: float | None
    iterations: int
    batch: int
    ranks: int
    layout: Layout
    topology: Topology
    widths: tuple[int, ...]
    replicas: int = 1
    network: str | None = None


def train_job(
    job: Job, communicator: Communicator, *, on_step: OnStep | None = None
) -> TrainingResult:
    """Train; every rank calls it with the same, and each gets the same answer.

    Args:
        job: what is to be trained, the same on all ranks.
        communicator: the ranks.
        on_step: told by the first rank how far it is.

    Raises:
        DivergedError: the loss is no number any more.
        InputError: ranks that the replicas do not divide.
        InvalidFileError: a checkpoint or the network cannot be written, or is of another training.
        RankError: ranks lost one another.
    """
    if job.layout == "paper":
        ranks = job.shape.topology.shards + 1
        if communicator.size == 1:
            return run_ranks(ranks, lambda one: _train_as_paper(job, one, on_step))[0]
        return _train_as_paper(job, communicator, on_step)
    return _train_shards(job, communicator, on_step)


class _Watch:
    """Times iterations, and what goes between ranks in them."""

    def __init__(self, ranks: Timed, iterations: int, progress: OnStep | None) -> None:
        self._ranks = ranks
        self._iterations = iterations
        self._progress = progress if ranks.rank == 0 else None
        self._at: list[tuple[float, float, int]] = [self._now()]

    def see(self, done: int) -> None:
        """Note that an iteration has ended, and how many have, those before a checkpoint too."""
        self._at.append(self._now())
        if self._progress is not None:
            self._progress("training", done, self._iterations)

    @property
    def taken(self) -> int:
        """How many iterations were seen."""
        return len(self._at) - 1

    def median_s(self) -> float:
        """Return the median time of an iteration; the first, which prepares, counts if alone."""
        times = [second[0] - first[0] for first, second in pairwise(self._at)]
        return statistics.median(times[1:] or times) if times else 0.0

    def totals(self) -> tuple[float, float, int]:
        """Return seconds, seconds in messages and bytes sent, from the second iteration on."""
        first = self._at[1 if len(self._at) > 2 else 0]
        last = self._at[-1]
        return last[0] - first[0], last[1] - first[1], last[2] - first[2]

    def _now(self) -> tuple[float, float, int]:
        return time.perf_counter(), self._ranks.seconds, self._ranks.sent_bytes


def _train_shards(job: Job, communicator: Communicator, progress: OnStep | None) -> TrainingResult:
    shape, rows = job.shape, job.rows
    ranks = Timed(communicator)
    softmax = shape.activations[-1] == "softmax"
    grid = Grid.of(ranks, job.replicas)
    network = RankedNetwork(shape, grid.shards, loss="cross-entropy" if softmax else "squared")
    inputs, wanted = torch.from_numpy(rows.inputs), torch.from_numpy(rows.wanted)
    trainer = Trainer(network, job.recipe, inputs, wanted, grid=grid, norms=job.log is not None)
    trainer.steps = job.iterations
    bound_s = _bound_s([_count(layer) for layer in network.layers], ranks)
    watch = _Watch(ranks, job.iterations, progress)
    curve = Curve()
    with logging_to(job.log, ranks) as log:

        def see(now: TrainerProgress) -> None:
            watch.see(now.step)
            curve.see(now.epoch, now.loss)
            log(now)

        loss = trainer.run(see, checkpoints=job.checkpoint)
    test = _test(job, partial(whole_answers, network))
    told = _told(job, watch, ranks, bound_s, loss, test, curve.means)
    if job.out is not None:
        _write(network, job, job.out, grid)
    network.close()
    grid.close()
    return told


def _train_as_paper(
    job: Job, communicator: Communicator, progress: OnStep | None
) -> TrainingResult:
    shape, rows = job.shape, job.rows
    ranks = Timed(communicator)
    network = PaperNetwork(shape.widths, ranks, seed=shape.seed)
    bound_s = _bound_s([layer.weight.numel() for layer in network.layers], ranks)
    watch = _Watch(ranks, job.iterations, progress)
    batch, count = job.recipe.batch, len(rows.inputs)
    inputs, wanted = torch.from_numpy(rows.inputs), torch.from_numpy(rows.wanted)
    losses: list[float] = []
    for iteration in range(job.iterations):
        epoch, place = divmod(iteration, -(-count // batch))
        chosen = row_order(shape.seed, epoch, count)[place * batch : (place + 1) * batch]
        if place == 0:
            losses.clear()
        told = network.descend(inputs[chosen], wanted[chosen], job.recipe.learning_rate)
        losses.append(0.0 if told is None else told)
        watch.see(iteration + 1)
    test = _test(job, network.forward)
    network.close()
    loss = float(_all(ranks, [statistics.fmean(losses)])[0, 0])  # the master alone knows it
    return _told(job, watch, ranks, bound_s, loss, test)


def _told(
    job: Job,
    watch: _Watch,
    ranks: Timed,
    bound_s: float,
    loss: float,
    test: float | None,
    losses: tuple[float, ...] = (),
) -> TrainingResult:
    """Put together what ranks have seen."""
    iterations = watch.taken
    elapsed_s, messages_s, sent_bytes = watch.totals()
    counted = max(1, iterations - 1 if iterations > 1 else iterations)
    share = messages_s / elapsed_s if elapsed_s > 0 else 0.0
    shares, sent, bounds = _all(ranks, [share, sent_bytes / counted, bound_s]).T
    median_s = float(_all(ranks, [watch.median_s()])[0, 0])
    shape = job.shape
    return TrainingResult(
        iteration_s=median_s,
        weights=count_weights(shape.topology, shape.widths),
        communication_share=float(shares.max()),
        bytes_per_iteration=float(sent.sum()),
        bound_s=float(bounds.max()),
        loss=loss,
        losses=losses,
        test=test,
        iterations=iterations,
        batch=job.recipe.batch,
        ranks=ranks.size,
        layout=job.layout,
        topology=shape.topology,
        widths=shape.widths,
        replicas=job.replicas,
        network=None if job.out is None else str(job.out),
    )


def _bound_s(weights: list[int], ranks: Timed) -> float:
    """Return how long this rank's weights take through memory, all ranks measuring at once."""
    ranks.barrier()
    if not weights:
        return 0.0  # the paper's master
    return moved_bytes(weights) / scaling_bandwidth(4 * sum(weights))


def _count(layer: ShardedLayer | SummedLayer) -> int:
    return sum(run.weight.numel() for run in layer.runs)


def _test(job: Job, answer: Callable[[Tensor], Tensor]) -> float | None:
    """Return the share of test rows that are answered right; None without any."""
    inputs, labels = job.rows.test_inputs, job.rows.test_labels
    if inputs is None or labels is None:
        return None
    found = [answer(part).argmax(0) for part in torch.split(torch.from_numpy(inputs), TOGETHER)]
    return float((torch.cat(found).numpy() == labels).mean())


def _write(network: RankedNetwork, job: Job, out: Path, grid: Grid) -> None:
    """Write the network from the first rank, whose failure is everyone's."""
    if job.rows.scaling is not None:
        job.rows.scaling.fold(network)
    parts = gather_parts(network)

    def write() -> None:
        if parts is not None and grid.replicas.rank == 0:
            write_whole(out, export_sharded(job.shape, parts))

    together(grid.world, write)


def _all(ranks: Timed, mine: Sequence[float]) -> NDArray[np.float64]:
    """Return what each rank has, a row each."""
    found = np.zeros((ranks.size, len(mine)))
    ranks.all_gather(np.array(mine), list(found))
    return found
