"""Train the chosen architecture of a project by shards: here on one rank, else on started ranks.

The ranks are processes of `project_rank.py`, which read what is to be trained from a file and write
what came of it into others. A build holds its project's lock, and so do its ranks: where the build
is killed, the next one waits until they have ended as well.
"""

import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from evener.artifacts.architecture import Architecture
from evener.artifacts.layer_graph import Spread
from evener.artifacts.project import DataSection, TrainSection
from evener.comm.alone import Alone
from evener.comm.started import is_launched, is_torchrun
from evener.errors import STOPPED, EvenerError, InputError
from evener.workflow.ranks import find_launcher, start_ranks

if TYPE_CHECKING:
    from evener.data.dataset import Dataset
    from evener.train.sharded_fit import OnEpoch, ShardedFit

TASK, RESULT, FAILURE = "task.json", "result.msgpack", "failure.json"
EPOCH: Final = "epoch "
"""Begins each line that the first rank writes; the number of an epoch that is done follows."""

_PROGRAM: Final = "evener.workflow.project_rank"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What ranks are to train.

    Attributes:
        folder: of the project.
        data: its rows, relative to it.
        sha256: of the rows that the build has seen.
        architecture: the chosen one.
        section: how it is trained, and on how many ranks.
        checkpoints: folder to go on from, and to save into.
        spread: of the weights that it begins with; see `evener.train.sharded_fit`.
    """

    folder: str
    data: DataSection
    sha256: str
    architecture: Architecture
    section: TrainSection
    checkpoints: str
    spread: Spread | None = None


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a rank ended all of them.

    Attributes:
        exit_code: of the command line, for such an error.
        message: of the error.
    """

    exit_code: int
    message: str


def check_ranks(section: TrainSection) -> None:
    """Find out before any work that the ranks of a project cannot be started.

    Args:
        section: how the project is trained.

    Raises:
        MissingExtraError: mpi4py or mpiexec is missing.
        InputError: mpi4py finds no MPI library, or this process is one of several ranks.
    """
    if section.ranks == 1:
        return
    if is_launched() or is_torchrun():
        raise InputError(
            f"train.ranks = {section.ranks}, and this build is one of several ranks itself: start "
            "it once, without mpiexec, srun or torchrun; it starts the ranks that train"
        )
    find_launcher()


def fit_final(
    task: Task, dataset: "Dataset", *, held: Sequence[int] = (), on_epoch: "OnEpoch"
) -> "ShardedFit":
    """Train what a task says.

    Args:
        task: what.
        dataset: its rows.
        held: open files that are to stay open as long as ranks train.
        on_epoch: called after each pass.

    Raises:
        InputError: it cannot be trained so; see `evener.train.sharded_fit`.
        EvenerError: a rank failed.
    """
    from evener.train.sharded_fit import ShardedFit, fit_sharded

    if task.section.ranks == 1:
        return fit_sharded(
            task.architecture,
            dataset,
            task.section,
            Alone(),
            spread=task.spread,
            checkpoints=Path(task.checkpoints),
            on_epoch=on_epoch,
        )
    with tempfile.TemporaryDirectory(prefix="evener-") as name:
        folder = Path(name)
        (folder / TASK).write_bytes(msgspec.json.encode(task))
        code = start_ranks(
            task.section.ranks,
            [str(folder)],
            module=_PROGRAM,
            hear=partial(_hear, on_epoch),
            held=held,
        )
        if code:
            _explain(folder / FAILURE, code)
        return msgspec.msgpack.decode((folder / RESULT).read_bytes(), type=ShardedFit)


def _hear(on_epoch: "OnEpoch", line: str) -> None:
    """Take the number of an epoch from the first rank; what a library prints is passed on."""
    if line.startswith(EPOCH):
        on_epoch(int(line.removeprefix(EPOCH)))
    else:
        sys.stderr.write(line)


def _explain(path: Path, code: int) -> None:
    """Raise what a rank ended with."""
    if code == STOPPED:
        raise KeyboardInterrupt
    if not path.is_file():
        raise EvenerError(
            f"the ranks that train ended with {code} and did not say why; what they said stands "
            "above. Try fewer ranks, or none"
        )
    failure = msgspec.json.decode(path.read_bytes(), type=Failure)
    kind = InputError if failure.exit_code == InputError.exit_code else EvenerError
    raise kind(failure.message)
