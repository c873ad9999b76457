"""Time one session alone: the median of as many runs as are worth their time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from evener.network.frames import random_frames
from evener.profile.energy import Metering
from evener.runtime.session import Session, empty

Clock = Callable[[], float]
Segment = tuple[int, int]
"""First and last block, both included."""
Formed = Callable[[int, int], bool]
"""Whether two blocks are the first and last of a segment; see `Blocks.form_segment`."""

LEAST_RUNS: Final = 3
LEAST_UNEQUAL_RUNS: Final = 5
MOST_RUNS: Final = 30
ENOUGH_S: Final = 0.15
AGREE: Final = 0.02  # runs that differ by no more than this share tell the same time
WARM_UP_RUNS: Final = 2  # the first run allocates and packs weights, the second fills caches
THROTTLED_SPAN_S: Final = 0.05  # twenty periods of the quota, and twelve ticks of 4 ms
ENOUGH_WARM_UP_S: Final = 0.05  # beside a run this long, what the first does once is little


def always_formed(first: int, last: int) -> bool:  # noqa: ARG001 - whichever they are
    """Return that blocks form a segment, as any do that run one after the other."""
    return True


@dataclass(frozen=True, slots=True)
class Timing:
    """How long runs took.

    Attributes:
        median_s: their median, in seconds.
        low_s: lower quartile.
        high_s: upper quartile.
        repeats: how many there were.
        energy_j: what one draws beyond the idle machine, where something meters it.
    """

    median_s: float
    low_s: float
    high_s: float
    repeats: int
    energy_j: float | None = None


def time_session(
    session: Session,
    *,
    clock: Clock,
    throttled: bool = False,
    metering: Metering | None = None,
) -> Timing:
    """Run a session on a random frame, its outputs written into the same arrays each time.

    Up to 30 runs are timed while they have taken less than 0.15 s together. Of longer ones three
    will do if they agree, and else five. On a throttled core short runs are at full speed until
    one stands still for the quota: there, as many as take some periods are timed together. With a
    meter there are as many as it takes to tell their energy.

    Args:
        session: opened by the calling thread, which is pinned.
        clock: seconds that never go back.
        throttled: whether a quota limits how much of the core's time it may use.
        metering: what meters their energy; None if nothing does.

    Raises:
        RuntimeFailedError: the runtime could not run it.
    """
    (inputs,) = random_frames(session.inputs, 1, seed=0)
    outputs = [empty(tensor) for tensor in session.outputs]

    runs = 0

    def run_s() -> float:
        nonlocal runs
        start_s, before = clock(), runs
        while runs == before or (throttled and clock() - start_s < THROTTLED_SPAN_S):
            session.run(inputs, outputs)
            runs += 1
        return (clock() - start_s) / (runs - before)

    if run_s() < ENOUGH_WARM_UP_S:
        for _ in range(1, WARM_UP_RUNS):
            run_s()
    runs_s: list[float] = []
    least_s = 0.0
    if metering is not None:
        least_s = metering.meter.least_s
        metering.meter.start()
    runs, start_s = 0, clock()
    while clock() - start_s < least_s or not _are_enough(runs_s, clock() - start_s):
        runs_s.append(run_s())
    seconds = clock() - start_s
    energy_j = None
    if metering is not None:
        energy_j = metering.per_run_j(metering.meter.stop(), seconds=seconds, runs=runs)
    low_s, median_s, high_s = np.quantile(runs_s, (0.25, 0.5, 0.75)).tolist()
    return Timing(median_s, low_s, high_s, len(runs_s), energy_j)


def _are_enough(runs_s: Sequence[float], taken_s: float) -> bool:
    if len(runs_s) < LEAST_RUNS:
        return False
    if taken_s < ENOUGH_S:
        return len(runs_s) >= MOST_RUNS
    agree = max(runs_s) <= (1 + AGREE) * min(runs_s)
    return agree or len(runs_s) >= LEAST_UNEQUAL_RUNS
