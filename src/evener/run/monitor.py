"""Decide from the times of the lanes when another plan is worth asking for, and worth taking.

A plan is doubted when its slowest stage is slower than planned in three of four of its last frames,
or when what it was made to avoid is as profiled again. Another is taken only if it is predicted to
be better by a margin, and no sooner than a pause after the last change; each change on account of
times doubles the pause. So a load that comes and goes moves the plan a few times, not for ever.
"""

from collections import deque
from collections.abc import Sequence
from math import inf
from typing import Final, Literal

import msgspec

from evener.artifacts.plan import ROUNDING, Plan
from evener.run.condition import Condition, Slowdowns, rate_under, worst
from evener.run.record import LaneProgress
from evener.units import show

_LONGEST: Final = 16  # pauses


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When a lane counts as hung, and when another plan is taken.

    Attributes:
        hang_factor: how many times its 99th percentile a lane may hold one frame.
        hang_floor_s: how long it may hold one in any case, in seconds.
        drift: by how much of the planned time the slowest stage may be slower, or a lane quicker,
            before it counts.
        window: how many of a lane's last frames that is judged by.
        margin: by how much of its rate another plan must be predicted to be better.
        cooldown_s: shortest time from one change of plan to the next on account of times.
        parole_s: how long what failed or was slow stays out before it may be tried again; each
            relapse doubles it.
        standby_after_s: how long a plan must have run before others are held ready beside it.
        standby_most: how many are held ready at most.
        look_s: time from one look at the lanes to the next; None if the owner calls the looks.
    """

    hang_factor: float = 10.0
    hang_floor_s: float = 5.0
    drift: float = 0.15
    window: int = 32
    margin: float = 0.05
    cooldown_s: float = 10.0
    parole_s: float = 60.0
    standby_after_s: float = 1.0
    standby_most: int = 4
    look_s: float | None = 0.25


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """Why another plan may be better, and what it is to be made for.

    Attributes:
        cause: "drifted" or "recovered".
        reason: the same with names and figures.
        slowdowns: what is lost or slow.
    """

    cause: Literal["drifted", "recovered"]
    reason: str
    slowdowns: Slowdowns


class Monitor:
    """Holds the lanes' times against the plan. No clock: every call says the time.

    Args:
        condition: what is known of the machine; learns what the lanes show.
        limits: when a difference counts.
    """

    def __init__(self, condition: Condition, limits: Limits) -> None:
        self._condition = condition
        self._limits = limits
        self._cooldown_s = limits.cooldown_s
        self._quiet_until_s = -inf
        self._windows: list[deque[float]] = []
        self._seen: list[int] = []
        self._asked: Slowdowns | None = None

    def follow(self, plan: Plan, planned_under: Slowdowns) -> None:
        """Watch the lanes of a plan from their first frame on.

        Args:
            plan: what runs from now on.
            planned_under: what was lost or slow when it was made.
        """
        lanes = [lane for stage in plan.stages for lane in stage.lanes]
        self._plan, self._planned_under = plan, dict(planned_under)
        self._windows = [deque(maxlen=self._limits.window) for _ in lanes]
        self._seen = [0] * len(lanes)
        self._asked = None

    def observe(self, lanes: Sequence[LaneProgress], now_s: float) -> None:
        """Take in what the lanes have done since, and mark those that are not as planned.

        Args:
            lanes: what each lane of the plan did in this run, stage by stage.
            now_s: the time.
        """
        for index, progress in enumerate(lanes):
            fresh = min(progress.frames - self._seen[index], len(progress.recent_s))
            self._seen[index] = progress.frames
            self._windows[index].extend(progress.recent_s[len(progress.recent_s) - fresh :])
            lane, window = progress.lane, self._windows[index]
            if len(window) < self._limits.window:
                continue
            under = worst(lane.units, self._planned_under)
            ratio = _sustained(window, lane.time_s, self._limits.drift)
            absolute = ratio * under
            self._condition.measure(
                lane.units, absolute if absolute > 1 + self._limits.drift else 1.0, now_s=now_s
            )

    def overlook(self, lanes: Sequence[LaneProgress]) -> None:
        """Judge nothing by what the lanes have done so far, as something else took their cores.

        Args:
            lanes: as for `observe`.
        """
        for index, progress in enumerate(lanes):
            self._seen[index] = progress.frames
            self._windows[index].clear()

    def doubt(self, now_s: float) -> Doubt | None:
        """Return why another plan should be asked for; None while there is no reason.

        The same question is not asked twice, and none before the pause is over.
        """
        if now_s < self._quiet_until_s:
            return None
        slowdowns = self._condition.slowdowns(now_s=now_s)
        if slowdowns == self._asked:
            return None
        drifted = self._drifted()
        better = [
            unit for unit, slow in self._planned_under.items() if slowdowns.get(unit, 1) < slow
        ]
        if drifted is None and not better:
            return None
        self._asked = slowdowns
        self._quiet_until_s = now_s + self._limits.cooldown_s
        if drifted is not None:
            return Doubt(cause="drifted", reason=drifted, slowdowns=slowdowns)
        names = ", ".join(name if core is None else f"{name} [{core}]" for name, core in better)
        return Doubt(
            cause="recovered",
            reason=f"{names} may be as profiled again",
            slowdowns=slowdowns,
        )

    def is_better(self, plan: Plan, doubt: Doubt) -> bool:
        """Whether a plan made for a doubt is predicted to beat the present one by the margin."""
        mine_hz = rate_under(self._plan, doubt.slowdowns, planned_under=self._planned_under)
        return beats(plan, self._plan, mine_hz, margin=self._limits.margin)

    def switched(self, now_s: float) -> None:
        """Begin the pause after a change on account of times."""
        self._quiet_until_s = now_s + self._cooldown_s
        self._cooldown_s = min(2 * self._cooldown_s, _LONGEST * self._limits.cooldown_s)

    def _drifted(self) -> str | None:
        """Say which stage is the slowest, if it is slower than the plan's slowest by too much."""
        planned_s = max(stage.period_s for stage in self._plan.stages)
        first, slowest_s, slowest = 0, 0.0, 0
        for index, stage in enumerate(self._plan.stages):
            windows = self._windows[first : first + len(stage.lanes)]
            first += len(stage.lanes)
            if any(len(window) < self._limits.window for window in windows):
                continue
            # What three of four frames took at least: the drift is there most of the time.
            quick_s = [_quartiles(window)[0] for window in windows]
            period_s = 1 / sum(1 / max(one, 1e-9) for one in quick_s)
            if period_s > slowest_s:
                slowest_s, slowest = period_s, index
        if slowest_s <= (1 + self._limits.drift) * planned_s:
            return None
        places = " | ".join(lane.place for lane in self._plan.stages[slowest].lanes)
        return (
            f"stage {slowest} on {places} needs {show(slowest_s, 'time')} a frame where "
            f"{show(planned_s, 'time')} were planned"
        )


def beats(plan: Plan, other: Plan, other_hz: float, *, margin: float) -> bool:
    """Whether a plan is predicted to be better than another by a margin.

    If either misses limits that were asked for, the one that misses them less is better, whatever
    the rates; else the one of shorter latency, if that was the objective, or of greater rate.

    Args:
        plan: the one.
        other: the other.
        other_hz: what that makes now, in frames per second.
        margin: by how much of the other's figure it must be better.

    Example:
        >>> from evener.artifacts.plan import Asked
        >>> from evener.testing.plans import chain
        >>> quick = chain((1, [(0,)]), (1, [(1,)]))  # 1 frame a second, in 2 s
        >>> beats(quick, quick, 0.9, margin=0.05), beats(quick, quick, 0.99, margin=0.05)
        (True, False)
        >>> limited = msgspec.structs.replace(quick, asked=Asked(max_latency_s=1.0))
        >>> short = msgspec.structs.replace(limited, rate_hz=0.5, latency_s=1.0, credits=1)
        >>> beats(short, limited, 1.0, margin=0.05)
        True
    """
    other_s = other.credits / other_hz if other_hz > 0 else inf
    if plan.asked is not None:
        mine = plan.asked.excess(rate_hz=plan.rate_hz, latency_s=plan.latency_s)
        its = plan.asked.excess(rate_hz=other_hz, latency_s=other_s)
        if max(mine, its) > 1 + ROUNDING:
            return mine * (1 + margin) <= its
    if plan.objective == "latency":
        return plan.latency_s * (1 + margin) <= other_s
    return plan.rate_hz >= (1 + margin) * other_hz


def _sustained(window: Sequence[float], planned_s: float, drift: float) -> float:
    """Return the ratio of a lane's median to the plan; 1 unless most of its frames agree.

    Example:
        >>> _sustained([2.0, 2.0, 2.0, 2.0], planned_s=1.0, drift=0.15)
        2.0
        >>> _sustained([2.0, 1.0, 2.0, 1.0], planned_s=1.0, drift=0.15)
        1.0
    """
    low_s, median_s, high_s = _quartiles(window)
    if low_s > (1 + drift) * planned_s or high_s * (1 + drift) < planned_s:
        return median_s / planned_s
    return 1.0


def _quartiles(window: Sequence[float]) -> tuple[float, float, float]:
    """Return times of the window that a quarter, half and three quarters of it are below."""
    ordered = sorted(window)
    quarter = len(ordered) // 4
    return ordered[quarter], ordered[len(ordered) // 2], ordered[-1 - quarter]
