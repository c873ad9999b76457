"""Choose on how many ranks a training runs, and how they share it, by a measured cost model."""

import os
from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec
import psutil

from evener.artifacts.calibration import Calibration, Link
from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.share import share
from evener.errors import EvenerError, InputError, MissingExtraError
from evener.workflow.memory import USABLE
from evener.workflow.opened import Progress
from evener.workflow.ranks import find_launcher, start_ranks
from evener.workflow.selfcheck import check_self, known_calibration
from evener.workflow.training_wish import TrainingWish

if TYPE_CHECKING:
    from evener.train.layout import Layout
    from evener.train.over_ranks import Job

_REMEMBERED: Final[Mapping[str, int | None]] = {"sgd": None, "momentum": 1, "adamw": 2}
_MEASURE: Final = ("selfcheck", "--json", "--ranks")


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One way to train, as the cost model predicts it.

    Attributes:
        layout: in a few words.
        ranks: all of them.
        replicas: copies that share the rows of a batch.
        topology: which neurons see which.
        iteration_s: time of an iteration.
        communication_share: of it, on the rank that communicates most.
        bytes_per_iteration: what all ranks together receive.
        weights: that exist, biases left out.
        memory_bytes: what its arrays take on all ranks together, by an estimate.
        why: it was chosen, or was not.
    """

    layout: str
    ranks: int
    replicas: int
    topology: Topology
    iteration_s: float
    communication_share: float
    bytes_per_iteration: int
    weights: int
    memory_bytes: int
    why: str


class TrainingChoice(msgspec.Struct, frozen=True, kw_only=True):
    """How a training is to run, and why.

    Attributes:
        chosen: one of the candidates.
        reasons: sentences, with their figures.
        candidates: all that were looked at, quickest first.
        ranks: the most that might be used.
        processor: whose calibration the predictions follow from.
        link: between ranks; None if one rank was all there might be.
        batch: rows of an iteration.
        notes: what limited the choice.
    """

    chosen: Candidate
    reasons: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    ranks: int
    processor: str
    link: Link | None
    batch: int
    notes: tuple[str, ...] = ()


class Latitude(msgspec.Struct, frozen=True, kw_only=True):
    """What a user leaves open.

    Attributes:
        ranks: the most that may be used; as many as this process has cores if None.
        halo: whether another halo may be chosen, which makes another network.
        iteration_s: the longest that an iteration may take; None for any.
    """

    ranks: int | None = None
    halo: bool = False
    iteration_s: float | None = None


def check_latitude(wish: TrainingWish, latitude: Latitude) -> None:
    """Refuse to choose what a wish says already.

    Raises:
        InputError: says what to leave out or to add.
    """
    if wish.layout == "paper":
        raise InputError("the paper's layout leaves nothing to choose: leave out --auto")
    if wish.replicas > 1:
        raise InputError("--auto chooses the replicas: leave out --replicas, or --auto")
    if wish.on_failure != "abort":
        raise InputError(
            "--auto may choose replicas, which ranks that are left could not share evenly: leave "
            "out --on-failure, or --auto"
        )
    if wish.precision != "float32":
        raise InputError(
            "--auto predicts products in float32, which take another time and less memory than in "
            f"{wish.precision}: leave out --precision, or --auto"
        )
    if latitude.halo and wish.who_sees.halo != "full":
        raise InputError("--halo auto chooses the halo: give no other")
    if not latitude.halo and wish.who_sees.halo != "full" and wish.shards is None:
        raise InputError(
            f"--auto with --halo {wish.who_sees.halo} and without --shards: shards say which "
            "weights exist, and ranks are to be chosen; give --shards"
        )


def ranks_here(asked: int | None) -> tuple[int, tuple[str, ...]]:
    """Return how many ranks may be started here, and what limits them.

    No more than there are cores, for each rank is predicted to have one.

    Args:
        asked: by the user; as many as this process has cores if None.

    Raises:
        MissingExtraError: several were asked for, and mpi4py or mpiexec is missing.
        InputError: several were asked for, and mpi4py finds no MPI library.
    """
    cores = len(os.sched_getaffinity(0))
    if asked is not None:
        if asked > 1:
            find_launcher()
        if asked <= cores:
            return asked, ()
        note = f"of {asked} ranks no more than {cores} are looked at: each is to have a core"
        return cores, (note,)
    try:
        if cores > 1:
            find_launcher()
    except InputError as error:
        missing = isinstance(error, MissingExtraError)
        return 1, (f"one rank is all there can be{'' if missing else ' here'}: {error}",)
    return cores, ()


def calibration_for(ranks: int, *, progress: Progress | None = None) -> Calibration:
    """Return what was measured here last; measure it now, in seconds, if nothing was.

    Args:
        ranks: how many may be used; with several, some are started to measure their messages.
        progress: told what is being done.

    Raises:
        MissingExtraError: torch, mpi4py or mpiexec is missing.
        EvenerError: the ranks that measure failed.
    """
    known = known_calibration()
    if known is not None and (ranks == 1 or known.link is not None):
        return known
    if progress is not None:
        progress("measuring this machine, once", 0, 0)
    if ranks == 1:
        return check_self(Alone()).calibration
    measuring = max(2, min(ranks, len(os.sched_getaffinity(0))))
    lines: list[str] = []
    code = start_ranks(measuring, [*_MEASURE, str(measuring)], hear=lines.append)
    if code:
        raise EvenerError(
            f"evener selfcheck --ranks {measuring} ended with {code}; what it says stands above. "
            "Leave out --auto, or give --ranks 1"
        )
    told = msgspec.json.decode("".join(lines))
    return msgspec.convert(told["calibration"], Calibration)


def calibration_among(communicator: Communicator) -> Calibration:
    """Return the same for ranks that were started already; every rank calls it.

    What is known of this machine counts where all ranks are on it; else they measure.

    Args:
        communicator: the ranks.
    """
    known = known_calibration() if communicator.rank == 0 else None
    machine = getattr(communicator, "machine", None)
    here = machine is not None and machine.ranks == communicator.size
    usable = known is not None and here and (communicator.size == 1 or known.link is not None)
    (told, *_) = share(communicator, msgspec.json.encode(known) if usable else b"")
    if told:
        return msgspec.json.decode(told, type=Calibration)
    (told, *_) = share(communicator, msgspec.json.encode(check_self(communicator).calibration))
    return msgspec.json.decode(told, type=Calibration)


def choose_training(
    wish: TrainingWish,
    job: "Job",
    latitude: Latitude,
    calibration: Calibration,
    *,
    ranks: int,
    exactly: bool = False,
    free_bytes: float | None = None,
    notes: tuple[str, ...] = (),
) -> tuple[TrainingWish, TrainingChoice]:
    """Choose ranks and replicas for a training, and a halo where it is open.

    Args:
        wish: what the user wants trained.
        job: what `prepare_training` made of it for one rank.
        latitude: what is left open.
        calibration: of this machine.
        ranks: the most that may be used.
        exactly: whether all of them are to be used.
        free_bytes: memory that the training may take; most of what is free if None.
        notes: what limited the ranks.

    Returns:
        The wish with what was chosen, and the choice.

    Raises:
        InputError: the wish leaves nothing to choose, or not all ranks can be used.
        InfeasibleError: every layout takes longer or more memory than it may.
    """
    from evener.train.layout import Freedom, choose_layout
    from evener.train.layout_words import reasons, why

    check_latitude(wish, latitude)
    usable = USABLE * psutil.virtual_memory().available if free_bytes is None else free_bytes
    tables = (job.rows.inputs, job.rows.wanted, job.rows.test_inputs)
    freedom = Freedom(
        ranks=ranks,
        exactly=exactly,
        shards=wish.shards,
        halo=latitude.halo,
        iteration_s=inf if latitude.iteration_s is None else latitude.iteration_s,
        memory_bytes=usable,
    )
    batch = min(job.recipe.batch, len(job.rows.inputs))
    choice = choose_layout(
        job.shape,
        calibration,
        freedom,
        batch=batch,
        remembered=_REMEMBERED[wish.optimiser],
        rows_bytes=sum(table.nbytes for table in tables if table is not None),
    )
    candidates = [_candidate(one, why(choice, one)) for one in choice.candidates]
    chosen = candidates[choice.candidates.index(choice.chosen)]
    settled = msgspec.structs.replace(
        wish,
        replicas=chosen.replicas,
        shards=chosen.topology.shards,
        topology=chosen.topology,
    )
    return settled, TrainingChoice(
        chosen=chosen,
        reasons=tuple(reasons(choice)),
        candidates=tuple(candidates),
        ranks=ranks,
        processor=calibration.processor,
        link=calibration.link,
        batch=batch,
        notes=notes,
    )


def _candidate(layout: "Layout", why: str) -> Candidate:
    return Candidate(
        layout=str(layout),
        ranks=layout.ranks,
        replicas=layout.replicas,
        topology=layout.shape.topology,
        iteration_s=layout.cost.iteration_s,
        communication_share=layout.cost.communication_share,
        bytes_per_iteration=layout.cost.bytes_per_iteration,
        weights=layout.cost.weights,
        memory_bytes=layout.memory_bytes,
        why=why,
    )
