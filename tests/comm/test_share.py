"""Small things that ranks tell one another."""

import pytest

from evener.comm.share import share, together
from evener.comm.virtual import VirtualRank, run_ranks
from evener.errors import InputError, RankError


def test_every_rank_gets_what_each_has() -> None:
    found = run_ranks(3, lambda communicator: share(communicator, b"ab" * communicator.rank))

    assert found == [[b"", b"ab", b"abab"]] * 3


def test_a_task_that_fails_on_one_rank_fails_on_all() -> None:
    def fail(rank: int) -> int:
        if rank == 1:
            raise InputError("a disk is full")
        return rank

    def program(communicator: VirtualRank) -> tuple[type, str]:
        with pytest.raises((InputError, RankError)) as failure:
            together(communicator, lambda: fail(communicator.rank))
        return type(failure.value), str(failure.value)

    assert run_ranks(3, program) == [
        (RankError, "rank 1: a disk is full"),
        (InputError, "a disk is full"),
        (RankError, "rank 1: a disk is full"),
    ]


def test_a_task_that_succeeds_returns_what_it_returned() -> None:
    assert run_ranks(2, lambda communicator: together(communicator, lambda: communicator.rank)) == [
        0,
        1,
    ]
