"""Sweep who sees whom: train every network of a sweep from several seeds, and keep what is done."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec
import numpy as np

from evener.artifacts.swept import Sweep
from evener.artifacts.topology import Topology
from evener.errors import InputError
from evener.workflow.cache import keep, recall
from evener.workflow.opened import Progress
from evener.workflow.selfcheck import processor_name
from evener.workflow.steps import code_version
from evener.workflow.training import prepare_training
from evener.workflow.training_wish import TrainingWish

if TYPE_CHECKING:
    from evener.comm.communicator import Communicator
    from evener.train.over_ranks import Job, Rows
    from evener.train.shape import Shape
    from evener.train.sweep import Cell, Held

_CODE: Final = ("artifacts", "comm", "train")  # what a cell depends on
_ALIKE: Final = 0.02  # of its weights: a network that is so near needs no wider or narrower twin


class SweepWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a user wants to compare.

    Attributes:
        training: how each network is trained; its topology is what is not swept.
        settings: what is swept, such as "halo=0,1,full".
        seeds: how many times each network is trained.
        equal_weights: how many weights each network is to have a second time, "full" for as many
            as a dense one; None for no second time.
        page: file for a page with the table and a chart.
    """

    training: TrainingWish
    settings: tuple[str, ...]
    seeds: int = 3
    equal_weights: int | Literal["full"] | None = "full"
    page: Path | None = None

    def check(self) -> None:
        """Refuse what does not go together.

        Raises:
            InputError: says what, and what to leave out or to add.
        """
        wish = self.training
        wrong = {
            "--layout paper": wish.layout == "paper",
            "--checkpoint": wish.checkpoint is not None,
            "--resume": wish.resume,
            "--log": wish.log is not None,
            "--on-failure": wish.on_failure != "abort",
            "--replicas": wish.replicas != 1,
            "an ONNX file behind -o": wish.out is not None,
        }
        given = [name for name, is_given in wrong.items() if is_given]
        if given:
            raise InputError(
                "--sweep compares many networks, keeps those that are done by itself, and writes "
                f"none of them: leave out {', '.join(given)}"
            )
        if wish.data is None and wish.project is None:
            raise InputError(
                "--sweep compares what networks learn, and random rows teach nothing: give --data, "
                "or the folder of a project"
            )


class Sweeping(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep that can start.

    Attributes:
        wish: what the user wants.
        shapes: the networks, each with its first seed.
        equal: how many of them, the last ones, were made as wide as weights ask for.
        jobs: rows and recipe, by whether features have one scaling for all of them.
    """

    wish: SweepWish
    shapes: "tuple[Shape, ...]"
    equal: int
    jobs: "Mapping[bool, Job]"

    def job_of(self, shape: "Shape") -> "Job":
        """Return what a network is trained on, and how."""
        return self.jobs[shape.topology.pools_input]


def prepare_sweep(wish: SweepWish, *, ranks: int = 1) -> Sweeping:
    """Read and check everything that a sweep needs, without training.

    Args:
        wish: what the user wants.
        ranks: how many there are.

    Raises:
        InputError: something is wrong with it, or with the data.
        MissingExtraError: PyTorch or scikit-learn is missing.
    """
    wish.check()
    from evener.train.sharding import Placement, count_weights
    from evener.train.sweep_axes import parse_axis, topologies_of, widened

    base = msgspec.structs.replace(wish.training.who_sees, shards=wish.training.shards or ranks)
    topologies = topologies_of([parse_axis(text) for text in wish.settings], base)
    for topology in topologies:
        Placement.even(topology.shards, ranks)
    jobs: dict[bool, Job] = {}
    for topology in topologies:
        if topology.pools_input not in jobs:
            training = msgspec.structs.replace(
                wish.training, topology=topology, shards=topology.shards
            )
            jobs[topology.pools_input] = prepare_training(training, ranks=ranks)
    first = next(iter(jobs.values())).shape
    shapes = [replace(first, topology=topology) for topology in topologies]
    wider: list[Shape] = []
    if wish.equal_weights is not None and len(first.widths) > 2:
        weights = wish.equal_weights
        if weights == "full":
            weights = count_weights(Topology(), first.widths)
        wider = [
            widened(shape, weights)
            for shape in shapes
            if abs(count_weights(shape.topology, shape.widths) / weights - 1) > _ALIKE
        ]
    return Sweeping(wish=wish, shapes=(*shapes, *wider), equal=len(wider), jobs=jobs)


def sweep_over_ranks(
    sweeping: Sweeping, communicator: "Communicator", *, progress: Progress | None = None
) -> Sweep:
    """Train every network of a sweep; every rank calls it with the same, and gets the same.

    A network and seed that were trained before, here and with the same code, are not again.

    Args:
        sweeping: what `prepare_sweep` returned.
        communicator: the ranks; each network is trained on all of them.
        progress: told by the first rank how far it is.

    Raises:
        DivergedError: a loss is no number any more; says of which network. What was done is kept.
        InvalidFileError: the page cannot be written.
    """
    from evener.train.sweep import seeded, summed_up
    from evener.train.sweet_spot import advise

    wish = sweeping.wish
    of_jobs = {pooled: _Cells(job, communicator) for pooled, job in sweeping.jobs.items()}
    plain = len(sweeping.shapes) - sweeping.equal
    points = []
    total = len(sweeping.shapes) * wish.seeds
    for number, shape in enumerate(sweeping.shapes):
        cells = []
        for seed, one in enumerate(seeded(shape, wish.seeds)):
            if progress is not None and communicator.rank == 0:
                progress(f"training {shape.topology}", number * wish.seeds + seed, total)
            cells.append(of_jobs[shape.topology.pools_input].get(one))
        points.append(summed_up(shape, cells, equal_weights=number >= plain))
    advice = advise(points)
    job = sweeping.job_of(sweeping.shapes[0])
    found = Sweep(
        settings=wish.settings,
        data=wish.training.data or str(wish.training.project),
        train_rows=len(job.rows.inputs),
        test_rows=0 if job.rows.test_inputs is None else len(job.rows.test_inputs),
        batch=job.recipe.batch,
        iterations=job.iterations,
        ranks=communicator.size,
        points=tuple(points),
        best=advice.best,
        recommended=advice.recommended,
        reason=advice.reason,
    )
    if wish.page is not None and communicator.rank == 0:
        from evener.report.sweep_page import write_sweep

        write_sweep(wish.page, found)
    return found


class _Cells:
    """Trains the cells of one job, or finds them where they are kept."""

    def __init__(self, job: "Job", communicator: "Communicator") -> None:
        self._job = job
        self._held = _held(job.rows)
        self._communicator = communicator
        self._inputs: dict[str, object] = {}
        if communicator.rank == 0:
            self._inputs = _inputs(job, self._held, communicator.size)

    def get(self, shape: "Shape") -> "Cell":
        """Return what a network comes to from the seed of its shape; every rank calls it."""
        from evener.comm.share import share
        from evener.train.sweep import Cell, train_cell

        inputs = self._inputs | {"shape": shape}
        kept = recall(Cell, "cell", inputs) if self._communicator.rank == 0 else None
        mine = b"" if kept is None else msgspec.json.encode(kept.value)
        told = share(self._communicator, mine)[0]  # the first rank's word is everyone's
        if told:
            return msgspec.json.decode(told, type=Cell)
        cell = train_cell(
            shape,
            self._held,
            recipe=self._job.recipe,
            iterations=self._job.iterations,
            communicator=self._communicator,
        )
        if self._communicator.rank == 0:
            keep(cell, "cell", inputs, made_from={})
        return cell


def _inputs(job: "Job", held: "Held", ranks: int) -> dict[str, object]:
    """Return what all cells of a job depend on, their time too."""
    from evener.train.sweep import circumstances

    return {
        "rows": held.digest(),
        "recipe": job.recipe,
        "iterations": job.iterations,
        "ranks": ranks,
        "circumstances": circumstances(),
        "processor": processor_name(),
        "code": code_version(*_CODE),
    }


def _held(rows: "Rows") -> "Held":
    """Return the rows of a job as a sweep takes them.

    Raises:
        InputError: there are none to judge by.
    """
    from evener.train.sweep import Held

    if rows.test_inputs is None or rows.test_labels is None or not len(rows.test_inputs):
        raise InputError("no rows to judge by: give data that has some left for a test")
    classes = rows.wanted.shape[1]
    wanted = np.eye(classes, dtype=np.float32)[rows.test_labels]
    return Held(rows.inputs, rows.wanted, rows.test_inputs, wanted)
