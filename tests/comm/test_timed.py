"""Counting what messages take."""

import numpy as np

from evener.comm.timed import Timed
from evener.comm.virtual import VirtualRank, run_ranks


def test_every_message_is_counted_and_arrives() -> None:
    def program(communicator: VirtualRank) -> tuple[float, int]:
        ticks = iter(range(100))
        timed = Timed(communicator, clock=lambda: float(next(ticks)))
        mine, other = np.full(2, float(timed.rank)), np.zeros(2)
        exchange = timed.open_exchange("swap", {1 - timed.rank: mine}, {1 - timed.rank: other})
        exchange.start()
        exchange.wait()
        exchange.close()
        assert other.tolist() == [1.0 - timed.rank] * 2

        parts = [np.zeros(2), np.zeros(2)]
        timed.all_gather(mine, parts)
        assert np.concatenate(parts).tolist() == [0, 0, 1, 1]
        total = np.zeros(2)
        timed.reduce_scatter([mine, mine], total)
        assert total.tolist() == [1, 1]
        timed.broadcast(mine, root=1)
        assert mine.tolist() == [1, 1]
        timed.barrier()
        timed.close()
        return timed.seconds, timed.sent_bytes

    # Six of them, a tick of the clock each; the one that broadcasts sends once more.
    assert run_ranks(2, program) == [(6.0, 48), (6.0, 64)]


def test_what_parts_of_the_ranks_say_counts_for_the_whole() -> None:
    def program(communicator: VirtualRank) -> tuple[float, float, int]:
        ticks = iter(range(100))
        timed = Timed(communicator, clock=lambda: float(next(ticks)))
        part = timed.split(timed.rank // 2)
        part.barrier()
        return timed.seconds, part.seconds, part.size

    assert run_ranks(4, program) == [(1.0, 1.0, 2)] * 4
