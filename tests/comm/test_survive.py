"""Going on with the ranks that are left: what is done again, and what cannot be."""

import os
from collections.abc import Callable

import pytest

from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.mpi_library import MpiLibrary
from evener.comm.started import OUTLIVED
from evener.comm.survive import check_library, check_ranks, surviving
from evener.comm.virtual import run_ranks
from evener.errors import InputError, RankError, RankLostError


class FewerAndFewer(Alone):
    """The last of some ranks, of which one ends at each agreement that says so."""

    def __init__(self, size: int, agreements: list[bool]) -> None:
        super().__init__()
        self.rank, self.size = size - 1, size
        self._agreements = iter(agreements)
        self.said: list[bool] = []

    def agree(self, *, well: bool) -> bool:
        self.said.append(well)
        return next(self._agreements)

    def shrink(self) -> None:
        self.rank, self.size = self.rank - 1, self.size - 1


def act_on(ranks: Communicator, losses: int) -> Callable[[], str]:
    calls = iter(range(9))

    def act() -> str:
        if next(calls) < losses:
            raise RankLostError("a rank has ended")
        return f"done by {ranks.size}"

    return act


def test_the_work_is_done_again_until_no_rank_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OUTLIVED, "of another")
    ranks = FewerAndFewer(3, [False, False, True])
    told: list[int] = []

    assert surviving(ranks, act_on(ranks, 2), told.append) == "done by 1"

    assert ranks.said == [False, False, True]
    assert told == [1, 1]
    assert os.environ[OUTLIVED] == "0"  # the number that it has now


def test_a_rank_that_was_done_does_it_again_where_others_were_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(OUTLIVED, "of another")
    ranks = FewerAndFewer(3, [False, True])

    assert surviving(ranks, act_on(ranks, 0), lambda _: None) == "done by 2"

    assert ranks.said == [True, True]
    assert os.environ[OUTLIVED] == "1"


def test_other_errors_end_the_work() -> None:
    def act() -> None:
        raise RankError("others")

    with pytest.raises(RankError, match="others"):
        surviving(FewerAndFewer(2, []), act, lambda _: None)


def test_a_single_rank_has_none_to_lose() -> None:
    check_ranks(Alone())

    assert surviving(Alone(), lambda: 7, lambda _: None) == 7


def test_ranks_that_end_together_are_refused() -> None:
    def program(ranks: Communicator) -> None:
        with pytest.raises(InputError, match="start them by Open MPI's mpiexec --with-ft ulfm"):
            check_ranks(ranks)

    run_ranks(2, program)
    check_library(MpiLibrary(name="Open MPI", version="5.0.11", path="", launcher=""))
    with pytest.raises(InputError, match=r"mpi4py uses MPICH 5.0.2 \(/libmpi.so\), which ends all"):
        check_library(MpiLibrary(name="MPICH", version="5.0.2", path="/libmpi.so", launcher=""))
