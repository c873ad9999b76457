"""What a run is doing is told from two looks at its counters."""

from collections.abc import Sequence

import msgspec
import pytest

from evener.artifacts.plan import Lane
from evener.run.glance import Glance, busy, look, rate_hz
from evener.run.record import LaneProgress, Record

LANE = Lane(processor="cpu0", cores=(0,), parts=(), time_s=1.0)


def at(frames: int, *recent_s: float, frame: int | None = None, since_s: float = 0) -> LaneProgress:
    return LaneProgress(
        stage=0, lane=LANE, frame_id=frame, since_s=since_s, frames=frames, recent_s=recent_s
    )


class Running:
    """A run that admitted four frames and answered three."""

    def __init__(self) -> None:
        self.record = Record(clock=lambda: 50.0)
        self.record.granted.extend([0, 1, 2, 3])
        self.record.emitted.extend([1, 4, 7])
        self.record.dropped = 2

    def progress(self) -> Sequence[LaneProgress]:
        return (at(3, 1, 2, 3),)


def test_a_look_tells_what_was_answered_and_what_is_under_way() -> None:
    seen = look(Running())

    assert (seen.emitted, seen.in_flight, seen.dropped) == (3, 1, 2)
    assert (seen.latency_s, seen.at_s) == (3, 50)  # of 1, 3 and 5
    assert seen.lanes[0].frames == 3


def test_before_the_first_answer_there_is_no_latency() -> None:
    run = Running()
    run.record = Record(clock=lambda: 1.0)

    assert look(run).latency_s is None


def test_the_rate_is_what_was_answered_between_two_looks() -> None:
    one = Glance(at_s=10, emitted=100, in_flight=0, dropped=0, latency_s=None, lanes=())

    assert rate_hz(one, msgspec.structs.replace(one, at_s=12, emitted=150)) == 25


@pytest.mark.parametrize(
    ("before", "now", "share"),
    [
        (at(5), at(5), 0),  # waited all the time
        (at(5), at(7, 9, 1, 2), 0.3),  # two frames, of 1 and 2 seconds
        (None, at(1, 4), 0.4),  # the lane is new
        (at(5, frame=5, since_s=3), at(5, frame=5, since_s=3), 1),  # one frame all along
        (at(5), at(5, frame=5, since_s=14), 0.6),  # began one in between
        (at(5, frame=5, since_s=6), at(6, 8, frame=6, since_s=15), 0.9),  # 4 before, 4 + 5 within
        (at(0), at(1000, 0.001, 0.002), 0.15),  # more frames than times are kept
    ],
)
def test_a_lane_is_busy_for_the_share_that_it_worked(
    before: LaneProgress | None, now: LaneProgress, share: float
) -> None:
    assert busy(before, now, since_s=10, at_s=20) == pytest.approx(share)
