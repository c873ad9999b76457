"""Time one session alone: the median of as many runs as are worth their time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from evener.network.frames import random_frames
from evener.runtime.session import Session, empty

Clock = Callable[[], float]
Segment = tuple[int, int]
"""First and last block, both included."""

LEAST_RUNS: Final = 5
MOST_RUNS: Final = 30
ENOUGH_S: Final = 0.15
WARM_UP_RUNS: Final = 2  # the first run allocates and packs weights, the second fills caches


@dataclass(frozen=True, slots=True)
class Timing:
    """How long runs took.

    Attributes:
        median_s: their median, in seconds.
        low_s: lower quartile.
        high_s: upper quartile.
        repeats: how many there were.
    """

    median_s: float
    low_s: float
    high_s: float
    repeats: int


def time_session(session: Session, *, clock: Clock) -> Timing:
    """Run a session on a random frame, its outputs written into the same arrays each time.

    At least 5 runs are timed, and up to 30 while they have taken less than 0.15 s together.

    Args:
        session: opened by the calling thread, which is pinned.
        clock: seconds that never go back.

    Raises:
        RuntimeFailedError: the runtime could not run it.
    """
    (inputs,) = random_frames(session.inputs, 1, seed=0)
    outputs = [empty(tensor) for tensor in session.outputs]
    for _ in range(WARM_UP_RUNS):
        session.run(inputs, outputs)
    runs_s: list[float] = []
    while len(runs_s) < LEAST_RUNS or (len(runs_s) < MOST_RUNS and sum(runs_s) < ENOUGH_S):
        start_s = clock()
        session.run(inputs, outputs)
        runs_s.append(clock() - start_s)
    low_s, median_s, high_s = np.quantile(runs_s, (0.25, 0.5, 0.75)).tolist()
    return Timing(median_s, low_s, high_s, len(runs_s))
