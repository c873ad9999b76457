"""What a run came to."""

import msgspec
import pytest

from evener.artifacts.trace import Switch
from evener.run.record import LaneRecord, Record, trace_of, trace_of_legs


def recorded(granted: list[float], emitted: list[float], waited: list[float]) -> Record:
    record = Record(clock=lambda: 0.0)
    record.granted.extend(granted)
    record.emitted.extend(emitted)
    record.waited.extend(waited)
    return record


def test_latency_leaves_out_the_wait_for_a_credit() -> None:
    trace = trace_of(recorded([0, 1, 2], [3, 4, 5], [0, 7, 9]), [], credits=1)

    assert (trace.latency_p50_s, trace.wait_p50_s) == (3, 7)


def test_the_rate_leaves_out_how_the_pipeline_fills() -> None:
    trace = trace_of(recorded([0] * 5, [100, 101, 102, 103, 104], [0] * 5), [], credits=1)

    assert trace.rate_hz == 1
    assert trace.elapsed_s == 104


def test_copies_that_emit_together_have_the_rate_of_all_of_them() -> None:
    pairs = recorded([0, 0, 4, 4, 8, 8], [4, 4, 8, 8, 12, 12], [0] * 6)

    assert trace_of(pairs, [], credits=2).rate_hz == 2 / 4


def test_lanes_of_unequal_speed_have_the_rates_of_all_of_them() -> None:
    emitted = [1, 3, 3, 3, 4, 6, 6, 6, 7, 9, 9, 9]  # one every second, and one every three
    uneven = recorded([0] * 12, [float(at) for at in emitted], [0] * 12)

    assert trace_of(uneven, [], credits=4).rate_hz == pytest.approx(1 + 1 / 3)


def test_no_more_frames_than_credits_count_over_the_whole_time() -> None:
    assert trace_of(recorded([0, 0], [4, 4], [0, 0]), [], credits=2).rate_hz == 2 / 4


def test_a_single_frame_has_the_rate_of_its_latency() -> None:
    assert trace_of(recorded([1], [5], [0]), [], credits=1).rate_hz == 0.25


def test_the_99th_percentile_is_that_of_all_frames() -> None:
    trace = trace_of(recorded([0] * 101, [float(n) for n in range(101)], [0] * 101), [], credits=1)

    assert trace.latency_p99_s == pytest.approx(99)


def test_a_lane_says_how_long_it_took_and_how_busy_it_was() -> None:
    lane = LaneRecord(stage=1, processor="p", cores=(3,), times_s=[1, 2, 6], planned_s=1.5)
    trace = trace_of(recorded([0], [10], [0]), [lane], credits=1)

    (stage,) = trace.stages
    assert (stage.stage, stage.processor, stage.cores, stage.planned_s) == (1, "p", (3,), 1.5)
    assert (stage.frames, stage.median_s, stage.busy) == (3, 2, 0.9)


def test_a_lane_that_no_frame_came_to_was_not_busy() -> None:
    lane = LaneRecord(stage=0, processor="p", cores=(), times_s=[], planned_s=1.0)
    (stage,) = trace_of(recorded([0], [10], [0]), [lane], credits=1).stages

    assert (stage.frames, stage.median_s, stage.busy) == (0, 0, 0)


def switch(frame: int) -> Switch:
    return Switch(
        frame=frame,
        at_s=0.0,
        cause="failed",
        reason="stage 0 on p failed at frame 2: gone",
        before="one session: p[]",
        after="one session: q[]",
        replayed=1,
        pause_s=0.0,
    )


def test_a_run_in_legs_has_its_rate_over_the_pauses_too_and_the_lanes_of_its_last_plan() -> None:
    whole = recorded([0, 0, 1, 2], [1, 2, 9, 10], [0] * 4)
    lane = LaneRecord(stage=0, processor="q", cores=(), times_s=[1, 1], planned_s=1.0)
    last = trace_of(recorded([1, 2], [9, 10], [5, 7]), [lane], credits=1)

    trace = trace_of_legs(whole, last, switches=[switch(2)], replayed=1, credits=1)

    assert (trace.frames, trace.elapsed_s, trace.rate_hz) == (4, 10, 3 / 9)
    assert trace.latency_p99_s == pytest.approx(8, rel=0.01)
    assert (trace.wait_p50_s, trace.stages, trace.replayed) == (6, last.stages, 1)
    assert [(one.frame, one.pause_s) for one in trace.switches] == [(2, 7)]


@pytest.mark.parametrize(("at_s", "noticing_s"), [(1.5, 0.0), (5.0, 3.0), (30.0, 7.0)])
def test_of_a_pause_noticing_took_what_went_by_before_it_was_decided(
    at_s: float, noticing_s: float
) -> None:
    whole = recorded([0, 0, 1, 2], [1, 2, 9, 10], [0] * 4)  # the pause is from 2 to 9
    decided = msgspec.structs.replace(switch(2), at_s=at_s)

    trace = trace_of_legs(whole, None, switches=[decided], replayed=1, credits=1)

    assert trace.switches[0].noticing_s == noticing_s


def test_the_pause_before_the_first_answer_counts_from_its_admission() -> None:
    whole = recorded([2, 3], [10, 11], [0, 0])

    trace = trace_of_legs(whole, None, switches=[switch(0)], replayed=1, credits=1)

    assert trace.switches[0].pause_s == 8


def test_a_switch_after_the_last_answer_changed_nothing_and_is_left_out() -> None:
    whole = recorded([0, 1], [1, 2], [0, 0])

    trace = trace_of_legs(whole, None, switches=[switch(2)], replayed=0, credits=1)

    assert (trace.switches, trace.stages, trace.wait_p50_s) == ((), (), 0)
