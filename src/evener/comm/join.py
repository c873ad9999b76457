"""Be one of the ranks of a run, however it was started; where one fails, end all.

Without it, a rank that fails would leave the others waiting.
"""

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evener.artifacts.files import write_first
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.started import (
    EXIT_CODE_FILE,
    check_alone,
    check_asked,
    check_together,
    is_launched,
    is_torchrun,
)
from evener.errors import STOPPED, EvenerError, InvalidFileError, MissingExtraError, RankError

if TYPE_CHECKING:
    from evener.comm.mpi_ranks import MpiRank
    from evener.comm.torch_distributed import TorchRank

FAILED: Final = ".failed"
"""Ends the name of the file that holds the exit code of the rank that ended all."""

_TOLD: Final = ".told"
"""Ends the name of the file that the rank made which tells what went wrong."""

_TURN_S: Final = 0.25  # for another rank to tell and end all; ranks that fail alike do so at once
_TURNS: Final = 4  # those behind have theirs together, for all are to end within about a second
_TELLING_S: Final = 10.0  # that the rank which tells is given to end the others
_THREADS: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def joined(
    *,
    ranks: int | None = None,
    timeout_s: float | None = None,
    explain: Callable[[BaseException], int] | None = None,
) -> Iterator[Communicator]:
    """Be one of the ranks that mpiexec, srun or torchrun started; alone, if none did.

    What is raised in the block on one of several ranks is explained there, and ends them all. Each
    gets its share of the machine's cores for its threads, unless the user has set their number;
    that works where torch is imported in the block.

    Args:
        ranks: how many ranks the user asked for, if at all.
        timeout_s: how long a rank waits for another, in seconds; two minutes if None.
        explain: tells the user what went wrong and returns the exit code; prints the traceback if
            None.

    Raises:
        InputError: another number of ranks was started, or they do not find one another.
        MissingExtraError: what carries messages is missing.

    Example:
        >>> with joined() as communicator:
        ...     communicator.size
        1
    """
    if is_torchrun():
        communicator: MpiRank | TorchRank = _torch_rank(timeout_s)
    elif is_launched():
        communicator = _mpi_rank(timeout_s)
    else:
        check_asked(ranks, 1)
        if ranks is None:
            check_alone()
        yield Alone()
        return
    check_asked(ranks, communicator.size)
    try:
        with _leaving_interrupts_to_rank_0(communicator.rank):
            yield communicator
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - whatever it is, the others wait for this rank
        code = _tell(error, communicator, explain or _print)
    except SystemExit as end:
        if not end.code:
            communicator.close()
            raise
        code = end.code if isinstance(end.code, int) else EvenerError.exit_code
    else:
        communicator.close()
        return
    _leave_code(code)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # whoever read it may be gone; the others wait nevertheless
            stream.flush()
    communicator.abort(code)


def _mpi_rank(timeout_s: float | None) -> "MpiRank":
    if find_spec("mpi4py") is None:
        raise MissingExtraError("running on several ranks", extra="mpi")
    from evener.comm import mpi_ranks

    communicator = mpi_ranks.MpiRank.of_world(timeout_s=timeout_s or mpi_ranks.PATIENCE_S)
    check_together(communicator.size, mpi_ranks.library())
    if not any(name in os.environ for name in _THREADS):
        machine = communicator.machine
        os.environ[_THREADS[0]] = str(max(1, machine.cores // machine.ranks))
    return communicator


def _torch_rank(timeout_s: float | None) -> "TorchRank":
    if find_spec("torch") is None:
        raise MissingExtraError("running under torchrun", extra="train")
    from evener.comm import torch_distributed

    patience_s = timeout_s or torch_distributed.PATIENCE_S
    return torch_distributed.TorchRank.of_world(timeout_s=patience_s)


@contextmanager
def _leaving_interrupts_to_rank_0(rank: int) -> Iterator[None]:
    """Ignore Ctrl-C on other ranks: rank 0 says so, and ends them."""
    if rank == 0 or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _tell(
    error: BaseException, communicator: Communicator, explain: Callable[[BaseException], int]
) -> int:
    """Tell what was raised here, unless another rank does; return the exit code."""
    if not isinstance(error, RankError):  # which says so itself
        error.add_note(f"on rank {communicator.rank} of {communicator.size}")
    if _is_to_tell(error, communicator.rank):
        return explain(error)
    time.sleep(_TELLING_S)
    return _code_of(error)


def _is_to_tell(error: BaseException, rank: int) -> bool:
    """Whether this rank tells what went wrong; it returns once others had their turn.

    Where something goes wrong on several ranks at once, one is to tell: rank 0 if it can, and who
    only heard of an error behind the one that raised it. Ranks of this machine that `start_ranks`
    started know who was first by a file; others wait, and are ended meanwhile.

    Args:
        error: what was raised here.
        rank: this one.
    """
    told = os.environ.get(EXIT_CODE_FILE)
    turns = min(rank, _TURNS - 1) if told is None else 0
    if type(error) is RankError:
        turns += _TURNS
    time.sleep(turns * _TURN_S)
    if told is not None:
        try:
            Path(told + _TOLD).touch(exist_ok=False)
        except FileExistsError:
            return False
        except OSError:  # twice is better than never
            pass
    return True


def _leave_code(code: int) -> None:
    """Tell whoever started the ranks the exit code, unless another rank was first."""
    told = os.environ.get(EXIT_CODE_FILE)
    if told is not None:
        with suppress(InvalidFileError):  # the others wait for this rank, as above
            write_first(Path(told + FAILED), str(code).encode())


def _print(error: BaseException) -> int:
    with suppress(OSError):  # as above
        traceback.print_exception(error)
    return _code_of(error)


def _code_of(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return STOPPED
    return error.exit_code if isinstance(error, EvenerError) else EvenerError.exit_code
