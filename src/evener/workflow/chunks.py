"""Let processes of one pool do parts of a work; what a lost one had is done again by others."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Final, Generic, TypeVar

Pool = Callable[[], AbstractContextManager[Executor]]
"""Makes a pool of processes."""

Told = Callable[[int, int], object]
"""Hears how many parts are done, and how many there are."""

PartT = TypeVar("PartT")
ResultT = TypeVar("ResultT")
_TRIES: Final = 3  # of a part that was with a process that ended
_TOGETHER: Final = 2  # of them beside other parts


def _nobody(_done: int, _of: int) -> None:
    """Hear how far a work is, and do nothing."""


class Here(Executor):
    """Does everything at once, in this process."""

    def submit(  # type: ignore[override] # Python's own takes any arguments as well
        self, fn: Callable[..., ResultT], /, *args: object
    ) -> Future[ResultT]:
        """Do it, and return what came of it; what it raises is raised now."""
        future: Future[ResultT] = Future()
        future.set_result(fn(*args))
        return future


class Crew(Generic[PartT, ResultT]):
    """A pool that is made again where one of its processes ends.

    Use it in a `with` block, which ends the processes.

    Args:
        make: makes the pool.
    """

    def __init__(self, make: Pool) -> None:
        self._make = make
        self._stack = ExitStack()
        self._executor: Executor | None = None

    def __enter__(self) -> "Crew[PartT, ResultT]":
        """Return itself; processes are started when there is work."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the pool, which ends its processes."""
        self._stack.__exit__(kind, error, trace)

    def map(
        self,
        act: Callable[[PartT], ResultT],
        parts: Sequence[PartT],
        lost: Callable[[PartT], ResultT],
        *,
        told: Told = _nobody,
    ) -> list[ResultT]:
        """Do each part somewhere, and return the results in their order.

        Args:
            act: does a part.
            parts: to be done.
            lost: makes the result of a part that three processes ended over.
            told: called after each part with how many are done and how many there are.
        """
        results: dict[int, ResultT] = {}
        tries = [0] * len(parts)
        while len(results) < len(parts):
            left = [number for number in range(len(parts)) if number not in results]
            # Which part ended a process is not known: after the second time each goes alone.
            alone = any(tries[number] >= _TOGETHER for number in left)
            sent = left[:1] if alone else left
            for number in sent:
                tries[number] += 1
            try:
                self._do(act, parts, sent, results, told)
            except BrokenProcessPool:
                self._renew()
                for number in sent:
                    if number not in results and tries[number] >= _TRIES:
                        results[number] = lost(parts[number])
        return [results[number] for number in range(len(parts))]

    def _do(
        self,
        act: Callable[[PartT], ResultT],
        parts: Sequence[PartT],
        numbers: Sequence[int],
        results: dict[int, ResultT],
        told: Told,
    ) -> None:
        if self._executor is None:
            self._executor = self._stack.enter_context(self._make())
        executor = self._executor
        futures = {executor.submit(act, parts[number]): number for number in numbers}
        waiting: set[Future[ResultT]] = set(futures)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                results[futures[future]] = future.result()
                told(len(results), len(parts))

    def _renew(self) -> None:
        self._executor = None
        self._stack.close()
