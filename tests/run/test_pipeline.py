"""Frames through stages: order, credits, errors and an end."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.artifacts.tensor import Tensor
from evener.comm.channel import Slot
from evener.comm.threads import ThreadChannel
from evener.errors import (
    ChannelClosedError,
    DeadlineError,
    InputError,
    RuntimeFailedError,
    StageFailedError,
)
from evener.run import pipeline as module
from evener.run.entry import Frame
from evener.run.pipeline import Pipeline
from evener.runtime import pinning
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.session import Array, Optimisation, Session
from evener.testing import plans, tiny
from evener.testing.scripted_runtime import SHAPE, ScriptedRuntime, vector

PATIENCE_S = 20.0
DEVICE: tuple[int, ...] = ()
TWO_BY_TWO = ((1, [DEVICE, DEVICE]), (1, [DEVICE, DEVICE]))


def frame(value: float) -> Frame:
    return (np.full(SHAPE, value, np.float32),)


def numbered(count: int) -> list[Frame]:
    return [frame(value) for value in range(count)]


def texts(blocks: int) -> Callable[[int, int], bytes]:
    names = ["x", *(f"h{index}" for index in range(1, blocks)), "y"]
    return lambda first, last: f"{names[first]}>{names[last + 1]}".encode()


def scripted(plan: Plan, script: Callable[[str, float], None] = lambda *_: None) -> Pipeline:
    runtime = ScriptedRuntime(script)
    blocks = plan.stages[-1].last_block + 1
    return Pipeline(plan, texts(blocks), inputs=[vector("x")], runtimes={"scripted": runtime})


def chain(*stages: tuple[int, list[tuple[int, ...]]], credits: int | None = None) -> Plan:
    return plans.chain(*stages, runtime="scripted", credits=credits)


def emitted(pipeline: Pipeline, frames: list[Frame] | Iterator[Frame]) -> list[tuple[int, float]]:
    seen: list[tuple[int, float]] = []
    pipeline.run(frames, lambda number, answer: seen.append((number, float(answer[0][0]))))
    return seen


def lane_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("stage ")]


@pytest.fixture(autouse=True)
def every_thread_ends() -> Iterator[None]:
    yield
    for thread in lane_threads():
        thread.join(PATIENCE_S)
    assert lane_threads() == []


def test_a_thousand_frames_through_two_stages_of_two_lanes_come_in_order() -> None:
    with scripted(chain(*TWO_BY_TWO)) as pipeline:
        seen = emitted(pipeline, numbered(1000))

    assert seen == [(number, number + 2) for number in range(1000)]


@settings(max_examples=25, deadline=None)
@given(
    lanes=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    credits=st.integers(1, 7),
    frames=st.integers(1, 30),
)
def test_every_answer_comes_once_and_in_order_whatever_the_shape(
    lanes: list[int],
    credits: int,
    frames: int,
) -> None:
    plan = chain(*((1, [DEVICE] * count) for count in lanes), credits=credits)
    with scripted(plan) as pipeline:
        seen = emitted(pipeline, numbered(frames))

    assert seen == [(number, number + len(lanes)) for number in range(frames)]


def test_an_open_pipeline_runs_again_and_counts_from_zero() -> None:
    with scripted(chain(*TWO_BY_TWO)) as pipeline:
        assert [emitted(pipeline, numbered(3)) for _ in range(5)] == [[(0, 2), (1, 3), (2, 4)]] * 5


def test_an_open_pipeline_keeps_no_model_and_makes_each_once() -> None:
    made: list[bytes] = []

    def segments(first: int, last: int) -> bytes:
        made.append(texts(2)(first, last))
        return made[-1]

    runtimes = {"scripted": ScriptedRuntime()}
    with Pipeline(
        chain(*TWO_BY_TWO), segments, inputs=[vector("x")], runtimes=runtimes
    ) as open_one:
        emitted(open_one, numbered(3))
        kept = [sys.getrefcount(model) for model in made]

    assert kept == [sys.getrefcount(model) for model in made]
    assert made == [b"x>h1", b"h1>y"]


def test_nothing_is_emitted_once_it_was_closed() -> None:
    computing, closed = threading.Event(), threading.Event()
    seen: list[int] = []

    def script(_: str, __: float) -> None:
        computing.set()
        assert closed.wait(PATIENCE_S)

    pipeline = scripted(chain((1, [DEVICE])), script)
    with ThreadPoolExecutor(2) as callers:
        pipeline.__enter__()
        running = callers.submit(pipeline.run, numbered(3), lambda number, _: seen.append(number))
        assert computing.wait(PATIENCE_S)
        closing = callers.submit(pipeline.close)
        with pytest.raises(ChannelClosedError):
            running.result(PATIENCE_S)
        closed.set()
        closing.result(PATIENCE_S)

    assert seen == []


def test_no_more_frames_are_in_flight_than_there_are_credits() -> None:
    pulled, answered, most = 0, 0, 0

    def source() -> Iterator[Frame]:
        nonlocal pulled, most
        for value in range(200):
            pulled += 1
            most = max(most, pulled - answered)
            yield frame(value)

    def emit(number: int, _: tuple[Array, ...]) -> None:
        nonlocal answered
        assert len(pipeline.in_flight) <= 3
        assert number in pipeline.in_flight
        answered += 1

    with scripted(chain(*TWO_BY_TWO, credits=3)) as pipeline:
        pipeline.run(source(), emit)
        assert pipeline.in_flight == {}

    assert most == 3


def test_a_slow_lane_holds_up_no_fast_one_while_there_are_credits() -> None:
    slow, rest = threading.Event(), threading.Semaphore(0)

    def script(_: str, value: float) -> None:
        if value == 0:
            assert slow.wait(PATIENCE_S)
        else:
            rest.release()

    with (
        scripted(chain((1, [DEVICE, DEVICE]), credits=6), script) as pipeline,
        ThreadPoolExecutor(1) as caller,
    ):
        running = caller.submit(emitted, pipeline, numbered(20))
        for _ in range(5):
            assert rest.acquire(timeout=PATIENCE_S)
        assert not rest.acquire(blocking=False)
        assert sorted(pipeline.in_flight) == [0, 1, 2, 3, 4, 5]
        slow.set()
        seen = running.result(PATIENCE_S)

    assert seen == [(number, number + 1) for number in range(20)]


def test_a_slow_source_delays_no_answer() -> None:
    answered = threading.Event()

    def source() -> Iterator[Frame]:
        yield frame(0)
        assert answered.wait(PATIENCE_S)
        yield frame(1)

    seen = []

    def emit(number: int, _: tuple[Array, ...]) -> None:
        seen.append(number)
        answered.set()

    with scripted(chain(*TWO_BY_TWO)) as pipeline:
        pipeline.run(source(), emit)

    assert seen == [0, 1]


def test_several_parts_of_a_lane_run_one_after_the_other() -> None:
    plan = plans.chain((3, [DEVICE]), (2, [DEVICE]), runtime="scripted", split_lanes=True)
    with scripted(plan) as pipeline:
        assert emitted(pipeline, numbered(4)) == [(n, n + 5) for n in range(4)]


def stage_of(first: int, last: int, inputs: str, outputs: str) -> Stage:
    part = Part(first_block=first, last_block=last, runtime="scripted")
    lane = Lane(processor=f"p{first}", cores=(), parts=(part,), time_s=1.0)
    return Stage(
        first_block=first,
        last_block=last,
        inputs=tuple(inputs.split(",")),
        outputs=tuple(outputs.split(",")),
        lanes=(lane,),
    )


def test_cuts_of_several_tensors_and_tensors_that_pass_a_stage_arrive() -> None:
    models = {(0, 0): b"x,u>a,b", (1, 1): b"a>c", (2, 2): b"c,b,u>y"}
    plan = plans.of_stages(
        stage_of(0, 0, "x,u", "b,a,u"), stage_of(1, 1, "a,b,u", "c,b,u"), stage_of(2, 2, "c", "y,b")
    )
    runtime = ScriptedRuntime()
    frames = [(np.full(SHAPE, v, np.float32), np.full(SHAPE, 10 * v, np.float32)) for v in range(9)]
    answers = []
    with Pipeline(
        plan,
        lambda first, last: models[first, last],
        inputs=[vector("x"), vector("u")],
        runtimes={"scripted": runtime},
    ) as pipeline:
        assert [tensor.name for tensor in pipeline.outputs] == ["y", "b"]
        pipeline.run(
            frames, lambda _, answer: answers.append((float(answer[0][0]), float(answer[1][1])))
        )

    # a = b = x + u + 1; c = a + 1; y = c + b + u + 1
    assert answers == [
        (2 * (11 * v + 1) + 1 + 10 * v + 1, 11 * v + 1) for v in map(float, range(9))
    ]


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


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((np.zeros(3, np.float32),), r"frame 2 gives float32 \[3\] for 'x', which takes float32"),
        ((np.zeros(2),), r"frame 2 gives float64 \[2\] for 'x'"),
        ((), "frame 2 must be a tuple of 1 arrays.*: x"),
        (np.zeros((1, 2), np.float32), "frame 2 must be a tuple"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_before_anything_runs(
    bad: Frame, message: str
) -> None:
    seen: list[int] = []
    with scripted(chain(*TWO_BY_TWO)) as pipeline, pytest.raises(InputError, match=message):
        pipeline.run([*numbered(2), bad], lambda number, _: seen.append(number))

    assert seen == []


def test_a_frame_that_does_not_fit_in_a_stream_ends_it_after_those_before() -> None:
    seen: list[int] = []
    with scripted(chain(*TWO_BY_TWO)) as pipeline, pytest.raises(InputError, match="frame 2 gives"):
        pipeline.run(iter([*numbered(2), (np.zeros(3),)]), lambda number, _: seen.append(number))

    assert seen == [0, 1]


def test_frames_that_are_not_contiguous_are_read_right() -> None:
    strided = (np.arange(4, dtype=np.float32)[::2],)
    answers: list[list[float]] = []
    with scripted(chain((1, [DEVICE]))) as pipeline:
        pipeline.run([strided], lambda _, answer: answers.append(answer[0].tolist()))

    assert answers == [[1, 3]]


def test_no_frame_is_no_run() -> None:
    with (
        scripted(chain((1, [DEVICE]))) as pipeline,
        pytest.raises(InputError, match="no frame to run"),
    ):
        emitted(pipeline, [])


def test_one_run_at_a_time() -> None:
    with scripted(chain((1, [DEVICE]))) as pipeline:

        def emit(*_: object) -> None:
            pipeline.run(numbered(1), emit)

        with pytest.raises(InputError, match="runs already"):
            pipeline.run(numbered(1), emit)


def test_a_pipeline_that_was_not_opened_says_how() -> None:
    with pytest.raises(InputError, match="as a context manager"):
        emitted(scripted(chain((1, [DEVICE]))), numbered(1))


def test_a_closed_pipeline_runs_no_more_and_may_be_closed_again() -> None:
    with scripted(chain((1, [DEVICE]))) as pipeline:
        pipeline.close()
        pipeline.close()
        with pytest.raises(ChannelClosedError, match="is closed"):
            emitted(pipeline, numbered(1))


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


def test_an_unknown_transport_is_refused() -> None:
    with pytest.raises(InputError, match="no transport is called 'pigeon'; known ones: threads"):
        Pipeline(
            chain((1, [DEVICE])),
            texts(1),
            inputs=[vector("x")],
            runtimes={"scripted": ScriptedRuntime()},
            transport="pigeon",
        )


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize(
    ("end", "error", "why"),
    [
        (
            lambda pipeline: pipeline.abandon(StageFailedError("not needed any more", stage=-1)),
            StageFailedError,
            "not needed any more",
        ),
        (lambda pipeline: pipeline.close(), ChannelClosedError, "the pipeline is closed"),
    ],
    ids=["abandoned", "closed"],
)
def test_one_that_is_given_up_while_it_opens_opens_no_further_lane(
    monkeypatch: pytest.MonkeyPatch,
    end: Callable[[Pipeline], None],
    error: type[Exception],
    why: str,
    lanes: int,
) -> None:
    runtime = ScriptedRuntime()
    open_session = runtime.open

    def open_and_end(model: bytes, *, cores: tuple[int, ...], **_: object) -> Session:
        session = open_session(model, cores=cores)
        end(pipeline)
        return session

    monkeypatch.setattr(runtime, "open", open_and_end)
    pipeline = Pipeline(
        chain((1, [DEVICE] * lanes), (1, [DEVICE])),
        texts(2),
        inputs=[vector("x")],
        runtimes={"scripted": runtime},
    )

    with pytest.raises(error, match=why):
        pipeline.__enter__()
    for thread in lane_threads():
        thread.join(PATIENCE_S)

    assert [session.closed for session in runtime.sessions] == [True]


def test_one_that_is_closed_before_a_lane_gets_its_model_says_so_instead_of_waiting() -> None:
    def close(*_: int) -> bytes:
        pipeline.close()
        return b"x>y"

    def open_it() -> None:
        try:
            pipeline.__enter__()
        except ChannelClosedError as error:
            said.put(str(error))

    said: SimpleQueue[str] = SimpleQueue()
    pipeline = Pipeline(
        chain((1, [DEVICE])),
        close,
        inputs=[vector("x")],
        runtimes={"scripted": ScriptedRuntime()},
    )

    # A thread that can be left behind, so that this fails where it would wait for ever.
    threading.Thread(target=open_it, daemon=True).start()

    assert "the pipeline is closed" in said.get(timeout=PATIENCE_S)


def test_a_segment_that_a_runtime_refuses_is_named_and_nothing_stays_open() -> None:
    runtime = ScriptedRuntime()
    pipeline = Pipeline(
        chain(*TWO_BY_TWO),
        lambda first, _: b"x>h1" if first == 0 else b"refuse",
        inputs=[vector("x")],
        runtimes={"scripted": runtime},
    )
    with pytest.raises(
        StageFailedError, match="stage 1 on p1a cannot open blocks 1 to 1 with scripted: scripted"
    ) as caught:
        pipeline.__enter__()

    assert isinstance(caught.value.__cause__, RuntimeFailedError)
    assert [session.closed for session in runtime.sessions] == [True, True]


def test_a_core_that_is_not_the_processs_is_the_users_to_correct() -> None:
    with pytest.raises(InputError, match="core 9999 is not among"):
        scripted(chain((1, [(9999,)]))).__enter__()


def test_segments_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(InputError, match="stage 1 reads 'z', which no earlier"):
        Pipeline(
            chain(*TWO_BY_TWO),
            lambda first, _: b"x>h1" if first == 0 else b"z>y",
            inputs=[vector("x")],
            runtimes={"scripted": ScriptedRuntime()},
        ).__enter__()


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (chain((1, [DEVICE]), credits=0), "0 credits let no frame in"),
        (plans.of_stages(credits=1), "has no stage"),
        (plans.chain((1, [DEVICE])), "needs the runtime 'onnxruntime', there is scripted"),
        (plans.of_stages(stage_of(1, 1, "x", "y")), "runs blocks 1 to 1 where block 0 is next"),
        (chain((1, []), credits=1), "stage 0 has no lane"),
    ],
)
def test_a_plan_that_cannot_run_is_refused_with_its_reason(plan: Plan, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Pipeline(plan, texts(1), inputs=[vector("x")], runtimes={"scripted": ScriptedRuntime()})


def test_a_lane_that_leaves_out_blocks_is_refused() -> None:
    part = Part(first_block=0, last_block=0, runtime="scripted")
    lane = Lane(processor="p", cores=(), parts=(part,), time_s=1.0)
    stage = Stage(first_block=0, last_block=1, inputs=("x",), outputs=("y",), lanes=(lane,))
    with pytest.raises(InputError, match="ends before block 1, not after its last block 1"):
        Pipeline(
            plans.of_stages(stage),
            texts(2),
            inputs=[vector("x")],
            runtimes={"scripted": ScriptedRuntime()},
        )


def test_a_pipeline_that_waits_uses_no_cpu_while_another_runs() -> None:
    with scripted(chain(*TWO_BY_TWO)) as idle:
        emitted(idle, numbered(10))
        lanes = [thread.native_id for thread in lane_threads() if thread.native_id]
        before = [pinning.thread_cpu_s(lane) for lane in lanes]
        with scripted(chain(*TWO_BY_TWO)) as busy:
            emitted(busy, numbered(500))
        after = [pinning.thread_cpu_s(lane) for lane in lanes]

    assert len(lanes) == 4
    assert sum(after) - sum(before) < 0.001


def test_the_trace_accounts_for_every_frame_and_lane() -> None:
    with scripted(chain(*TWO_BY_TWO)) as pipeline:
        trace = pipeline.run(numbered(100), lambda *_: None)

    assert (trace.frames, trace.dropped) == (100, 0)
    assert [(lane.stage, lane.processor) for lane in trace.stages] == [
        (0, "p0a"),
        (0, "p0b"),
        (1, "p1a"),
        (1, "p1b"),
    ]
    for stage in (0, 1):
        assert sum(lane.frames for lane in trace.stages if lane.stage == stage) == 100
    assert all(0 <= lane.busy <= 1 for lane in trace.stages)
    assert 0 < trace.latency_p50_s <= trace.latency_p99_s <= trace.elapsed_s
    assert trace.rate_hz > 0


@pytest.mark.parametrize("split_lanes", [False, True])
@pytest.mark.parametrize("optimisation", ["extended", "all"])
def test_a_split_network_answers_as_the_whole_on_cores_that_the_kernel_confirms(
    split_lanes: bool,
    optimisation: Optimisation,
) -> None:
    cores = sorted(pinning.PROCESS_CORES)
    names = ["x", "h1", "h2", "h3", "y"]
    plan = plans.chain((1, [(cores[0],)]), (3, [(cores[-1],)]), credits=3, split_lanes=split_lanes)
    frames = tiny.frames(40)
    answers: list[Array] = []
    with Pipeline(
        plan,
        lambda first, last: tiny.dense_between(names, first=first, last=last),
        inputs=[Tensor(name="x", shape=(2, tiny.WIDTH), dtype="float32")],
        runtimes={"onnxruntime": OnnxRuntime()},
        optimisation=optimisation,
    ) as pipeline:
        trace = pipeline.run(frames, lambda _, answer: answers.append(answer[0].copy()))

    with pinning.pinned((cores[0],)):
        whole = OnnxRuntime().open(
            tiny.dense(layers=4), cores=(cores[0],), optimisation=optimisation
        )
        expected = np.empty((2, tiny.WIDTH), np.float32)
        for given_frame, answer in zip(frames, answers, strict=True):
            whole.run(given_frame, [expected])
            np.testing.assert_array_equal(answer, expected)
    assert [lane.cores for lane in trace.stages] == [(cores[0],), (cores[-1],)]
