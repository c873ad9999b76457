"""Ranks in one process, one after the other."""

from collections.abc import Callable

import numpy as np
import pytest

from evener.comm.virtual import VirtualRank, run_ranks
from evener.errors import DeadlockError, RankError
from evener.testing.communicator_checks import Check
from evener.testing.communicator_contract import CommunicatorContract


class TestVirtualRank(CommunicatorContract):
    @pytest.fixture(params=[1, 2, 3, 5, 12])
    def perform(self, request: pytest.FixtureRequest) -> Callable[[Check], None]:
        def perform(check: Check) -> None:
            run_ranks(request.param, check)

        return perform


def test_every_rank_returns_its_own_result() -> None:
    assert run_ranks(5, lambda rank: (rank.rank, rank.size)) == [(one, 5) for one in range(5)]


def test_a_rank_that_waits_lets_the_others_go_on_in_order() -> None:
    order: list[tuple[int, str]] = []

    def program(rank: VirtualRank) -> None:
        order.append((rank.rank, "before"))
        rank.barrier()
        order.append((rank.rank, "after"))

    run_ranks(3, program)

    assert order == [(one, "before") for one in range(3)] + [(one, "after") for one in (2, 0, 1)]


def test_ranks_that_all_wait_are_named_with_what_for() -> None:
    def program(rank: VirtualRank) -> None:
        other = 1 - rank.rank
        array = np.zeros(1)
        rank.open_exchange(f"layer {rank.rank}", {other: array}, {other: array}).start()
        rank.open_exchange("another", {}, {other: array}).wait()

    with pytest.raises(DeadlockError, match="rank 0 for rank 1 in 'another'; rank 1 for rank 0"):
        run_ranks(2, program)


def test_an_error_on_one_rank_ends_all_and_says_which() -> None:
    def program(rank: VirtualRank) -> None:
        if rank.rank == 1:
            raise KeyError("lost")
        rank.barrier()

    with pytest.raises(KeyError, match="lost") as caught:
        run_ranks(3, program)

    assert caught.value.__notes__ == ["on rank 1 of 3"]


def test_a_message_of_another_size_is_refused() -> None:
    def program(rank: VirtualRank) -> None:
        array = np.zeros(1 + rank.rank)
        rank.all_gather(array, [np.zeros(1), np.zeros(1)])

    with pytest.raises(RankError, match=r"shape \[2\] came where \[1\] was to"):
        run_ranks(2, program)


def test_a_rank_that_tidies_up_after_anothers_failure_waits_for_nobody() -> None:
    def program(rank: VirtualRank) -> None:
        if rank.rank == 0:
            raise KeyError("lost")
        try:
            rank.barrier()
        finally:
            rank.barrier()

    with pytest.raises(KeyError, match="lost"):
        run_ranks(2, program)
