"""What the ranks of tests/comm/test_mpi_ranks.py do: the contract, and what is MPI's own."""

import traceback
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from evener.errors import RankError, RankTimeoutError
from evener.testing.communicator_checks import CHECKS, report

if TYPE_CHECKING:
    from evener.comm.mpi_ranks import MpiRank
else:  # where there is no MPI, nothing is started, and this is only looked at
    MpiRank = object

BRIEF_S = 0.05
ErrorT = TypeVar("ErrorT", bound=Exception)


def raised(kind: type[ErrorT], act: Callable[[], object]) -> ErrorT:
    """As pytest.raises does; but ranks need no pytest."""
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} was raised")


def a_rank_that_sends_nothing_is_named_and_can_still_do_so(ranks: MpiRank) -> None:
    """On rank 0, where its neighbour on the ring is late."""
    last = ranks.size - 1
    got = np.zeros(3)
    if ranks.size == 1:
        return
    if ranks.rank == last:
        exchange = ranks.open_exchange("layer 2, values", {0: np.ones(3)}, {})
        ranks.barrier()
        exchange.start()
        exchange.wait()
        exchange.close()
        return
    if ranks.rank > 0:
        ranks.barrier()
        return
    exchange = ranks.open_exchange("layer 2, values", {}, {last: got})
    exchange.start()
    patient_s, exchange._waiting._timeout_s = exchange._waiting._timeout_s, BRIEF_S
    error = raised(RankTimeoutError, exchange.wait)
    exchange._waiting._timeout_s = patient_s
    assert (error.rank, error.peer, error.name) == (0, last, "layer 2, values")
    assert str(error).startswith(
        f"rank 0: rank {last} sent nothing for 0.05 s in 'layer 2, values' (tag "
    ), error
    assert "which follows 'ring'" in str(error), error
    ranks.barrier()
    exchange.wait()
    assert (got == 1).all()
    exchange.close()


def a_message_of_another_size_is_refused(ranks: MpiRank) -> None:
    """Too short or too long."""
    for size in (2, 4) if ranks.size > 1 else ():
        if ranks.rank == 0:
            exchange = ranks.open_exchange("layer 3", {1: np.ones(size)}, {})
            exchange.start()
            exchange.wait()
        if ranks.rank == 1:
            exchange = ranks.open_exchange("layer 3", {}, {0: np.zeros(3)})
            exchange.start()
            text = str(raised(RankError, exchange.wait))
            assert text.startswith("rank 1: "), text
            assert "'layer 3'" in text, text
            assert "in the same order" in text, text
            if size == 2:
                assert "rank 0 sent 16 bytes" in text, text
                assert "where 24 were expected" in text, text
        ranks.barrier()


def an_array_with_gaps_is_refused(ranks: MpiRank) -> None:
    """Before anything is sent."""
    column = np.ones((4, 4))[:, 1]
    for sends, receives in (({0: column}, {}), ({}, {0: column})):
        error = raised(ValueError, partial(ranks.open_exchange, "layer 4", sends, receives))
        assert str(error).startswith("'layer 4': an array of shape (4,) is not contiguous")


OWN = (
    a_rank_that_sends_nothing_is_named_and_can_still_do_so,
    a_message_of_another_size_is_refused,
    an_array_with_gaps_is_refused,
)

if __name__ == "__main__":
    from evener.comm.mpi_ranks import MpiRank

    world = MpiRank.of_world(timeout_s=20)
    try:
        report(world, [*CHECKS, *OWN])
        # Of five ranks the first three and the last two at once; of two the first by itself.
        first = 3 if world.size > 2 else 1
        part = world.split(int(world.rank >= first))
        if part.size > 1 or world.rank == 0:
            report(part, [*CHECKS, *OWN])
        part.close()
    except BaseException:  # noqa: BLE001 - whatever it is, the others wait for this rank
        traceback.print_exc()
        world.abort(1)
    world.close()
