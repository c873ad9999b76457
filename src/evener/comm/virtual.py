"""Many ranks in one process, in turn and always in the same order: for tests, and to look ahead.

Each rank is a thread, of which one runs at a time, until it waits for another; then the next one
that can go on does. So a run has one possible order, and a deadlock is seen at once.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from evener.comm.collectives import unwarned
from evener.comm.communicator import Array
from evener.errors import DeadlockError, RankError

ResultT = TypeVar("ResultT")


def run_ranks(size: int, program: "Callable[[VirtualRank], ResultT]") -> list[ResultT]:
    """Run a program on several virtual ranks, and return what each returned.

    Args:
        size: how many ranks, at least one.
        program: given the communicator of its rank.

    Raises:
        DeadlockError: every rank waits for another.
        Exception: what the program raised on the first rank where it did, with a note of which.
    """
    return _Stage(size, program).run()


class _Stopped(BaseException):
    """Ends the thread of a rank after another one failed."""


class _Stage(Generic[ResultT]):
    """The threads, and whose turn it is."""

    def __init__(self, size: int, program: "Callable[[VirtualRank], ResultT]") -> None:
        self.size = size
        self.mail: dict[tuple[int, int, str], deque[Array]] = {}
        self._program = program
        self._turns = [threading.Semaphore(0) for _ in range(size)]
        self._back = threading.Semaphore(0)
        self._waits: list[Callable[[], object] | None] = [None] * size
        self._what = [""] * size
        self._results: dict[int, ResultT] = {}
        self._failures: dict[int, BaseException] = {}
        self._stopping = False

    def run(self) -> list[ResultT]:
        """Give each rank that can go on its turn, round and round, until all have returned."""
        threads = [
            threading.Thread(target=self._live, args=(rank,), name=f"rank {rank}", daemon=True)
            for rank in range(self.size)
        ]
        for thread in threads:
            thread.start()
        left = list(range(self.size))
        failure: BaseException | None = None
        while left and failure is None:
            able = [rank for rank in left if self._can_go_on(rank)]
            if not able:
                waits = "; ".join(f"rank {rank} for {self._what[rank]}" for rank in left)
                failure = DeadlockError(
                    f"every rank waits for another: {waits}. Each rank must make the same calls "
                    "in the same order"
                )
                break
            for rank in able:
                self._turns[rank].release()
                self._back.acquire()
                if rank in self._failures:
                    failure = self._failures[rank]
                    failure.add_note(f"on rank {rank} of {self.size}")
                    break
            left = [rank for rank in left if rank not in self._results]
        self._stopping = True
        for rank in left:
            self._turns[rank].release()
        for thread in threads:
            thread.join()
        if failure is not None:
            raise failure
        return [self._results[rank] for rank in range(self.size)]

    def _can_go_on(self, rank: int) -> bool:
        ready = self._waits[rank]
        return ready is None or bool(ready())

    def wait_until(self, rank: int, ready: Callable[[], object], what: str) -> None:
        """Let others run until something is there."""
        if self._stopping:  # whoever tidies up after a failure waits for nobody
            raise _Stopped
        if ready():
            return
        self._waits[rank], self._what[rank] = ready, what
        self._back.release()
        self._turns[rank].acquire()
        if self._stopping:
            raise _Stopped
        self._waits[rank] = None

    def box(self, source: int, target: int, name: str) -> deque[Array]:
        """Return what one rank has sent another and that has not been taken."""
        return self.mail.setdefault((source, target, name), deque())

    def _live(self, rank: int) -> None:
        self._turns[rank].acquire()
        try:
            if not self._stopping:
                self._results[rank] = self._program(VirtualRank(self, range(self.size), rank))
        except _Stopped:
            return  # another rank failed, and the stage no longer waits for this one
        except BaseException as error:  # noqa: BLE001 - whatever it is, the caller gets it
            self._failures[rank] = error
        self._back.release()


class VirtualRank:
    """One of several ranks in this process; see `evener.comm.communicator.Communicator`.

    Made by `run_ranks`, on whose thread it is used.

    Args:
        stage: where the ranks take turns.
        members: their places on it, of which this communicator's ranks are made.
        rank: which of these this is.
        group: what tells its messages from those of other communicators.
    """

    def __init__(
        self, stage: "_Stage[Any]", members: Sequence[int], rank: int, group: str = ""
    ) -> None:
        self._stage = stage
        self._members = tuple(members)
        self._group = group
        self.rank = rank
        self.size = len(self._members)
        self._collectives = 0

    def open_exchange(
        self, name: str, sends: Mapping[int, Array], receives: Mapping[int, Array]
    ) -> "VirtualExchange":
        """Prepare messages; see `Communicator.open_exchange`."""
        return VirtualExchange(self, name, sends, receives)

    def all_gather(self, part: Array, parts: Sequence[Array]) -> None:
        """Give every rank what each has; see `Communicator.all_gather`."""
        for target in range(self.size):
            self.give(target, self._name(), part)
        for source in range(self.size):
            _land(parts[source], self._take(source, "a gathering"))
        self._collectives += 1

    def reduce_scatter(self, parts: Sequence[Array], total: Array) -> None:
        """Add what all ranks have for each; see `Communicator.reduce_scatter`."""
        for target in range(self.size):
            self.give(target, self._name(), parts[target])
        _land(total, self._take(0, "a sum"))
        for source in range(1, self.size):
            term = self._take(source, "a sum")
            with unwarned():
                total += term
        self._collectives += 1

    def broadcast(self, array: Array, *, root: int) -> None:
        """Give every rank what one has; see `Communicator.broadcast`."""
        if self.rank == root:
            for target in range(self.size):
                if target != root:
                    self.give(target, self._name(), array)
        else:
            _land(array, self._take(root, "a broadcast"))
        self._collectives += 1

    def barrier(self) -> None:
        """Return once every rank has called it."""
        nothing = np.zeros(0)
        self.all_gather(nothing, [nothing] * self.size)

    def split(self, colour: int) -> "VirtualRank":
        """Return a communicator of the ranks of one colour; see `Communicator.split`."""
        colours = np.zeros((self.size, 1), np.int64)
        self.all_gather(np.array([colour], np.int64), list(colours))
        alike = np.flatnonzero(colours[:, 0] == colour).tolist()
        return VirtualRank(
            self._stage,
            [self._members[rank] for rank in alike],
            alike.index(self.rank),
            f"{self._group}{self._collectives} of colour {colour}: ",
        )

    def close(self) -> None:
        """Leave nothing behind."""

    def give(self, target: int, name: str, array: Array) -> None:
        """Send a copy of an array to a rank."""
        place = self._members[target]
        self._stage.box(self._members[self.rank], place, self._group + name).append(array.copy())

    def take(self, source: int, name: str, what: str) -> Array:
        """Return what a rank sent under a name, once it did."""
        here = self._members[self.rank]
        box = self._stage.box(self._members[source], here, self._group + name)
        self._stage.wait_until(here, box.__len__, f"rank {source} in {what}")
        return box.popleft()

    def _take(self, source: int, what: str) -> Array:
        array = self.take(source, self._name(), what)
        key = self._members[source], self._members[self.rank], self._group + self._name()
        del self._stage.mail[key]
        return array

    def _name(self) -> str:
        return f"collective {self._collectives}"


class VirtualExchange:
    """Messages between virtual ranks; see `evener.comm.communicator.Exchange`."""

    def __init__(
        self,
        rank: VirtualRank,
        name: str,
        sends: Mapping[int, Array],
        receives: Mapping[int, Array],
    ) -> None:
        self._rank = rank
        self._name = name
        self._sends = sends
        self._receives = receives

    def start(self) -> None:
        """Send what the arrays hold now."""
        for target, array in self._sends.items():
            self._rank.give(target, self._name, array)

    def wait(self) -> None:
        """Return once everything is received."""
        for source, array in self._receives.items():
            _land(array, self._rank.take(source, self._name, f"'{self._name}'"))

    def close(self) -> None:
        """Hold nothing."""


def _land(array: Array, came: Array) -> None:
    """Write what came where it goes.

    Raises:
        RankError: it is of another shape, as it may be where ranks do not make the same calls.
    """
    if array.shape != came.shape:
        raise RankError(
            f"an array of shape {list(came.shape)} came where {list(array.shape)} was to; all "
            "ranks must make the same calls in the same order, with arrays of the same sizes"
        )
    np.copyto(array, came)
