"""Which lane hangs."""

from collections.abc import Sequence
from math import inf
from typing import Any

import pytest

from evener.artifacts.plan import Lane
from evener.run.record import LaneProgress
from evener.run.watchdog import Watchdog

LANE = Lane(processor="npu", cores=(), parts=(), time_s=0.1)


def lane(
    frame_id: int | None = None, since_s: float = 0.0, times: int = 0, stage: int = 0
) -> LaneProgress:
    return LaneProgress(
        stage=stage,
        lane=LANE,
        frame_id=frame_id,
        since_s=since_s,
        frames=times,
        recent_s=[0.3] * times,
    )


class Looks:
    """A watchdog whose looks find a frame in flight, unless they say otherwise."""

    def __init__(self, *, floor_s: float = 0.0, longest_look_s: float = inf) -> None:
        self._dog = Watchdog(factor=10, floor_s=floor_s, longest_look_s=longest_look_s)

    def __call__(
        self,
        lanes: Sequence[LaneProgress],
        now_s: float,
        *,
        taken: int = 8,
        emitted: int = 7,
        emitting: bool = False,
    ) -> LaneProgress | None:
        hang = self._dog.look(lanes, now_s, taken=taken, emitted=emitted, emitting=emitting)
        return None if hang is None else hang.lane


def test_a_lane_may_hold_a_frame_for_a_multiple_of_its_99th_percentile() -> None:
    slow = lane(7, since_s=10.0, times=7)

    assert Looks()([lane(), slow], 12.9) is None
    assert Looks()([lane(), slow], 13.1) is slow


def test_before_its_first_time_the_planned_one_counts() -> None:
    first = lane(0, since_s=10.0)

    assert Looks()([first], 10.9) is None
    assert Looks()([first], 11.1) is first


def test_a_quick_lane_may_take_the_floor() -> None:
    assert Looks(floor_s=5.0)([lane(7, since_s=10.0, times=7)], 14.9) is None


def test_time_in_which_nobody_looked_does_not_count() -> None:
    look = Looks(longest_look_s=0.5)
    look([lane(6, since_s=9.9, times=6)], 10.0)
    held = lane(7, since_s=10.1, times=7)

    assert look([held], 1000.0) is None  # the process was stopped meanwhile
    found = [look([held], 1000.0 + 0.5 * number) for number in range(1, 7)]

    assert found == [None] * 5 + [held]


def test_each_frame_begins_anew() -> None:
    look = Looks()

    found = [
        look([lane(number, since_s=2.9 * number, times=9)], 2.9 * number + 2.8)
        for number in range(1, 9)
    ]

    assert found == [None] * 8


def test_where_nothing_moves_a_lane_of_the_last_stage_that_frames_wait_for_hangs() -> None:
    look = Looks()
    lanes = [lane(times=9), lane(times=4, stage=1), lane(times=3, stage=1), lane(times=7, stage=2)]

    assert [look(lanes, now_s, taken=9, emitted=7) for now_s in (10.0, 13.0)] == [None, None]
    assert look(lanes, 13.1, taken=9, emitted=7) is lanes[2]


@pytest.mark.parametrize(
    "now",
    [
        {"taken": 7},  # nothing is in flight: the source is slow
        {"emitting": True},  # the caller is slow
        {"lanes": [lane(8, since_s=99.0, times=9)]},  # a lane works
        {"lanes": [lane(times=10)]},  # a lane has worked
        {"taken": 9},  # a frame was taken
        {"taken": 9, "emitted": 8},  # one was emitted
    ],
)
def test_whatever_moves_begins_the_wait_anew(now: dict[str, Any]) -> None:
    look, stands = Looks(), [lane(times=7)]
    look(stands, 98.0)

    look(now.pop("lanes", stands), 100.0, **now)

    assert look(stands, 102.0) is None
    assert look(stands, 103.0) is None
    assert look(stands, 105.1) is stands[0]


def test_answers_that_only_wait_for_an_earlier_one_are_no_lanes_fault() -> None:
    look, done = Looks(), [lane(times=8)]

    assert [look(done, now_s) for now_s in (10.0, 20.0, 30.0)] == [None] * 3


def test_the_reasons_tell_the_figures() -> None:
    dog = Watchdog(factor=10, floor_s=0.5, longest_look_s=inf)
    stands = [lane(times=7)]
    for now_s in (1.0, 5.5):
        hang = dog.look(stands, now_s, taken=8, emitted=7, emitting=False)

    assert hang is not None
    assert hang.reason == (
        "stage 0 on npu hangs: it takes none of the frames that wait for it, nothing has moved for "
        "4.5 s, and 3 s are allowed"
    )
