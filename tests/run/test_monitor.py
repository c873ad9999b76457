"""When another plan is worth asking for, and worth taking."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.plan import Asked, Lane, Plan
from evener.run.condition import Condition, Slowdowns, rate_under
from evener.run.monitor import Doubt, Limits, Monitor
from evener.run.record import LaneProgress
from evener.testing.plans import chain

LIMITS = Limits(drift=0.15, window=8, margin=0.05, cooldown_s=100, parole_s=1000)
TWO = chain((1, [(0,)]), (1, [(1,)]))  # a stage a core, 1 s each
FIRST, SECOND = ("p0a", 0), ("p1a", 1)


def progress(plan: Plan, times_s: Sequence[Sequence[float]]) -> list[LaneProgress]:
    lanes = [(index, lane) for index, stage in enumerate(plan.stages) for lane in stage.lanes]
    return [
        LaneProgress(
            stage=index, lane=lane, frame_id=None, since_s=0.0, frames=len(ran), recent_s=ran
        )
        for (index, lane), ran in zip(lanes, times_s, strict=True)
    ]


def watching(plan: Plan = TWO, planned_under: Slowdowns | None = None) -> tuple[Monitor, Condition]:
    condition = Condition(term_s=LIMITS.parole_s)
    monitor = Monitor(condition, LIMITS)
    monitor.follow(plan, planned_under or {})
    return monitor, condition


def at(plan: Plan, stage: int, time_s: float) -> Plan:
    """Give the only lane of a stage another planned time."""
    lane = msgspec.structs.replace(plan.stages[stage].lanes[0], time_s=time_s)
    stages = list(plan.stages)
    stages[stage] = msgspec.structs.replace(stages[stage], lanes=(lane,))
    return msgspec.structs.replace(plan, stages=tuple(stages))


def predicted(plan: Plan, rate_hz: float) -> Plan:
    return msgspec.structs.replace(plan, rate_hz=rate_hz)


def test_a_slowest_stage_that_is_slower_than_planned_is_doubted_with_its_figures() -> None:
    monitor, _ = watching()

    monitor.observe(progress(TWO, [[1.0] * 8, [2.0] * 8]), now_s=0)
    doubt = monitor.doubt(now_s=0)

    assert doubt is not None
    assert doubt.cause == "drifted"
    assert doubt.reason == "stage 1 on p1a [1] needs 2 s a frame where 1 s were planned"
    assert doubt.slowdowns == pytest.approx({SECOND: 2.0}, rel=0.05)


@pytest.mark.parametrize(
    "times_s",
    [
        [2.0] * 7,  # the window is not full
        [1.14] * 8,  # within the threshold
        [9.0, 1.0] * 4,  # half of the frames agree with the plan
        [1.0] * 5 + [9.0] * 3,  # a burst
    ],
)
def test_what_is_short_small_or_not_sustained_is_not_doubted(times_s: list[float]) -> None:
    monitor, _ = watching()

    monitor.observe(progress(TWO, [times_s, times_s]), now_s=0)

    assert monitor.doubt(now_s=0) is None


def test_a_quick_stage_may_be_slower_than_planned_while_it_is_not_the_slowest() -> None:
    plan = at(TWO, 0, 0.1)
    monitor, condition = watching(plan)

    monitor.observe(progress(plan, [[0.5] * 8, [1.0] * 8]), now_s=0)

    assert monitor.doubt(now_s=0) is None
    assert list(condition.slowdowns(now_s=0)) == [FIRST]  # but it is known


def test_a_replicated_stage_is_as_quick_as_its_lanes_together() -> None:
    plan = chain((1, [(0,), (1,)]))
    monitor, _ = watching(plan)

    monitor.observe(progress(plan, [[2.0] * 8, [1.0] * 8]), now_s=0)
    doubt = monitor.doubt(now_s=0)

    assert doubt is not None
    assert doubt.reason.startswith("stage 0 on p0a [0] | p0b [1] needs 667 ms a frame where 500 ms")


def test_only_new_times_are_taken_in_and_old_ones_leave_the_window() -> None:
    monitor, _ = watching()
    times_s = [[1.0] * 20, [2.0] * 8 + [1.0] * 7]
    for count in (4, 8, 12, 15):
        monitor.observe(progress(TWO, [ran[:count] for ran in times_s]), now_s=0)

    assert monitor.doubt(now_s=0) is None


def test_the_same_question_is_not_asked_twice_and_another_not_before_the_pause_is_over() -> None:
    monitor, _ = watching()
    slow = progress(TWO, [[1.0] * 8, [2.0] * 8])
    slower = progress(TWO, [[1.0] * 8, [2.0] * 8 + [5.0] * 8])

    monitor.observe(slow, now_s=0)
    assert monitor.doubt(now_s=0) is not None
    monitor.observe(slow, now_s=100)
    assert monitor.doubt(now_s=100) is None
    monitor.observe(slower, now_s=150)
    assert monitor.doubt(now_s=150) is not None
    monitor.observe(progress(TWO, [[1.0] * 8, [9.0] * 40]), now_s=160)
    assert monitor.doubt(now_s=160) is None
    assert monitor.doubt(now_s=250) is not None


@pytest.mark.parametrize(("rate_hz", "better"), [(0.52, False), (0.53, True)])
def test_another_plan_must_be_better_by_the_margin(rate_hz: float, better: bool) -> None:
    monitor, _ = watching()  # 1 /s as planned
    doubt = Doubt(cause="drifted", reason="", slowdowns={SECOND: 2.0})

    assert monitor.is_better(predicted(TWO, rate_hz), doubt) is better


@pytest.mark.parametrize(
    ("asked", "rate_hz", "latency_s", "better"),
    [
        (Asked(max_latency_s=2.0), 0.4, 2.0, True),  # slower, and the only one that keeps it
        (Asked(max_latency_s=2.0), 0.9, 2.2, True),  # misses it by less
        (Asked(max_latency_s=2.0), 0.9, 4.0, False),  # misses it as much
        (Asked(max_latency_s=9.0), 0.9, 9.5, False),  # the present one keeps it
        (Asked(max_latency_s=9.0), 0.9, 8.0, True),  # both keep it
        (Asked(min_rate_hz=0.9), 0.8, 9.0, True),
        (Asked(min_rate_hz=0.2), 0.52, 9.0, False),
    ],
)
def test_of_two_plans_the_one_that_misses_the_limits_less_is_better(
    asked: Asked, rate_hz: float, latency_s: float, better: bool
) -> None:
    limited = msgspec.structs.replace(TWO, asked=asked)  # now 0.5 /s, and a latency of 4 s
    monitor, _ = watching(limited)
    doubt = Doubt(cause="drifted", reason="", slowdowns={SECOND: 2.0})
    other = msgspec.structs.replace(limited, rate_hz=rate_hz, latency_s=latency_s)

    assert monitor.is_better(other, doubt) is better


def test_where_the_shortest_latency_was_the_objective_it_decides() -> None:
    short = msgspec.structs.replace(TWO, objective="latency")
    monitor, _ = watching(short)
    doubt = Doubt(cause="drifted", reason="", slowdowns={SECOND: 2.0})

    assert monitor.is_better(msgspec.structs.replace(short, rate_hz=0.4, latency_s=2.5), doubt)
    assert not monitor.is_better(msgspec.structs.replace(short, rate_hz=9.0, latency_s=4.0), doubt)


def test_what_lanes_did_while_others_took_their_cores_is_not_held_against_them() -> None:
    monitor, _ = watching()
    slow = progress(TWO, [[1.0] * 8, [2.0] * 8])
    monitor.observe(progress(TWO, [[1.0] * 4, [2.0] * 4]), now_s=0)

    monitor.overlook(slow)
    monitor.observe(slow, now_s=1)

    assert monitor.doubt(now_s=1) is None


def test_what_a_plan_avoids_is_asked_for_again_once_its_time_is_over() -> None:
    condition = Condition(term_s=LIMITS.parole_s)
    condition.lose([SECOND, ("npu", None)], now_s=0)
    monitor = Monitor(condition, LIMITS)
    alone = chain((2, [(0,)]))
    monitor.follow(alone, condition.slowdowns(now_s=0))

    assert monitor.doubt(now_s=999) is None
    doubt = monitor.doubt(now_s=1000)

    assert doubt == Doubt(
        cause="recovered", reason="p1a [1], npu may be as profiled again", slowdowns={}
    )


def test_a_lane_that_is_quicker_than_it_was_planned_for_is_asked_about() -> None:
    slow: Slowdowns = {SECOND: 2.0}
    monitor, condition = watching(TWO, slow)
    condition.measure([SECOND], 2.0, now_s=0)

    monitor.observe(progress(TWO, [[1.0] * 8, [0.5] * 8]), now_s=1)
    doubt = monitor.doubt(now_s=1)

    assert doubt is not None
    assert (doubt.cause, doubt.slowdowns) == ("recovered", {})


class World:
    """Two plans on a machine whose second core is loaded by the hour.

    Plan `TWO` uses both cores, `ONE` only the first at half the rate. A look comes each second.
    """

    ONE = predicted(at(chain((2, [(0,)])), 0, 2.0), 0.5)

    def __init__(self, limits: Limits, loads: Sequence[tuple[int, float]]) -> None:
        self.loads = [load for seconds, load in loads for _ in range(seconds)]
        self.condition = Condition(term_s=limits.parole_s)
        self.monitor = Monitor(self.condition, limits)
        self.switched_s: list[int] = []
        self.plan = predicted(TWO, 1.0)
        self._follow({})

    def live(self) -> None:
        for now_s, load in enumerate(self.loads):
            for lane, ran in zip(self.lanes(), self.times_s, strict=True):
                factor = load if lane.units == (SECOND,) else 1.0
                ran.append(lane.time_s * factor / self._planned(lane))
            self.monitor.observe(progress(self.plan, self.times_s), now_s)
            doubt = self.monitor.doubt(now_s)
            if doubt is None:
                continue
            plan = self._best(doubt.slowdowns)
            if self.monitor.is_better(plan, doubt):
                self.monitor.switched(now_s)
                self.switched_s.append(now_s)
                self.plan = plan
                self._follow(doubt.slowdowns)

    def _best(self, slowdowns: Slowdowns) -> Plan:
        two = rate_under(TWO, slowdowns, planned_under={})
        return self.ONE if two < 0.5 else self._slowed(two, slowdowns)

    def _slowed(self, rate_hz: float, slowdowns: Slowdowns) -> Plan:
        plan = at(TWO, 1, slowdowns.get(SECOND, 1.0))
        return predicted(plan, rate_hz)

    def _follow(self, slowdowns: Slowdowns) -> None:
        self.under = slowdowns
        self.times_s: list[list[float]] = [[] for _ in self.lanes()]
        self.monitor.follow(self.plan, slowdowns)

    def lanes(self) -> list[Lane]:
        return [lane for stage in self.plan.stages for lane in stage.lanes]

    def _planned(self, lane: Lane) -> float:
        return self.under.get(lane.units[0], 1.0)


def test_a_lasting_load_moves_the_plan_once() -> None:
    limits = msgspec.structs.replace(LIMITS, parole_s=10_000)
    world = World(limits, [(50, 1.0), (2000, 4.0)])

    world.live()

    assert len(world.switched_s) == 1
    assert world.plan == World.ONE


def test_a_load_that_goes_is_noticed_after_the_term() -> None:
    world = World(LIMITS, [(50, 1.0), (500, 4.0), (2000, 1.0)])

    world.live()

    assert len(world.switched_s) == 2
    assert [lane.processor for lane in world.lanes()] == ["p0a", "p1a"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 300), st.sampled_from([1.0, 1.1, 1.3, 3.0, 8.0])),
        min_size=1,
        max_size=20,
    ),
    st.integers(1, 5),
)
def test_whatever_the_load_does_pauses_between_switches_double(
    loads: list[tuple[int, float]], again: int
) -> None:
    limits = msgspec.structs.replace(LIMITS, cooldown_s=20, parole_s=50)
    world = World(limits, loads * again)

    world.live()

    gaps = [after - before for before, after in pairwise(world.switched_s)]
    assert all(gap >= 20 * min(2**index, 16) for index, gap in enumerate(gaps))


@given(st.integers(1, 4), st.sampled_from([2.0, 5.0]))
def test_a_load_that_comes_and_goes_within_a_window_moves_nothing(period: int, load: float) -> None:
    world = World(LIMITS, [(period, 1.0), (period, load)] * (400 // period))

    world.live()

    assert world.switched_s == []
