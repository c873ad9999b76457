"""Frames submitted to pipelines that hang or are supervised: who waits is told or answered."""

import os
import signal
import threading
from collections.abc import Callable, Iterator

import msgspec
import pytest

from evener.artifacts.plan import Plan
from evener.errors import StageFailedError, UnavailableError
from evener.run.executor import PipelineExecutor
from evener.run.monitor import Limits
from evener.run.pipeline import Pipeline
from evener.run.supervise import SupervisedPipeline
from evener.testing import plans
from evener.testing.scripted_pipelines import DEVICE, TWO, frame, pipelines
from evener.testing.scripted_runtime import SignalAt, do_nothing

PATIENCE_S = 20.0
Script = Callable[[str, float], None]


def ask(served: PipelineExecutor, value: float) -> float:
    (answer,) = served.submit(frame(value)).result(PATIENCE_S)
    return float(answer[0])


@pytest.fixture(autouse=True)
def every_thread_ends() -> Iterator[None]:
    yield
    for thread in threading.enumerate():
        if thread.name.startswith(("stage ", "executor")):
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), thread.name


class Hang:
    """A script that waits at one frame, of one model, until it is let go."""

    def __init__(self, model: str, value: float) -> None:
        self.at = model, value
        self.hangs, self.go_on = threading.Event(), threading.Event()

    def __call__(self, model: str, value: float) -> None:
        if (model, value) == self.at:
            self.at = "", -1.0
            self.hangs.set()
            assert self.go_on.wait(PATIENCE_S)


BY_HAND = Limits(look_s=None, hang_floor_s=5.0)


def test_where_a_thread_hangs_everyone_who_waits_is_told_and_it_is_broken() -> None:
    hang, now_s = Hang("h1>y", 1.0), [0.0]
    with PipelineExecutor(
        pipelines(hang, clock=lambda: now_s[0]),
        limit=8,
        period_s=1.0,
        limits=BY_HAND,
        clock=lambda: now_s[0],
    ) as served:
        futures = [served.submit(frame(value)) for value in range(6)]
        assert hang.hangs.wait(PATIENCE_S)
        served.look_for_hangs()
        now_s[0] = 4.9
        served.look_for_hangs()
        assert not any(future.done() for future in futures)

        now_s[0] = 10.1  # ten times what was planned, and more than 5 s
        served.look_for_hangs()

        for future in futures:
            with pytest.raises(
                UnavailableError,
                match=r"stage 1 on p1a hangs: it has held frame 0 for 10.1 s, and 10 s are allowed"
                "; ask again later",
            ):
                future.result(PATIENCE_S)
        assert served.state == "broken"
        with pytest.raises(UnavailableError, match="nothing can be answered any more: stage 1 on"):
            served.submit(frame(9))
        hang.go_on.set()


def test_where_a_process_hangs_another_is_opened_and_the_next_frame_answered() -> None:
    stop = SignalAt("h1>y", 4, signal.SIGSTOP)  # frame 3, plus one
    limits = Limits(look_s=0.02, hang_factor=1.0, hang_floor_s=1.5)
    quick = of_time(TWO, 0.1)
    with PipelineExecutor(
        pipelines(stop, quick, "processes"), limit=8, period_s=1.0, limits=limits
    ) as served:
        assert [ask(served, value) for value in range(3)] == [2, 3, 4]
        with pytest.raises(UnavailableError, match="stage 1 on p1a hangs: .* ask again later"):
            ask(served, 3)
        states = set[str]()
        while (state := served.state) != "ready":
            states.add(state)
        assert states <= {"recovering"}
        assert ask(served, 9) == 11


def supervised(
    script: Script, *, limits: Limits, transport: str = "threads"
) -> Callable[[], SupervisedPipeline]:
    """Return what opens a pipeline of two stages that goes on with one on the other's device."""

    def open_pipeline(plan: Plan) -> Pipeline:
        return pipelines(script, plan, transport)()

    alone = plans.chain((2, [DEVICE]), runtime="scripted", credits=3, split_lanes=True)
    return lambda: SupervisedPipeline(
        of_time(TWO, 0.1), open_pipeline, lambda _: of_time(alone, 0.1), limits=limits
    )


def test_with_supervision_a_stage_that_hangs_is_replaced_and_what_waits_is_answered() -> None:
    hang = Hang("h1>y", 3.0)
    limits = Limits(look_s=0.02, hang_factor=1.0, hang_floor_s=0.3)
    with PipelineExecutor(supervised(hang, limits=limits), limit=8, period_s=1.0) as served:
        futures = [served.submit(frame(value)) for value in range(6)]

        answers = [float(future.result(PATIENCE_S)[0][0]) for future in futures]
        assert answers == [2, 3, 4, 5, 6, 7]
        assert served.state == "ready"
        hang.go_on.set()


def test_with_supervision_a_process_that_dies_while_nobody_asks_is_replaced() -> None:
    limits = Limits(look_s=0.02)
    opens = supervised(do_nothing, limits=limits, transport="processes")
    with PipelineExecutor(opens, limit=8, period_s=1.0) as served:
        assert ask(served, 0) == 2
        process = served.load.lanes[-1].process
        assert process is not None
        os.kill(process, signal.SIGKILL)

        assert [ask(served, value) for value in range(4)] == [2, 3, 4, 5]


def test_with_supervision_a_frame_fails_alone_and_a_device_that_always_fails_is_left() -> None:
    broken = threading.Event()

    def script(model: str, value: float) -> None:
        bad_frame = model == "x>h1" and value == 7
        on_its_own = threading.current_thread().name.endswith("p1a")
        if bad_frame or (broken.is_set() and on_its_own):
            raise OSError("device gone" if broken.is_set() else "not a number")

    opens = supervised(script, limits=Limits(look_s=None))
    with PipelineExecutor(opens, limit=8, period_s=1.0) as served:
        with pytest.raises(StageFailedError, match="failed at frame 0: not a number"):
            ask(served, 7)
        assert ask(served, 1) == 3
        broken.set()

        for _ in range(2):  # these may be at fault themselves
            with pytest.raises(StageFailedError, match="stage 1 on p1a failed.*device gone"):
                ask(served, 1)
        assert [ask(served, value) for value in range(3)] == [2, 3, 4]


def of_time(plan: Plan, time_s: float) -> Plan:
    """Let every lane of a plan take a time, as planned."""
    return msgspec.structs.replace(
        plan,
        stages=tuple(
            msgspec.structs.replace(
                stage,
                lanes=tuple(msgspec.structs.replace(lane, time_s=time_s) for lane in stage.lanes),
            )
            for stage in plan.stages
        ),
    )
