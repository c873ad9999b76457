"""Search on ranks of MPI: the first leads and hands out networks, the others train them.

Where a rank ends, MPI ends all of them. The search is started again then, and goes on from the
generation that was written last, so that what the lost rank had is done again.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from evener.comm.pools import rank_pool
from evener.comm.started import check_asked, is_launched, is_torchrun, ranks_started
from evener.errors import EvenerError, InputError
from evener.workflow.chunks import Pool
from evener.workflow.ranks import start_ranks

_STARTS: Final = 3
_LOG: Final = logging.getLogger(__name__)


def is_one_of_ranks() -> bool:
    """Whether a launcher started this process among others."""
    return is_launched() or is_torchrun()


def search_on_ranks(ranks: int, arguments: Sequence[str]) -> int:
    """Start ranks of this machine with a command line; again where one of them was lost.

    Args:
        ranks: how many.
        arguments: what follows `evener`.

    Returns:
        The exit code.

    Raises:
        MissingExtraError: mpi4py or mpiexec is missing.
        InputError: mpi4py finds no MPI library.
        EvenerError: ranks were lost again and again.
    """
    for start in range(1, _STARTS + 1):
        try:
            return start_ranks(ranks, arguments)
        except InputError:
            raise
        except EvenerError:
            if start == _STARTS:
                raise
            _LOG.warning("a rank ended; the search goes on from the last generation")
    raise AssertionError  # the last start returns or raises


def search_on_rank(search: Callable[[Pool], int], asked: int | None) -> int:
    """Lead the search on the first of the ranks that were started, and train on the others.

    Args:
        search: given what makes the pool of the others.
        asked: how many ranks the user asked for, if at all.

    Returns:
        The exit code.

    Raises:
        InputError: another number was started, or torchrun did.
    """
    if is_torchrun():
        raise InputError(
            "torchrun started this search, whose ranks speak MPI: start it by mpirun, srun, or "
            "evener search --ranks N"
        )
    if asked is not None:
        check_asked(asked, ranks_started())
    with rank_pool() as executor:
        if executor is None:
            return 0
        pool: AbstractContextManager[Executor] = nullcontext(executor)  # it is used more than once
        return search(lambda: pool)
