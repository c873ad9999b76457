"""What fails in a pipeline is told and ends what it must, and ending one waits for nothing."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from evener.comm.channel import Slot
from evener.comm.threads import ThreadChannel
from evener.errors import (
    ChannelClosedError,
    DeadlineError,
    StageFailedError,
)
from evener.run import pipeline as module
from evener.run.entry import Frame
from evener.run.pipeline import Pipeline
from evener.runtime.session import Array
from evener.testing.scripted_pipelines import (
    DEVICE,
    TWO_BY_TWO,
    chain,
    emitted,
    frame,
    numbered,
    scripted,
    texts,
)
from evener.testing.scripted_runtime import ScriptedRuntime, vector

pytestmark = pytest.mark.usefixtures("every_thread_ends")
PATIENCE_S = 20.0


def test_a_failing_frame_names_stage_processor_and_frame_and_later_ones_are_dropped() -> None:
    def script(model: str, value: float) -> None:
        if model == "h1>y" and value == 8:  # frame 7, plus one
            raise ValueError("no such luck")

    seen = []
    with scripted(chain(*TWO_BY_TWO), script) as pipeline:
        with pytest.raises(
            StageFailedError, match=r"stage 1 on p1[ab] failed at frame 7: no such"
        ) as caught:
            pipeline.run(numbered(50), lambda number, _: seen.append(number))

        assert (caught.value.stage, caught.value.frame_id) == (1, 7)
        assert caught.value.processor in {"p1a", "p1b"}
        assert isinstance(caught.value.__cause__, ValueError)
        assert seen == list(range(7))
        assert pipeline.in_flight == {}
        assert emitted(pipeline, numbered(3)) == [(0, 2), (1, 3), (2, 4)]


def test_a_failure_in_the_first_stage_travels_past_the_others() -> None:
    def script(model: str, value: float) -> None:
        if model == "x>h1" and value in {3, 4}:
            raise ValueError

    with scripted(chain(*TWO_BY_TWO), script) as pipeline:
        with pytest.raises(StageFailedError) as caught:
            emitted(pipeline, numbered(10))
        assert caught.value.frame_id == 3
        assert emitted(pipeline, numbered(2)) == [(0, 2), (1, 3)]


def test_whoever_takes_the_news_of_a_failed_frame_gets_every_other_answer() -> None:
    def script(model: str, value: float) -> None:
        if model == "h1>y" and value in {4, 5, 20}:  # frames 3, 4 and 19, plus one
            raise ValueError("no such luck")

    seen: list[tuple[int, str]] = []
    with scripted(chain(*TWO_BY_TWO), script) as pipeline:
        trace = pipeline.run(
            iter(numbered(20)),
            lambda number, _: seen.append((number, "answered")),
            failed=lambda number, error: seen.append((number, str(error).partition(": ")[2])),
        )

    lost = {3, 4, 19}
    assert seen == [(n, "no such luck" if n in lost else "answered") for n in range(20)]
    assert trace.frames == 20


def test_what_the_taker_of_failures_raises_ends_the_run() -> None:
    def script(_: str, value: float) -> None:
        if value == 2:
            raise ValueError("no such luck")

    def failed(_: int, error: BaseException) -> None:
        raise OSError("nobody listens") from error

    with scripted(chain((1, [DEVICE])), script) as pipeline:
        with pytest.raises(OSError, match="nobody listens"):
            pipeline.run(numbered(4), lambda *_: None, failed=failed)
        assert pipeline.in_flight == {}


def test_what_a_lane_was_busy_adds_up_over_runs() -> None:
    ticks = iter(float(tick) for tick in range(1000))
    runtime = ScriptedRuntime()
    plan = chain((1, [DEVICE]))
    with Pipeline(
        plan,
        texts(1),
        inputs=[vector("x")],
        runtimes={"scripted": runtime},
        clock=lambda: next(ticks),  # a second passes whenever someone looks
    ) as pipeline:
        pipeline.run(numbered(3), lambda *_: None)
        (first,) = pipeline.progress()
        pipeline.run(numbered(2), lambda *_: None)
        (second,) = pipeline.progress()

    assert first.busy_s == sum(first.recent_s)
    assert second.busy_s == first.busy_s + sum(second.recent_s)
    assert second.busy_s >= 5


def test_what_emit_raises_comes_back_and_the_pipeline_stays_usable() -> None:
    def emit(number: int, _: tuple[Array, ...]) -> None:
        if number == 4:
            raise OSError("disk full")

    with scripted(chain(*TWO_BY_TWO)) as pipeline:
        with pytest.raises(OSError, match="disk full"):
            pipeline.run(numbered(20), emit)
        assert emitted(pipeline, numbered(1)) == [(0, 2)]


def test_what_the_source_raises_comes_back_after_the_frames_before_it() -> None:
    def source() -> Iterator[Frame]:
        yield from numbered(5)
        raise OSError("camera gone")

    seen: list[int] = []
    with scripted(chain(*TWO_BY_TWO)) as pipeline:
        with pytest.raises(OSError, match="camera gone"):
            pipeline.run(source(), lambda number, _: seen.append(number))
        assert seen == [0, 1, 2, 3, 4]
        assert emitted(pipeline, numbered(1)) == [(0, 2)]


def test_closing_ends_a_run_in_another_thread() -> None:
    reached, go_on = threading.Event(), threading.Event()

    def script(_: str, value: float) -> None:
        if value == 5:
            reached.set()
            assert go_on.wait(PATIENCE_S)

    with ThreadPoolExecutor(2) as callers, scripted(chain(*TWO_BY_TWO), script) as pipeline:
        running = callers.submit(emitted, pipeline, numbered(1000))
        assert reached.wait(PATIENCE_S)
        closing = callers.submit(pipeline.close)
        with pytest.raises(ChannelClosedError, match="frames were in flight"):
            running.result(PATIENCE_S)
        go_on.set()
        closing.result(PATIENCE_S)


def test_a_lane_that_hangs_shows_its_frame_and_can_be_abandoned() -> None:
    hangs, go_on = threading.Event(), threading.Event()

    def script(model: str, value: float) -> None:
        if model == "h1>y" and value == 4:  # frame 3, plus one
            hangs.set()
            go_on.wait(PATIENCE_S)

    seen: list[int] = []
    pipeline = scripted(chain((1, [DEVICE]), (1, [DEVICE])), script)
    with pipeline, ThreadPoolExecutor(1) as pool:
        running = pool.submit(pipeline.run, numbered(9), lambda number, _: seen.append(number))
        assert hangs.wait(PATIENCE_S)

        _, second = pipeline.progress()
        pipeline.abandon(DeadlineError("it hangs"))

        with pytest.raises(ChannelClosedError, match="it hangs"):
            running.result(PATIENCE_S)
        assert (second.frame_id, second.lane.processor, second.frames) == (3, "p1a", 3)
        go_on.set()
    for thread in threading.enumerate():  # nobody else waits for an abandoned one
        if thread.name == "stage 1 on p1a":
            thread.join(PATIENCE_S)
    assert [one.frame_id for one in pipeline.progress()] == [None, None]
    assert seen == [0, 1, 2]


def test_an_interrupt_in_the_caller_closes_everything() -> None:
    def emit(number: int, _: tuple[Array, ...]) -> None:
        if number == 3:
            os.kill(os.getpid(), signal.SIGINT)

    def endless() -> Iterator[Frame]:
        while True:
            yield frame(0)

    runtime = ScriptedRuntime()
    with (
        pytest.raises(KeyboardInterrupt),
        Pipeline(
            chain(*TWO_BY_TWO), texts(2), inputs=[vector("x")], runtimes={"scripted": runtime}
        ) as pipeline,
    ):
        pipeline.run(endless(), emit)

    assert [session.closed for session in runtime.sessions] == [True] * 4


def test_a_lane_that_does_not_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSE_PATIENCE_S", 0.0)
    hanging, go_on = threading.Event(), threading.Event()

    def script(_: str, __: float) -> None:
        hanging.set()
        assert go_on.wait(PATIENCE_S)

    with ThreadPoolExecutor(1) as caller:
        pipeline = scripted(chain((1, [DEVICE])), script).__enter__()
        running = caller.submit(emitted, pipeline, numbered(1))
        assert hanging.wait(PATIENCE_S)
        with pytest.raises(StageFailedError, match="stage 0 on p0a did not end within 0 s"):
            pipeline.close()
        go_on.set()
        assert isinstance(running.exception(PATIENCE_S), ChannelClosedError)


def test_a_lane_that_breaks_down_ends_the_run_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> Slot:
        raise MemoryError("no room for a slot")

    with scripted(chain(*TWO_BY_TWO)) as pipeline:
        monkeypatch.setattr(ThreadChannel, "acquire", broken)
        with pytest.raises(StageFailedError, match="stage 0 on p0. broke down: no room") as caught:
            emitted(pipeline, numbered(3))

    assert isinstance(caught.value.__cause__, MemoryError)
    assert caught.value.processor in ("p0a", "p0b")


def test_an_abandoned_pipeline_does_not_wait_for_the_lane_that_hangs() -> None:
    hanging, go_on = threading.Event(), threading.Event()

    def script(text: str, value: float) -> None:
        if (text, value) == ("h1>y", 3):
            hanging.set()
            assert go_on.wait(PATIENCE_S)

    seen: list[int] = []
    plan = chain((1, [DEVICE]), (1, [DEVICE]), credits=3)
    with ThreadPoolExecutor(1) as caller, scripted(plan, script) as pipeline:
        running = caller.submit(pipeline.run, numbered(9), lambda number, _: seen.append(number))
        assert hanging.wait(PATIENCE_S)
        pipeline.abandon(StageFailedError("no frame takes so long", stage=1, frame_id=2))
        with pytest.raises(StageFailedError, match="no frame takes so long"):
            running.result(PATIENCE_S)
        pipeline.close()
        assert pipeline.progress()[1].frame_id == 2
        go_on.set()

    assert seen == [0, 1]
    assert 2 in pipeline.in_flight
    assert set(pipeline.in_flight) <= {2, 3, 4}


def test_an_answer_whose_emission_began_is_not_in_flight_when_the_run_failed() -> None:
    emitting, go_on = threading.Event(), threading.Event()
    seen = []

    def emit(number: int, _: tuple[Array, ...]) -> None:
        emitting.set()
        assert go_on.wait(PATIENCE_S)
        seen.append(number)

    plan = chain((1, [DEVICE, DEVICE]), credits=2)
    with ThreadPoolExecutor(1) as caller, scripted(plan) as pipeline:
        running = caller.submit(pipeline.run, numbered(9), emit)
        assert emitting.wait(PATIENCE_S)
        pipeline.abandon(StageFailedError("enough", stage=0))
        assert not running.done()
        go_on.set()
        with pytest.raises(StageFailedError, match="enough"):
            running.result(PATIENCE_S)

    assert seen == [0]
    assert sorted(pipeline.in_flight) in ([], [1])
