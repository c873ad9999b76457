"""Runs whose lanes hang or become slow: a better plan takes over, and no answer is lost."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import msgspec
import pytest

from evener.artifacts.plan import Plan
from evener.errors import StageFailedError
from evener.run.condition import Slowdowns
from evener.run.entry import Frame
from evener.run.monitor import Limits
from evener.run.supervise import SupervisedPipeline
from evener.runtime.session import Array
from evener.testing.scripted_pipelines import numbered
from evener.testing.scripted_runtime import ScriptedRuntime
from evener.testing.scripted_supervision import (
    BY_HAND,
    Machine,
    Once,
    Script,
    all_of,
    alone,
    answered,
    answered_with_looks,
    frame_of,
    processor,
    refuse,
    replan,
    two_stages,
)

PATIENCE_S = 20.0


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


def test_threads_of_its_own_find_a_lane_that_hangs() -> None:
    hang = Hang("little", 7)
    machine = Machine(hang, clock=time.perf_counter)
    limits = Limits(look_s=0.01, hang_floor_s=1.0)
    with machine.supervised(limits=limits) as pipeline:
        trace, seen = answered(pipeline, numbered(30))
        hang.go_on.set()

    assert seen == all_of(30)
    assert "hung" in [one.cause for one in trace.switches]
