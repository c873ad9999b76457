"""Compare pipelines fairly: they take turns in shuffled order, round after round.

A machine that grows warm, or a neighbour that wakes up, then slows every one of them alike, and
the ratio within a round keeps its meaning when the rates do not.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from itertools import cycle, islice
from typing import Final, Protocol

import msgspec
import numpy as np

from evener.artifacts.trace import Trace
from evener.errors import InputError
from evener.run.entry import Frame
from evener.run.sink import Emit
from evener.runtime.session import Array

TURNS: Final = 4
"""So many times its credits are the fewest frames of an entrant in a round that lasts a time."""


class Runner(Protocol):
    """What can take turns: a pipeline that is open, or whatever else answers frames in order."""

    @property
    def credits(self) -> int:
        """Most frames in flight."""
        ...

    def run(self, frames: Iterable[Frame], emit: Emit, /) -> Trace:
        """Answer frames until there are none left; see `evener.run.pipeline.Pipeline.run`."""
        ...


class InTurn:
    """A runner that is open only while it has its turn, since not all fit in memory together.

    Args:
        open_: opens it.
        warm_up: frames that it answers each time before those that count.
    """

    def __init__(
        self, open_: Callable[[], AbstractContextManager[Runner]], warm_up: Sequence[Frame]
    ) -> None:
        self._open = open_
        self._warm_up = warm_up
        self._stack = ExitStack()
        self._runner: Runner | None = None

    @property
    def credits(self) -> int:
        """Most frames in flight; opens it."""
        return self._opened().credits

    def run(self, frames: Iterable[Frame], emit: Emit, /) -> Trace:
        """Open it if it is not, answer frames, and close it."""
        with self._stack:
            runner = self._opened()
            self._runner = None
            return runner.run(frames, emit)

    def _opened(self) -> Runner:
        if self._runner is None:
            self._runner = self._stack.enter_context(self._open())
            self._runner.run(self._warm_up, _drop)
        return self._runner


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """How many times as fast one pipeline is as another.

    Attributes:
        median: median over the rounds.
        low: lower quartile.
        high: upper quartile.
    """

    median: float
    low: float
    high: float


def interleave(
    pipelines: Mapping[str, Runner],
    frames: Sequence[Frame],
    *,
    rounds: int,
    rng: np.random.Generator,
    frames_per_round: int | None = None,
    seconds_per_round: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[Trace]]:
    """Run every pipeline once in each round, in an order drawn anew, after one warm-up.

    Args:
        pipelines: by name; all take the same frames.
        frames: used again from the first when they run out.
        rounds: how many are kept; one more goes before them to warm up.
        rng: what the orders are drawn from.
        frames_per_round: frames that each pipeline answers in a round.
        seconds_per_round: or how long each is given frames in a round: so many at a time as it
            has credits, and at least four times so many: the first and last are not of a full
            pipeline, and what is between must tell the rate of unequal lanes.
        clock: the time, in seconds.

    Returns:
        One trace per round for each pipeline; traces of equal index ran side by side.

    Raises:
        InputError: no frames, or not just one of frames and seconds per round.
    """
    if not frames:
        raise InputError("there is no frame to compare with; give at least one")
    if (frames_per_round is None) == (seconds_per_round is None):
        raise InputError("give either frames_per_round or seconds_per_round")
    names = list(pipelines)
    traces: dict[str, list[Trace]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for index in rng.permutation(len(names)):
            name = names[index]
            endless = cycle(frames)
            given = (
                islice(endless, frames_per_round)
                if seconds_per_round is None
                else _for_a_while(endless, pipelines[name].credits, seconds_per_round, clock)
            )
            trace = pipelines[name].run(given, _drop)
            if number > 0:
                traces[name].append(trace)
    return traces


def paired_ratio(first: Sequence[Trace], second: Sequence[Trace]) -> Ratio:
    """Divide the rates of two pipelines round by round.

    Args:
        first: traces of the one, by round.
        second: traces of the other, of the same rounds.

    Returns:
        Median and quartiles of the rounds' ratios, first over second.

    Raises:
        InputError: no round, or a different number of them.
    """
    if not first or len(first) != len(second):
        raise InputError(
            f"{len(first)} and {len(second)} rounds cannot be paired; run both in the same rounds"
        )
    ratios = [one.rate_hz / other.rate_hz for one, other in zip(first, second, strict=True)]
    low, median, high = np.percentile(ratios, (25, 50, 75))
    return Ratio(median=float(median), low=float(low), high=float(high))


def _for_a_while(
    frames: Iterator[Frame], turn: int, seconds: float, clock: Callable[[], float]
) -> Iterator[Frame]:
    end_s = clock() + seconds
    yield from islice(frames, TURNS * turn)
    while clock() < end_s:
        yield from islice(frames, turn)


def _drop(frame_id: int, answer: tuple[Array, ...]) -> None:
    """Emit to nowhere: what is compared is speed."""
