"""What is remembered of cores that are lost or slow."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.artifacts.plan import Unit
from evener.run.condition import Condition, Slowdowns, rate_under, worst
from evener.testing.plans import chain

NPU: Unit = ("npu", None)
CORE: Unit = ("cpu0", 1)


def test_what_is_lost_is_forgiven_after_its_term() -> None:
    condition = Condition(term_s=60)
    condition.lose([NPU], now_s=100)

    assert condition.slowdowns(now_s=159.9) == {NPU: inf}
    assert condition.slowdowns(now_s=160) == {}


def test_each_relapse_doubles_the_term_up_to_sixteen_times() -> None:
    condition, now_s = Condition(term_s=1), 0.0
    terms = []
    for _ in range(7):
        condition.lose([NPU], now_s=now_s)
        begun_s = now_s
        while condition.slowdowns(now_s=now_s):
            now_s += 1
        terms.append(now_s - begun_s)

    assert terms == [1, 2, 4, 8, 16, 16, 16]


def test_what_is_measured_slow_again_and_again_stays_slow_and_is_no_relapse() -> None:
    condition = Condition(term_s=60)
    for now_s in range(0, 300, 30):
        condition.measure([CORE], 2.0, now_s=now_s)
        assert condition.slowdowns(now_s=now_s + 59)
    assert condition.slowdowns(now_s=270 + 60) == {}


def test_a_lane_that_is_as_profiled_clears_its_cores() -> None:
    condition = Condition(term_s=60)
    condition.measure([CORE, ("cpu0", 2)], 2.0, now_s=0)

    condition.measure([CORE], 1.0, now_s=1)

    assert list(condition.slowdowns(now_s=1)) == [("cpu0", 2)]


@given(st.floats(0.1, 100.0))
def test_slowdowns_are_within_a_twentieth_of_what_was_measured(slowdown: float) -> None:
    condition = Condition(term_s=60)

    condition.measure([CORE], slowdown, now_s=0)

    kept = condition.slowdowns(now_s=0).get(CORE, 1.0)
    assert kept == pytest.approx(max(1.0, slowdown), rel=0.05)


def test_forgiving_forgets_relapses_too() -> None:
    condition = Condition(term_s=60)
    condition.lose([NPU, CORE], now_s=0)

    condition.forgive([NPU])
    condition.lose([NPU], now_s=70)

    assert condition.slowdowns(now_s=129) == {NPU: inf}
    condition.forgive()
    assert condition.slowdowns(now_s=71) == {}


def test_a_lane_is_as_slow_as_its_slowest_core() -> None:
    assert worst([CORE, NPU], {NPU: 3.0}) == 3.0


def test_a_plan_made_for_slow_cores_is_faster_than_it_says_once_they_are_not() -> None:
    plan = chain((1, [(0,), (1,)]), (1, [(2,)]))  # 1 s a lane
    slow: Slowdowns = {("p1a", 2): 2.0}

    assert rate_under(plan, slow, planned_under=slow) == 1.0
    assert rate_under(plan, {}, planned_under=slow) == 2.0
    assert rate_under(plan, {("p0a", 0): inf, ("p0b", 1): 4.0}, planned_under={}) == 0.25
