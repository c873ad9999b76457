"""Many ranks in one process, in turn and always in the same order: for tests, and to look ahead.

Each rank is a thread, of which one runs at a time, until it waits for another; then the next one
that can go on does. So a run has one possible order, and a deadlock is seen at once.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from evener.comm.communicator import Array
from evener.errors import DeadlockError

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
                self._results[rank] = self._program(VirtualRank(self, rank))
        except _Stopped:
            return  # another rank failed, and the stage no longer waits for this one
        except BaseException as error:  # noqa: BLE001 - whatever it is, the caller gets it
            self._failures[rank] = error
        self._back.release()


class VirtualRank:
    """One of several ranks in this process; see `evener.comm.communicator.Communicator`.

    Made by `run_ranks`, on whose thread it is used.
    """

    def __init__(self, stage: "_Stage[Any]", rank: int) -> None:
        self._stage = stage
        self.rank = rank
        self.size = stage.size
        self._collectives = 0

    def open_exchange(
        self, name: str, sends: Mapping[int, Array], receives: Mapping[int, Array]
    ) -> "VirtualExchange":
        """Prepare messages; see `Communicator.open_exchange`."""
        return VirtualExchange(self._stage, self.rank, name, sends, receives)

    def all_gather(self, part: Array, parts: Sequence[Array]) -> None:
        """Give every rank what each has; see `Communicator.all_gather`."""
        for target in range(self.size):
            self._give(target, part)
        for source in range(self.size):
            np.copyto(parts[source], self._take(source, "a gathering"))
        self._collectives += 1

    def reduce_scatter(self, parts: Sequence[Array], total: Array) -> None:
        """Add what all ranks have for each; see `Communicator.reduce_scatter`."""
        for target in range(self.size):
            self._give(target, parts[target])
        np.copyto(total, self._take(0, "a sum"))
        for source in range(1, self.size):
            total += self._take(source, "a sum")
        self._collectives += 1

    def broadcast(self, array: Array, *, root: int) -> None:
        """Give every rank what one has; see `Communicator.broadcast`."""
        if self.rank == root:
            for target in range(self.size):
                if target != root:
                    self._give(target, array)
        else:
            np.copyto(array, self._take(root, "a broadcast"))
        self._collectives += 1

    def barrier(self) -> None:
        """Return once every rank has called it."""
        nothing = np.zeros(0)
        self.all_gather(nothing, [nothing] * self.size)

    def close(self) -> None:
        """Leave nothing behind."""

    def _give(self, target: int, array: Array) -> None:
        self._stage.box(self.rank, target, self._name()).append(array.copy())

    def _take(self, source: int, what: str) -> Array:
        box = self._stage.box(source, self.rank, self._name())
        self._stage.wait_until(self.rank, box.__len__, f"rank {source} in {what}")
        array = box.popleft()
        del self._stage.mail[source, self.rank, self._name()]
        return array

    def _name(self) -> str:
        return f"collective {self._collectives}"


class VirtualExchange:
    """Messages between virtual ranks; see `evener.comm.communicator.Exchange`."""

    def __init__(
        self,
        stage: "_Stage[Any]",
        rank: int,
        name: str,
        sends: Mapping[int, Array],
        receives: Mapping[int, Array],
    ) -> None:
        self._stage = stage
        self._rank = rank
        self._name = name
        self._sends = sends
        self._receives = receives

    def start(self) -> None:
        """Send what the arrays hold now."""
        for target, array in self._sends.items():
            self._stage.box(self._rank, target, self._name).append(array.copy())

    def wait(self) -> None:
        """Return once everything is received."""
        for source, array in self._receives.items():
            box = self._stage.box(source, self._rank, self._name)
            self._stage.wait_until(self._rank, box.__len__, f"rank {source} in '{self._name}'")
            np.copyto(array, box.popleft())

    def close(self) -> None:
        """Hold nothing."""
