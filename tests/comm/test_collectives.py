"""Collectives made of messages, on few ranks and on many."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from evener.comm.collectives import MOST_DIRECT, Collectives
from evener.comm.communicator import Array
from evener.comm.virtual import VirtualExchange, VirtualRank, run_ranks
from evener.testing.communicator_checks import Check
from evener.testing.communicator_contract import CommunicatorContract


class Made:
    """A virtual rank whose collectives are made of its exchanges."""

    def __init__(self, rank: VirtualRank) -> None:
        self._rank = rank
        self.rank, self.size = rank.rank, rank.size
        self.open_exchange: Callable[..., VirtualExchange] = rank.open_exchange
        self.messages: list[tuple[int, int]] = []  # how many were sent, and their bytes
        self._made = Collectives(self.rank, self.size, self._transfer)

    def _transfer(
        self, name: str, sends: Mapping[int, Array], receives: Mapping[int, Array]
    ) -> None:
        self.messages.append((len(sends), sum(array.nbytes for array in sends.values())))
        exchange = self._rank.open_exchange(name, sends, receives)
        exchange.start()
        exchange.wait()

    def all_gather(self, part: Array, parts: Sequence[Array]) -> None:
        self._made.all_gather(part, parts)

    def reduce_scatter(self, parts: Sequence[Array], total: Array) -> None:
        self._made.reduce_scatter(parts, total)

    def broadcast(self, array: Array, *, root: int) -> None:
        self._made.broadcast(array, root=root)

    def barrier(self) -> None:
        self._made.barrier()

    def split(self, colour: int) -> "Made":
        return Made(self._rank.split(colour))

    def close(self) -> None:
        self._rank.close()


@pytest.mark.parametrize("size", [1, 2, MOST_DIRECT, MOST_DIRECT + 1, 13])
class TestCollectives(CommunicatorContract):
    @pytest.fixture
    def perform(self, size: int) -> Callable[[Check], None]:
        def perform(check: Check) -> None:
            run_ranks(size, lambda rank: check(Made(rank)))

        return perform


def sent(size: int, act: Callable[[Made], None]) -> list[list[tuple[int, int]]]:
    """Return the messages of each round of each rank."""

    def program(rank: VirtualRank) -> list[tuple[int, int]]:
        made = Made(rank)
        act(made)
        return made.messages

    return run_ranks(size, program)


def test_a_gathering_of_many_takes_few_rounds_and_sends_nothing_twice() -> None:
    def gather(rank: Made) -> None:
        rank.all_gather(np.zeros(1), [np.zeros(1) for _ in range(rank.size)])

    assert sent(3, gather) == [[(2, 16)]] * 3
    assert sent(13, gather) == [[(1, 8), (1, 16), (1, 32), (1, 40)]] * 13


def test_a_broadcast_reaches_all_in_as_many_rounds_as_the_number_has_digits() -> None:
    found = sent(13, lambda rank: rank.broadcast(np.zeros(1), root=5))

    assert sum(count for messages in found for count, _ in messages) == 12
    assert max(count for messages in found for count, _ in messages) == 4
