"""What ranks see of a communicator that keeps its contract: functions that each rank calls.

They are no tests of pytest, for most ranks are processes that know nothing of it; see
`communicator_contract.py`.
"""

import json
import os
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from evener.comm.communicator import Array, Communicator

RanksT = TypeVar("RanksT", bound=Communicator)
Check = Callable[[Communicator], None]
ACROSS_EAGER: Final = (1, 500, 9_000, 70_000)
"""So many numbers: libraries send little and much in different ways, parted at 1 to 64 kB."""


def each_rank_has_a_number_of_its_own(ranks: Communicator) -> None:
    """From 0."""
    numbers = [np.zeros(1, np.int64) for _ in range(ranks.size)]
    ranks.all_gather(np.array([ranks.rank]), numbers)

    assert [int(number[0]) for number in numbers] == list(range(ranks.size))


def neighbours_on_a_ring_get_what_was_sent_them_each_time(ranks: Communicator) -> None:
    """One message for each peer, though on two ranks both neighbours are one."""
    peers = neighbours(ranks)
    out = {peer: np.zeros((3, 2), np.float32) for peer in peers}
    into = {peer: np.zeros((3, 2), np.float32) for peer in peers}
    exchange = ranks.open_exchange("ring", out, into)
    for turn in range(30):
        for peer in peers:
            out[peer][...] = stamp(ranks.rank, peer, turn)
        exchange.start()
        exchange.wait()
        for peer in peers:
            assert (into[peer] == stamp(peer, ranks.rank, turn)).all()
    exchange.close()


def exchanges_under_way_together_do_not_mix(ranks: Communicator) -> None:
    """Whatever the order in which they are waited for, and with a collective between."""
    peers = others(ranks)
    out = [{peer: np.zeros(4) for peer in peers} for _ in range(3)]
    into = [{peer: np.zeros(4) for peer in peers} for _ in range(3)]
    exchanges = [ranks.open_exchange(f"layer {n}", out[n], into[n]) for n in range(3)]
    total = np.zeros(1)
    for turn in range(3):
        for number in (0, 1, 2):
            for peer in peers:
                out[number][peer][...] = stamp(ranks.rank, peer, 10 * turn + number)
            exchanges[number].start()
        ranks.reduce_scatter([np.ones(1)] * ranks.size, total)
        for number in (2, 0, 1):
            exchanges[number].wait()
        assert total == ranks.size
        for number in range(3):
            for peer in peers:
                assert (into[number][peer] == stamp(peer, ranks.rank, 10 * turn + number)).all()
    for exchange in exchanges:
        exchange.close()


def messages_of_any_size_and_type_arrive(ranks: Communicator) -> None:
    """Each pair of ranks has a size of its own in each direction."""
    for dtype in ("float32", "int64", "bool"):
        out = {peer: filled(ranks.rank, peer, dtype) for peer in others(ranks)}
        into = {peer: np.zeros_like(filled(peer, ranks.rank, dtype)) for peer in others(ranks)}
        exchange = ranks.open_exchange(dtype, out, into)
        exchange.start()
        exchange.wait()
        exchange.close()
        for peer in others(ranks):
            np.testing.assert_array_equal(into[peer], filled(peer, ranks.rank, dtype))


def ranks_without_a_part_in_an_exchange_need_not_open_it(ranks: Communicator) -> None:
    """And the next exchange is nevertheless the same for all."""
    last = ranks.size - 1
    if ranks.size > 1 and ranks.rank == 0:
        exchange = ranks.open_exchange("ends", {last: np.array([7.0])}, {})
        exchange.start()
        exchange.wait()
        exchange.close()
    got = np.zeros(1)
    if ranks.size > 1 and ranks.rank == last:
        exchange = ranks.open_exchange("ends", {}, {0: got})
        exchange.start()
        exchange.wait()
        exchange.close()
        assert got == 7.0
    neighbours_on_a_ring_get_what_was_sent_them_each_time(ranks)


def rows_of_a_buffer_are_sent_and_received_where_they_lie(ranks: Communicator) -> None:
    """The other rows stay as they are."""
    buffer = np.full((ranks.size + 2, 5), -1.0)
    buffer[1 + ranks.rank] = ranks.rank
    peers = others(ranks)
    exchange = ranks.open_exchange(
        "rows",
        dict.fromkeys(peers, buffer[1 + ranks.rank]),
        {peer: buffer[1 + peer] for peer in peers},
    )
    exchange.start()
    exchange.wait()
    exchange.close()

    assert buffer[:, 0].tolist() == [-1, *range(ranks.size), -1]
    assert (buffer == buffer[:, :1]).all()


def every_rank_gathers_what_each_has(ranks: Communicator) -> None:
    """Sizes differ, and a rank may have nothing."""
    sizes = [3 * (rank % 3) for rank in range(ranks.size)]
    buffer = np.full((sum(sizes), 2), -1, np.int32)
    parts = np.split(buffer, np.cumsum(sizes)[:-1])
    for turn in range(3):
        part = np.full((sizes[ranks.rank], 2), stamp(ranks.rank, 0, turn), np.int32)
        ranks.all_gather(part, parts)
        for rank in range(ranks.size):
            assert parts[rank].shape == (sizes[rank], 2)
            assert (parts[rank] == stamp(rank, 0, turn)).all()


def much_is_gathered_too(ranks: Communicator) -> None:
    """More than a library sends without asking."""
    for size in ACROSS_EAGER:
        parts = [np.empty(size, np.float32) for _ in range(ranks.size)]
        ranks.all_gather(np.arange(size, dtype=np.float32) + ranks.rank, parts)
        for rank in range(ranks.size):
            np.testing.assert_array_equal(parts[rank], np.arange(size, dtype=np.float32) + rank)


def sums_are_added_in_the_order_of_the_ranks(ranks: Communicator) -> None:
    """To the bit, as one after the other would."""
    sizes = [2 + rank for rank in range(ranks.size)]
    for dtype in (np.float32, np.float64):
        parts = [terms(ranks.rank, size).astype(dtype) for size in sizes]
        mine = sizes[ranks.rank]
        total = np.empty(mine, dtype)
        for _ in range(2):
            ranks.reduce_scatter(parts, total)
            every = [terms(rank, mine).astype(dtype) for rank in range(ranks.size)]
            expected = reduce(np.add, every)
            assert total.tobytes() == expected.tobytes()


def sums_that_grow_too_large_are_infinite_without_a_word(ranks: Communicator) -> None:
    """Whoever adds them looks at what comes of them, and says more than a warning would."""
    large = np.full(2, np.finfo(np.float32).max)
    total = np.empty(2, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranks.reduce_scatter([large] * ranks.size, total)
    assert (total == (large if ranks.size == 1 else np.inf)).all()


def any_rank_can_tell_all_others(ranks: Communicator) -> None:
    """Little and much."""
    for root in range(ranks.size):
        for size in ACROSS_EAGER:
            array = np.full(size, float(root) if ranks.rank == root else -1.0)
            ranks.broadcast(array, root=root)
            assert (array == root).all()


def nobody_passes_a_barrier_before_all_have_come(ranks: Communicator) -> None:
    """Each leaves a file before, and sees all of them behind."""
    where = np.zeros(512, np.uint8)
    if ranks.rank == 0:
        folder = tempfile.mkdtemp(prefix="evener-")
        where[: len(folder)] = np.frombuffer(folder.encode(), np.uint8)
    ranks.broadcast(where, root=0)
    folder = where.tobytes().rstrip(b"\0").decode()
    for turn in range(3):
        Path(folder, f"{turn}-{ranks.rank}").touch()
        ranks.barrier()
        assert all(Path(folder, f"{turn}-{rank}").exists() for rank in range(ranks.size))
    ranks.barrier()
    if ranks.rank == 0:
        for path in Path(folder).iterdir():
            path.unlink()
        os.rmdir(folder)  # noqa: PTH106 - a Path was made of it for what lay inside


def ranks_of_one_colour_are_by_themselves(ranks: Communicator) -> None:
    """In the order that they had, and the whole goes on meanwhile."""
    colour = ranks.rank % 2
    alike = [rank for rank in range(ranks.size) if rank % 2 == colour]
    part = ranks.split(colour)

    assert (part.rank, part.size) == (alike.index(ranks.rank), len(alike))
    neighbours_on_a_ring_get_what_was_sent_them_each_time(part)
    sums_are_added_in_the_order_of_the_ranks(part)
    sums_are_added_in_the_order_of_the_ranks(ranks)
    part.barrier()
    part.close()
    ranks.barrier()


def arrays_can_be_exchanged_anew_after_closing(ranks: Communicator) -> None:
    """As for each size of a batch."""
    for _ in range(5):
        neighbours_on_a_ring_get_what_was_sent_them_each_time(ranks)


CHECKS: Final[Sequence[Check]] = (
    each_rank_has_a_number_of_its_own,
    neighbours_on_a_ring_get_what_was_sent_them_each_time,
    exchanges_under_way_together_do_not_mix,
    messages_of_any_size_and_type_arrive,
    ranks_without_a_part_in_an_exchange_need_not_open_it,
    rows_of_a_buffer_are_sent_and_received_where_they_lie,
    every_rank_gathers_what_each_has,
    much_is_gathered_too,
    sums_are_added_in_the_order_of_the_ranks,
    sums_that_grow_too_large_are_infinite_without_a_word,
    any_rank_can_tell_all_others,
    nobody_passes_a_barrier_before_all_have_come,
    ranks_of_one_colour_are_by_themselves,
    arrays_can_be_exchanged_anew_after_closing,
)


def report(ranks: RanksT, checks: Sequence[Callable[[RanksT], None]]) -> None:
    """Do all checks, for a rank that is a process: a line of JSON on stdout says how each ended.

    After one that failed the others would wait for this rank in vain, so that it ends there.

    Args:
        ranks: the communicator.
        checks: what to do, as `CHECKS`.

    Raises:
        BaseException: what a check raised.
    """
    for check in checks:
        error = ""
        try:
            check(ranks)
        except BaseException:
            error = traceback.format_exc()
            raise
        finally:
            where = {"rank": ranks.rank, "size": ranks.size}
            line = {"check": check.__name__, **where, "error": error}
            # In one piece, or lines of several ranks would mix.
            os.write(1, json.dumps(line).encode() + b"\n")


def stamp(source: int, target: int, turn: int) -> int:
    """Return a number that no other message has."""
    return 1 + source + 100 * target + 10_000 * turn


def filled(source: int, target: int, dtype: str) -> Array:
    """Return what one rank sends another."""
    size = ACROSS_EAGER[(source + 3 * target) % len(ACROSS_EAGER)]
    return np.asarray(np.arange(size) % 7 + stamp(source, target, 0), dtype)


def terms(rank: int, size: int) -> Array:
    """Return numbers whose sum depends on the order."""
    found: Array = (1.0, 1e16, -1e16, 3.0, -1e8)[rank % 5] * np.linspace(0.1, 1, size)
    return found


def others(ranks: Communicator) -> list[int]:
    """Return all ranks but this one."""
    return [rank for rank in range(ranks.size) if rank != ranks.rank]


def neighbours(ranks: Communicator) -> list[int]:
    """Return the ranks before and behind on the ring, each once."""
    return sorted({(ranks.rank + step) % ranks.size for step in (-1, 1)} - {ranks.rank})
