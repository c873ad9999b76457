"""Remember which cores are lost or slower than they were profiled, and for how long that counts.

What a plan no longer uses cannot be measured, so a mark on it has a term: after that it is forgiven
and may be tried again. Each relapse doubles the term. What a running plan uses keeps its mark for
as long as it is measured so.
"""

from collections.abc import Iterable, Mapping
from math import inf, log
from threading import Lock
from typing import Final

import msgspec

from evener.artifacts.plan import Plan, Stage, Unit

Slowdowns = Mapping[Unit, float]
"""Times of what is not as profiled over the profile's; inf for what is lost."""

# Slow-downs are told apart by a tenth: two that are nearly the same must not look like two kinds
# of cores to the planner, nor noise like news.
_GRID: Final = 1.1
_LONGEST: Final = 16  # terms


class Mark(msgspec.Struct, kw_only=True):
    """What is known of one core or device.

    Attributes:
        slowdown: its times over the profile's, on the grid; inf if lost.
        until_s: when that is forgiven.
        term_s: from when it was marked or last measured until then.
    """

    slowdown: float
    until_s: float
    term_s: float


class Condition:
    """The marks on the cores and devices of a machine. No clock: every call says the time.

    Safe between threads.

    Args:
        term_s: how long the first mark counts, in seconds.

    Example:
        >>> condition = Condition(term_s=60)
        >>> condition.lose([("npu", None)], now_s=0)
        >>> condition.measure([("cpu0", 1)], 2.0, now_s=30)
        >>> {unit: round(slow, 2) for unit, slow in condition.slowdowns(now_s=30).items()}
        {('npu', None): inf, ('cpu0', 1): 1.95}
        >>> list(condition.slowdowns(now_s=60))
        [('cpu0', 1)]
    """

    def __init__(self, *, term_s: float) -> None:
        self._term_s = term_s
        self._marks: dict[Unit, Mark] = {}
        self._lock = Lock()

    def lose(self, units: Iterable[Unit], *, now_s: float) -> None:
        """Mark what failed as lost."""
        with self._lock:
            for unit in units:
                self._mark(unit, inf, now_s)

    def measure(self, units: Iterable[Unit], slowdown: float, *, now_s: float) -> None:
        """Take note of what a lane on some units takes, over what the profile says.

        Args:
            units: what the lane takes up.
            slowdown: the ratio; 1, or anything below, clears a mark.
            now_s: the time.
        """
        on_grid = _GRID ** max(0, round(log(slowdown, _GRID)))
        with self._lock:
            for unit in units:
                self._mark(unit, on_grid, now_s)

    def slowdowns(self, *, now_s: float) -> dict[Unit, float]:
        """Return what is lost or slow at a time."""
        with self._lock:
            return {
                unit: mark.slowdown
                for unit, mark in self._marks.items()
                if mark.slowdown > 1 and now_s < mark.until_s
            }

    def forgive(self, units: Iterable[Unit] | None = None) -> None:
        """Drop the marks on some units, or on all, as if they had never been."""
        with self._lock:
            for unit in list(self._marks if units is None else units):
                self._marks.pop(unit, None)

    def _mark(self, unit: Unit, slowdown: float, now_s: float) -> None:
        mark = self._marks.get(unit)
        if mark is None:
            if slowdown > 1:
                self._marks[unit] = Mark(
                    slowdown=slowdown, until_s=now_s + self._term_s, term_s=self._term_s
                )
            return
        forgiven = now_s >= mark.until_s or mark.slowdown <= 1
        if slowdown > 1 and forgiven:  # a relapse
            mark.term_s = min(2 * mark.term_s, _LONGEST * self._term_s)
        mark.slowdown, mark.until_s = slowdown, now_s + mark.term_s


def rate_under(plan: Plan, slowdowns: Slowdowns, *, planned_under: Slowdowns) -> float:
    """Predict the rate of a plan while some cores are lost or slow, in frames per second.

    Args:
        plan: its lanes' times hold what it was planned under.
        slowdowns: what is lost or slow now.
        planned_under: what was lost or slow when it was planned.

    Example:
        >>> from evener.testing.plans import chain
        >>> plan = chain((1, [(0,)]), (1, [(1,)]))  # 1 s a stage
        >>> rate_under(plan, {("p1a", 1): 4.0}, planned_under={})
        0.25
        >>> rate_under(plan, {("p1a", 1): inf}, planned_under={})
        0.0
    """
    return min(_rate_hz(stage, slowdowns, planned_under) for stage in plan.stages)


def worst(units: Iterable[Unit], slowdowns: Slowdowns) -> float:
    """Return the largest slow-down of some units, which is that of a lane on all of them."""
    return max(slowdowns.get(unit, 1.0) for unit in units)


def _rate_hz(stage: Stage, slowdowns: Slowdowns, planned_under: Slowdowns) -> float:
    return sum(
        worst(lane.units, planned_under) / (lane.time_s * worst(lane.units, slowdowns))
        for lane in stage.lanes
    )
