"""Runs that outlive their plan: every frame is answered once and in order, whatever fails."""

import os
import signal
from collections.abc import Iterator
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.plan import Plan
from evener.artifacts.tensor import Tensor
from evener.errors import ChannelClosedError, InputError, StageFailedError
from evener.run import correspondence
from evener.run.condition import Slowdowns
from evener.run.entry import Frame
from evener.run.monitor import Limits
from evener.run.pipeline import Pipeline
from evener.run.supervise import SupervisedPipeline
from evener.runtime import pinning
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.session import Array
from evener.testing import plans, tiny
from evener.testing.plans import of_stages
from evener.testing.scripted_pipelines import numbered
from evener.testing.scripted_supervision import (
    BY_HAND,
    Machine,
    Once,
    all_of,
    alone,
    answered,
    answered_with_looks,
    lane,
    refuse,
    replan,
    stage,
    two_stages,
)

PATIENCE_S = 20.0


def test_as_long_as_all_goes_well_a_run_is_that_of_the_plan() -> None:
    with Machine().supervised() as pipeline:
        trace, seen = answered(pipeline, numbered(50))

    assert seen == all_of(50)
    assert (trace.frames, trace.switches, trace.replayed) == (50, (), 0)
    assert [one.processor for one in trace.stages] == ["big", "little"]


def test_frames_that_a_failed_stage_left_are_answered_by_a_plan_without_its_processor() -> None:
    machine = Machine(Once(("little", 7)))
    with machine.supervised() as pipeline:
        trace, seen = answered(pipeline, iter(numbered(50)))

        assert pipeline.plan == alone("big")
    assert seen == all_of(50)
    (switch,) = trace.switches
    assert (switch.cause, switch.frame, switch.before, switch.after) == (
        "failed",
        7,
        "2 stages: big[] > little[]",
        "one session: big[]",
    )
    assert switch.reason == "stage 1 on little failed at frame 7: device gone"
    assert 1 <= switch.replayed == trace.replayed <= two_stages().credits
    assert (trace.frames, trace.dropped) == (50, 0)
    assert [(one.processor, one.frames) for one in trace.stages] == [("big", 43)]


def test_a_second_run_goes_on_without_what_the_first_lost_until_its_term_is_over() -> None:
    machine = Machine(Once(("little", 7)))
    with machine.supervised() as pipeline:
        answered(pipeline, numbered(20))
        trace, seen = answered(pipeline, numbered(5))
        assert (trace.switches, pipeline.plan, seen) == ((), alone("big"), all_of(5))

        machine.now_s = 60.0
        back, seen = answered_with_looks(pipeline, numbered(20))

    assert seen == all_of(20)
    assert [(one.cause, one.after) for one in back.switches] == [
        ("recovered", "2 stages: big[] > little[]")
    ]
    assert back.switches[0].reason == "little may be as profiled again"


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.integers(0, 29), st.sampled_from(["big", "little"]), max_size=8),
    st.integers(1, 5),
)
def test_every_frame_is_answered_once_and_in_order_whatever_fails(
    faults: dict[int, str], credits: int
) -> None:
    script = Once(*((processor, frame) for frame, processor in faults.items()))
    with Machine(script).supervised(two_stages(credits=credits)) as pipeline:
        trace, seen = answered(pipeline, iter(numbered(30)))

    assert seen == all_of(30)
    assert len(trace.switches) <= len(script.happened)
    assert sum(switch.replayed for switch in trace.switches) == trace.replayed


def test_a_frame_that_fails_on_every_plan_is_named_and_costs_no_processor() -> None:
    def poison(_: str, model: str, value: float) -> None:
        if model == "h1>y" and value == 10:  # frame 9, plus one
            raise ValueError("not a number")

    machine, seen = Machine(poison), list[int]()
    with machine.supervised() as pipeline:
        with pytest.raises(
            StageFailedError,
            match=r"frame 9 fails on every plan.*stage 0 on big failed at frame 9: not a number; "
            r"look at its values. The 9 frames before it were answered",
        ) as caught:
            pipeline.run(numbered(50), lambda number, _: seen.append(number))
        trace, again = answered(pipeline, numbered(9))

    assert caught.value.frame_id == 9
    assert seen == list(range(9))
    assert again == all_of(9)
    assert [one.processor for one in trace.stages] == ["big", "little"]


def test_where_nothing_is_left_to_run_on_the_error_tells_each_loss() -> None:
    machine = Machine(Once(("little", 0)))
    with (
        SupervisedPipeline(
            two_stages(), refuse(machine, alone("big")), replan, limits=BY_HAND
        ) as pipeline,
        pytest.raises(
            StageFailedError,
            match=r"nothing is left to run frame 0 on: stage 1 on little failed at frame 0: device "
            r"gone; stage 0 on big cannot open blocks 0 to 0 with scripted: scripted refuses. Mend "
            r"what failed, and run again from frame 0 on",
        ) as caught,
    ):
        answered(pipeline, numbered(10))
    assert (caught.value.processor, caught.value.frame_id) == ("little", 0)


def test_what_failed_is_taken_back_where_nothing_else_is_left_and_answers_came_meanwhile() -> None:
    machine = Machine(Once(("little", 3), ("big", 6)))
    with machine.supervised() as pipeline:
        trace, seen = answered(pipeline, numbered(10))

    assert seen == all_of(10)
    assert [one.after for one in trace.switches] == [
        "one session: big[]",
        "2 stages: big[] > little[]",
    ]


def test_a_plan_that_cannot_be_opened_is_passed_over() -> None:
    machine = Machine(Once(("third", 2)))

    def without_third(slowdowns: Slowdowns) -> Plan | None:
        return alone("big") if ("little", None) in slowdowns else alone("little")

    home, refused = alone("third"), refuse(machine, alone("little"))
    with SupervisedPipeline(home, refused, without_third, limits=BY_HAND) as pipeline:
        trace, seen = answered(pipeline, numbered(5))

    assert seen == all_of(5)
    assert [one.after for one in trace.switches] == ["one session: big[]"]


def test_a_core_is_lost_not_the_cluster_that_it_belongs_to() -> None:
    cores = sorted(pinning.PROCESS_CORES)
    asked: list[Slowdowns] = []

    def two_cores(slowdowns: Slowdowns) -> Plan | None:
        asked.append(slowdowns)
        return alone("cpu0", cores=(cores[0],))

    home = of_stages(
        stage(0, 0, lane("cpu0", 0, 0, 1.0, (cores[0],))),
        stage(1, 1, lane("cpu0", 1, 1, 1.0, (cores[-1],))),
    )

    def fail_in_the_second(_: str, model: str, value: float) -> None:
        if (model, value, len(asked)) == ("h1>y", 4, 0):
            raise OSError("device gone")

    with Machine(fail_in_the_second).supervised(home, replan=two_cores) as pipeline:
        _, seen = answered(pipeline, numbered(9))

    assert seen == all_of(9)
    assert asked == [{("cpu0", cores[-1]): inf}]


def test_a_failed_planner_ends_the_run_with_its_own_error() -> None:
    def broken(_: Slowdowns) -> Plan | None:
        raise RuntimeError("the planner broke down")

    with (
        Machine(Once(("little", 2))).supervised(replan=broken) as pipeline,
        pytest.raises(RuntimeError, match="the planner broke down"),
    ):
        answered(pipeline, numbered(10))


def test_what_source_and_emit_raise_comes_back_and_costs_no_processor() -> None:
    def source() -> Iterator[Frame]:
        yield from numbered(5)
        raise OSError("camera gone")

    def emit(number: int, _: tuple[Array, ...]) -> None:
        if number == 3:
            raise StageFailedError("of another pipeline", stage=0, processor="big")

    with Machine().supervised() as pipeline:
        with pytest.raises(OSError, match="camera gone"):
            answered(pipeline, source())
        with pytest.raises(StageFailedError, match="of another pipeline"):
            pipeline.run(numbered(9), emit)
        trace, seen = answered(pipeline, numbered(5))

    assert seen == all_of(5)
    assert [one.processor for one in trace.stages] == ["big", "little"]


def test_frames_are_checked_as_a_pipeline_does() -> None:
    with Machine().supervised() as pipeline:
        with pytest.raises(InputError, match="there is no frame to run; give at least one"):
            answered(pipeline, [])
        with pytest.raises(InputError, match="frame 2 must be a tuple of 1 arrays"):
            answered(pipeline, [*numbered(2), ()])
        with pytest.raises(InputError, match="frame 2 must be a tuple of 1 arrays"):
            answered(pipeline, iter([*numbered(2), ()]))


def test_it_must_be_open_and_runs_one_run_at_a_time() -> None:
    pipeline = Machine().supervised()
    with pytest.raises(InputError, match="not open; use it as a context manager"):
        answered(pipeline, numbered(1))
    refused: list[InputError] = []

    def emit(_: int, __: tuple[Array, ...]) -> None:
        with pytest.raises(InputError, match="runs already") as caught:
            answered(pipeline, numbered(1))
        refused.append(caught.value)

    with pipeline:
        pipeline.run(numbered(1), emit)
    assert len(refused) == 1
    with pytest.raises(ChannelClosedError, match="the pipeline is closed"):
        answered(pipeline, numbered(1))


def test_what_fails_when_it_is_opened_is_the_callers_to_see() -> None:
    machine = Machine()
    home = two_stages()

    with pytest.raises(StageFailedError, match="stage 0 on big cannot open blocks 0 to 0"):
        SupervisedPipeline(home, refuse(machine, home), replan, limits=BY_HAND).__enter__()


def test_one_that_is_closed_while_it_changes_its_plan_opens_nothing_that_stays() -> None:
    machine = Machine(Once(("little", 2)))

    def closing(slowdowns: Slowdowns) -> Plan | None:
        pipeline.close()
        return replan(slowdowns)

    pipeline = machine.supervised(replan=closing)
    with pytest.raises(ChannelClosedError, match="closed while another plan was opened"), pipeline:
        answered(pipeline, numbered(10))

    assert all(session.closed for session in machine.sessions.sessions)


@pytest.mark.parametrize(
    ("number", "at"), [(signal.SIGKILL, 9), (signal.SIGSTOP, 9), (signal.SIGSTOP, 39)]
)
def test_a_process_that_is_killed_or_stopped_is_replaced_and_answers_stay_equal_to_the_bit(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals, at: int
) -> None:
    monkeypatch.setattr(correspondence, "PATIENCE_S", 0.3)
    cores = sorted(pinning.PROCESS_CORES)
    names = ["x", "h1", "h2", "h3", "y"]
    home = plans.chain((1, [(cores[0],)]), (3, [(cores[-1],)]), credits=3)
    rest = plans.chain((4, [(cores[0],)]))
    frames = tiny.frames(40)

    def open_pipeline(plan: Plan) -> Pipeline:
        return Pipeline(
            plan,
            lambda first, last: tiny.dense_between(names, first=first, last=last),
            inputs=[Tensor(name="x", shape=(2, tiny.WIDTH), dtype="float32")],
            runtimes={"onnxruntime": OnnxRuntime()},
            optimisation="extended",
            transport="processes",
        )

    def emit(frame_id: int, answer: tuple[Array, ...]) -> None:
        assert frame_id == len(answers)
        answers.append(answer[0].copy())
        if frame_id == at:
            last = pipeline.progress()[-1].process
            assert last is not None
            os.kill(last, number)
            if number is signal.SIGSTOP:
                os.waitid(os.P_PID, last, os.WSTOPPED | os.WNOWAIT)

    answers: list[Array] = []
    limits = Limits(look_s=0.05, hang_floor_s=2.0)
    with SupervisedPipeline(home, open_pipeline, lambda _: rest, limits=limits) as pipeline:
        trace = pipeline.run(frames, emit)
        runs_now = [one.lane.cores for one in pipeline.progress()]

    with pinning.pinned((cores[0],)):
        whole = OnnxRuntime().open(tiny.dense(layers=4), cores=(cores[0],), optimisation="extended")
        expected = np.empty((2, tiny.WIDTH), np.float32)
        for given_frame, answer in zip(frames, answers, strict=True):
            whole.run(given_frame, [expected])
            np.testing.assert_array_equal(answer, expected)
    assert runs_now == [(cores[0],)]
    if at < len(frames) - 1:  # what changes after the last answer held up none
        cause = "failed" if number is signal.SIGKILL else "hung"
        assert cause in [one.cause for one in trace.switches]  # a busy machine may look hung
