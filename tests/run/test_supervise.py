"""Runs that outlive their plan: every frame is answered once and in order, whatever fails."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from math import inf

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.artifacts.tensor import Tensor
from evener.artifacts.trace import Trace
from evener.errors import ChannelClosedError, InputError, StageFailedError
from evener.run import process
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
from evener.testing.scripted_runtime import SHAPE, ScriptedRuntime, vector

PATIENCE_S = 20.0
BY_HAND = Limits(look_s=None, hang_floor_s=5.0, window=4, cooldown_s=10.0, parole_s=60.0)
NAMES = ["x", "h1", "y"]
Script = Callable[[str, str, float], None]
"""Called with the processor, the model and the first number of a lane's input."""


def lane(processor: str, first: int, last: int, time_s: float, cores: tuple[int, ...]) -> Lane:
    parts = tuple(
        Part(first_block=block, last_block=block, runtime="scripted")
        for block in range(first, last + 1)
    )
    return Lane(processor=processor, cores=cores, parts=parts, time_s=time_s)


def stage(first: int, last: int, *lanes: Lane) -> Stage:
    inputs, outputs = (NAMES[first],), (NAMES[last + 1],)
    return Stage(first_block=first, last_block=last, inputs=inputs, outputs=outputs, lanes=lanes)


def two_stages(*, credits: int | None = None) -> Plan:
    """Two blocks, a second each, one on `big` and one on `little`."""
    first, second = lane("big", 0, 0, 1.0, ()), lane("little", 1, 1, 1.0, ())
    return of_stages(stage(0, 0, first), stage(1, 1, second), credits=credits)


def alone(processor: str, time_s: float = 2.0, cores: tuple[int, ...] = ()) -> Plan:
    plan = of_stages(stage(0, 1, lane(processor, 0, 1, time_s, cores)))
    return msgspec.structs.replace(plan, rate_hz=1 / time_s)


def replan(slowdowns: Slowdowns) -> Plan | None:
    """Run all on the processor that is not lost and least slow."""
    factors = {name: slowdowns.get((name, None), 1.0) for name in ("big", "little")}
    best = min(factors, key=lambda name: factors[name])
    return None if factors[best] == inf else alone(best, 2.0 * factors[best])


class Machine:
    """Opens scripted pipelines, whose lanes know the processor they are on; keeps a clock."""

    def __init__(
        self,
        script: Script = lambda *_: None,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.now_s = 0.0
        self.clock = clock or (lambda: self.now_s)
        self.opened: list[str] = []
        self.sessions = ScriptedRuntime(lambda model, value: script(processor(), model, value))

    def open_pipeline(self, plan: Plan) -> Pipeline:
        self.opened.append(plan.outline)
        return Pipeline(
            plan,
            lambda first, last: f"{NAMES[first]}>{NAMES[last + 1]}".encode(),
            inputs=[vector("x")],
            runtimes={"scripted": self.sessions},
            clock=self.clock,
        )

    def supervised(
        self,
        plan: Plan | None = None,
        *,
        replan: Callable[[Slowdowns], Plan | None] = replan,
        limits: Limits = BY_HAND,
        may_hold: Callable[[Plan], bool] | None = None,
    ) -> SupervisedPipeline:
        return SupervisedPipeline(
            plan or two_stages(),
            self.open_pipeline,
            replan,
            limits=limits,
            may_hold=may_hold,
            clock=self.clock,
        )


def processor() -> str:
    """Name the processor of the lane whose thread this is."""
    return threading.current_thread().name.rsplit(" ", 1)[-1]


def numbered(count: int) -> list[Frame]:
    return [(np.full(SHAPE, value, np.float32),) for value in range(count)]


def answered(
    pipeline: SupervisedPipeline, frames: list[Frame] | Iterator[Frame]
) -> tuple[Trace, list[tuple[int, float]]]:
    seen: list[tuple[int, float]] = []
    trace = pipeline.run(frames, lambda number, answer: seen.append((number, answer[0][0])))
    return trace, seen


def all_of(count: int) -> list[tuple[int, float]]:
    """Return what plans of any shape answer: two blocks add one each."""
    return [(number, number + 2.0) for number in range(count)]


def frame_of(model: str, value: float) -> int:
    """Return which frame of `numbered` a block reads: each block before it has added one."""
    reads, _ = model.split(">")
    return round(value) - NAMES.index(reads)


class Once:
    """A script that raises at the given processor and frame, once each."""

    def __init__(self, *faults: tuple[str, int]) -> None:
        self.faults = set(faults)
        self.happened: list[tuple[str, int]] = []

    def __call__(self, processor: str, model: str, value: float) -> None:
        fault = processor, frame_of(model, value)
        if fault in self.faults:
            self.faults.discard(fault)
            self.happened.append(fault)
            raise OSError("device gone")


def holding(
    machine: Machine, pipeline: SupervisedPipeline, frames: list[Frame]
) -> tuple[Trace, list[tuple[int, float]]]:
    """Run frames, and after each answer let a minute go by and hold ready what is needed."""
    seen: list[tuple[int, float]] = []

    def emit(number: int, answer: tuple[Array, ...]) -> None:
        seen.append((number, answer[0][0]))
        machine.now_s += 60.0
        pipeline.hold_ready()

    return pipeline.run(frames, emit), seen


def test_what_a_failure_needs_is_open_before_it_happens() -> None:
    machine = Machine(Once(("little", 7)))
    with machine.supervised(two_stages(credits=1), may_hold=lambda _: True) as pipeline:
        opened_at: list[str] = []

        def emit(number: int, _: tuple[Array, ...]) -> None:
            if number == 6:
                machine.now_s = 60.0
                pipeline.hold_ready()
                opened_at.extend(machine.opened)

        trace = pipeline.run(numbered(20), emit)

    home, on_little, on_big = (
        "2 stages: big[] > little[]",
        "one session: little[]",
        "one session: big[]",
    )
    assert opened_at == [home, on_little, on_big]
    assert machine.opened == opened_at
    (switch,) = trace.switches
    assert (switch.after, switch.ready, switch.frame) == (on_big, True, 7)
    assert all(session.closed for session in machine.sessions.sessions)


def test_the_likeliest_loss_is_prepared_for_before_the_next_is_planned_for() -> None:
    machine, order = Machine(), []

    def noted(slowdowns: Slowdowns) -> Plan | None:
        order.append("plan")
        return replan(slowdowns)

    def may_hold(plan: Plan) -> bool:
        order.append(plan.outline)
        return True

    with machine.supervised(replan=noted, may_hold=may_hold) as pipeline:
        holding(machine, pipeline, numbered(3))

    assert order == ["plan", "one session: little[]", "plan", "one session: big[]"]


def test_nothing_is_held_ready_without_room_nor_before_a_plan_has_run_for_a_while() -> None:
    for may_hold, after_s in ((False, 60.0), (True, 0.5)):
        machine = Machine(Once(("little", 7)))

        def emit(_: int, __: tuple[Array, ...], machine: Machine = machine) -> None:
            machine.now_s = after_s  # noqa: B023 - it is called in this round
            pipeline.hold_ready()

        limits = msgspec.structs.replace(BY_HAND, standby_after_s=1.0)
        with machine.supervised(
            limits=limits,
            may_hold=lambda _: may_hold,  # noqa: B023 - as above
        ) as pipeline:
            trace = pipeline.run(numbered(20), emit)

        assert [one.ready for one in trace.switches] == [False]


def test_where_nothing_would_be_left_the_first_plan_is_held_ready() -> None:
    machine = Machine(Once(("little", 3), ("big", 9)))
    with machine.supervised(two_stages(credits=1), may_hold=lambda _: True) as pipeline:
        seen: list[int] = []

        def emit(number: int, _: tuple[Array, ...]) -> None:
            seen.append(number)
            machine.now_s += 5.0
            pipeline.hold_ready()

        trace = pipeline.run(numbered(20), emit)

    assert seen == list(range(20))
    assert [(one.after, one.ready) for one in trace.switches] == [
        ("one session: big[]", True),
        ("2 stages: big[] > little[]", True),
    ]


def test_what_is_held_ready_outlives_a_run_and_is_asked_for_once() -> None:
    machine = Machine()
    with machine.supervised(may_hold=lambda _: True) as pipeline:
        for _ in range(2):
            _, seen = holding(machine, pipeline, numbered(10))
            assert seen == all_of(10)
        assert pipeline.held_ready == (alone("little"), alone("big"))

    assert len(machine.opened) == 3
    assert all(session.closed for session in machine.sessions.sessions)


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(st.integers(0, 29), st.sampled_from(["big", "little"]), max_size=6),
    st.integers(1, 5),
)
def test_every_frame_is_answered_once_and_in_order_with_standby_too(
    faults: dict[int, str], credits: int
) -> None:
    script = Once(*((processor, frame) for frame, processor in faults.items()))
    machine = Machine(script)
    home = two_stages(credits=credits)
    with machine.supervised(home, may_hold=lambda _: True) as pipeline:
        _, seen = holding(machine, pipeline, numbered(30))

    assert seen == all_of(30)
    assert all(session.closed for session in machine.sessions.sessions)


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


def answered_with_looks(
    pipeline: SupervisedPipeline, frames: list[Frame]
) -> tuple[Trace, list[tuple[int, float]]]:
    """Run frames, and look for drift after each answer."""
    seen: list[tuple[int, float]] = []

    def emit(number: int, answer: tuple[Array, ...]) -> None:
        seen.append((number, answer[0][0]))
        pipeline.look_for_drift()

    return pipeline.run(frames, emit), seen


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


def refuse(machine: Machine, plan: Plan) -> Callable[[Plan], Pipeline]:
    """Let the machine's runtime refuse the segments of a plan, as a driver that is gone does."""

    def open_pipeline(asked: Plan) -> Pipeline:
        opened = machine.open_pipeline(asked)
        if asked == plan:
            opened._segments = lambda *_: b"refuse"
        return opened

    return open_pipeline


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


class Hang:
    """A script that waits at one processor and frame until it is let go."""

    def __init__(self, processor: str, frame: int) -> None:
        self.at = processor, frame
        self.hangs, self.go_on, self.ended = (threading.Event() for _ in range(3))

    def __call__(self, processor: str, model: str, value: float) -> None:
        if (processor, frame_of(model, value)) == self.at:
            self.at = "", -1
            self.hangs.set()
            assert self.go_on.wait(PATIENCE_S)
            self.ended.set()


def test_a_lane_that_hangs_is_left_behind_and_nothing_that_it_does_later_counts() -> None:
    hang = Hang("little", 7)
    machine = Machine(hang)
    with machine.supervised() as pipeline, ThreadPoolExecutor(1) as pool:
        running = pool.submit(answered, pipeline, numbered(30))
        assert hang.hangs.wait(PATIENCE_S)
        pipeline.look_for_hangs()
        machine.now_s = 4.9
        pipeline.look_for_hangs()
        assert not running.done()

        machine.now_s = 5.1
        pipeline.look_for_hangs()
        trace, seen = running.result(PATIENCE_S)
        hang.go_on.set()
        assert hang.ended.wait(PATIENCE_S)

    assert seen == all_of(30)
    (switch,) = trace.switches
    assert switch.cause == "hung"
    assert switch.reason == (
        "stage 1 on little hangs: it has held frame 7 for 5.1 s, and 5 s are allowed"
    )
    assert switch.after == "one session: big[]"


def test_a_frame_that_hangs_on_every_plan_is_named() -> None:
    first, second = Hang("big", 3), Hang("little", 3)

    def both(processor: str, model: str, value: float) -> None:
        first(processor, model, value)
        second(processor, model, value)

    machine = Machine(both)
    with machine.supervised(two_stages(credits=1)) as pipeline, ThreadPoolExecutor(1) as pool:
        running = pool.submit(answered, pipeline, numbered(30))
        for hang in (first, second):
            assert hang.hangs.wait(PATIENCE_S)
            machine.now_s += 30.0
            pipeline.look_for_hangs()

        with pytest.raises(StageFailedError, match="frame 3 fails on every plan.*little hangs"):
            running.result(PATIENCE_S)
        first.go_on.set()
        second.go_on.set()


def slow(machine: Machine, factors: dict[str, float]) -> Script:
    """Make a script by which a block takes a second of the machine's clock, or a factor of it."""

    def work(processor: str, _: str, __: float) -> None:
        machine.now_s += factors.get(processor, 1.0)

    return work


def drifting(factors: dict[str, float]) -> Machine:
    """Return a machine whose clock its blocks move; one frame at a time, or they would mix."""
    machine = Machine()
    machine.sessions = ScriptedRuntime(lambda *what: slow(machine, factors)(processor(), *what))
    return machine


def test_a_plan_that_became_slow_hands_over_to_a_better_one_between_two_frames() -> None:
    machine = drifting({"little": 5.0})
    with machine.supervised(two_stages(credits=1)) as pipeline:
        trace, seen = answered_with_looks(pipeline, numbered(30))

    assert seen == all_of(30)
    (switch,) = trace.switches
    assert (switch.cause, switch.frame, switch.replayed) == ("drifted", 4, 0)
    assert switch.reason == "stage 1 on little needs 5 s a frame where 1 s were planned"
    assert (switch.before, switch.after) == ("2 stages: big[] > little[]", "one session: big[]")
    assert switch.at_s == 4 * 6.0
    assert switch.pause_s == 2.0  # that of the next frame: the new plan was open already
    assert trace.replayed == 0
    assert trace.latency_p50_s == 2.0
    assert [session.closed for session in machine.sessions.sessions] == [True] * 4


def test_a_plan_that_is_slow_is_kept_while_no_other_is_better() -> None:
    machine = drifting({"little": 1.5})  # alone on `big` a frame takes 2 s
    with machine.supervised(two_stages(credits=1)) as pipeline:
        trace, _ = answered_with_looks(pipeline, numbered(100))

    assert trace.switches == ()
    assert machine.opened == ["2 stages: big[] > little[]"]


def test_a_load_that_goes_gives_the_first_plan_back_after_its_term() -> None:
    factors = {"little": 5.0}
    machine = drifting(factors)
    with machine.supervised(two_stages(credits=1)) as pipeline:
        first, _ = answered_with_looks(pipeline, numbered(10))
        factors.clear()
        second, seen = answered_with_looks(pipeline, numbered(100))

    assert [one.cause for one in (*first.switches, *second.switches)] == ["drifted", "recovered"]
    assert second.switches[0].after == "2 stages: big[] > little[]"
    assert seen == all_of(100)


def test_a_better_plan_that_cannot_be_opened_is_not_asked_for_again() -> None:
    machine = drifting({"little": 5.0})
    with SupervisedPipeline(
        two_stages(credits=1),
        refuse(machine, alone("big")),
        replan,
        limits=BY_HAND,
        clock=machine.clock,
    ) as pipeline:
        trace, seen = answered_with_looks(pipeline, numbered(40))

    assert (trace.switches, seen) == ((), all_of(40))
    assert machine.opened.count("one session: big[]") == 1


def test_a_plan_opened_beside_one_that_fails_meanwhile_is_closed() -> None:
    """The hand-over is decided, then the old plan fails before it has drained."""
    machine, fault = drifting({"little": 5.0}), Once()
    work = machine.sessions.script
    taken = [threading.Event() for _ in range(30)]

    def script(model: str, value: float) -> None:
        work(model, value)
        fault(processor(), model, value)

    def source() -> Iterator[Frame]:
        for number, frame in enumerate(numbered(30)):
            taken[number].set()
            yield frame

    def emit(number: int, _: tuple[Array, ...]) -> None:
        seen.append(number)
        if decided:
            return
        pipeline.look_for_drift()
        if len(machine.opened) == 2:
            decided.append(number)
            assert taken[number + 1].wait(PATIENCE_S)  # it is on its way to `little`
            fault.faults.add(("little", number + 1))

    machine.sessions.script = script
    seen, decided = list[int](), list[int]()
    quick = alone("big", 0.01)
    with machine.supervised(two_stages(credits=3), replan=lambda _: quick) as pipeline:
        trace = pipeline.run(source(), emit)

    assert seen == list(range(30))
    assert [(one.cause, one.frame) for one in trace.switches] == [("failed", decided[0] + 1)]
    assert len(machine.opened) == 3
    assert all(session.closed for session in machine.sessions.sessions)


def test_what_a_look_raises_ends_the_run() -> None:
    reached = threading.Event()

    def broken(_: Slowdowns) -> Plan | None:
        reached.set()
        raise RuntimeError("the planner broke down")

    machine = drifting({"little": 5.0})
    quick = msgspec.structs.replace(BY_HAND, look_s=0.001)
    with machine.supervised(two_stages(credits=1), replan=broken, limits=quick) as pipeline:

        def emit(number: int, _: tuple[Array, ...]) -> None:
            if number == 20:  # the window is full: wait for the look
                assert reached.wait(PATIENCE_S)

        with pytest.raises(RuntimeError, match="the planner broke down"):
            pipeline.run(cycle(numbered(1)), emit)


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


def test_threads_of_its_own_find_a_lane_that_hangs() -> None:
    hang = Hang("little", 7)
    machine = Machine(hang, clock=time.perf_counter)
    limits = Limits(look_s=0.01, hang_floor_s=1.0)
    with machine.supervised(limits=limits) as pipeline:
        trace, seen = answered(pipeline, numbered(30))
        hang.go_on.set()

    assert seen == all_of(30)
    assert "hung" in [one.cause for one in trace.switches]


@pytest.mark.parametrize(
    ("number", "at"), [(signal.SIGKILL, 9), (signal.SIGSTOP, 9), (signal.SIGSTOP, 39)]
)
def test_a_process_that_is_killed_or_stopped_is_replaced_and_answers_stay_equal_to_the_bit(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals, at: int
) -> None:
    monkeypatch.setattr(process, "PATIENCE_S", 0.3)
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
