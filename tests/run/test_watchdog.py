"""Which lane hangs."""

from math import inf

import pytest

from evener.artifacts.plan import Lane
from evener.run.record import LaneProgress
from evener.run.watchdog import Watchdog

LANE = Lane(processor="npu", cores=(), parts=(), time_s=0.1)


def lane(frame_id: int | None = None, since_s: float = 0.0, times: int = 0) -> LaneProgress:
    return LaneProgress(
        stage=0,
        lane=LANE,
        frame_id=frame_id,
        since_s=since_s,
        frames=times,
        recent_s=[0.3] * times,
    )


def watchdog(*, floor_s: float = 0.0, longest_look_s: float = inf) -> Watchdog:
    return Watchdog(factor=10, floor_s=floor_s, longest_look_s=longest_look_s)


def test_a_lane_may_hold_a_frame_for_a_multiple_of_its_99th_percentile() -> None:
    slow = lane(7, since_s=10.0, times=7)

    assert watchdog().look([lane(), slow], 12.9) is None
    assert watchdog().look([lane(), slow], 13.1) is slow


def test_before_its_first_time_the_planned_one_counts() -> None:
    first = lane(0, since_s=10.0)

    assert watchdog().look([first], 10.9) is None
    assert watchdog().look([first], 11.1) is first


def test_a_quick_lane_may_take_the_floor() -> None:
    assert watchdog(floor_s=5.0).look([lane(7, since_s=10.0, times=7)], 14.9) is None


def test_a_lane_that_waits_never_hangs() -> None:
    assert watchdog().look([lane(None, since_s=0.0, times=3)], 1e6) is None


def test_time_in_which_nobody_looked_does_not_count() -> None:
    dog = watchdog(longest_look_s=0.5)
    dog.look([lane(6, since_s=9.9, times=6)], 10.0)
    held = lane(7, since_s=10.1, times=7)

    assert dog.look([held], 1000.0) is None  # the process was stopped meanwhile
    found = [dog.look([held], 1000.0 + 0.5 * look) for look in range(1, 7)]

    assert found == [None] * 5 + [held]


def test_each_frame_begins_anew() -> None:
    dog = watchdog()

    found = [dog.look([lane(number, since_s=2.9 * number, times=9)], 2.9 * number + 2.8)
             for number in range(1, 9)]  # fmt: skip

    assert found == [None] * 8


@pytest.mark.parametrize(("times", "limit_s"), [(0, 1.0), (5, 3.0)])
def test_the_limit_can_be_asked_for(times: int, limit_s: float) -> None:
    assert watchdog().limit_s(lane(1, times=times)) == pytest.approx(limit_s)
