"""Frames through stages: order, credits, what is refused, and the trace."""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.plan import Lane, Part, Stage
from evener.artifacts.tensor import Tensor
from evener.errors import (
    ChannelClosedError,
    InputError,
)
from evener.run.entry import Frame
from evener.run.pipeline import Pipeline
from evener.runtime import pinning
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.session import Array, Optimisation
from evener.testing import plans, tiny
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
from evener.testing.scripted_runtime import SHAPE, ScriptedRuntime, vector

pytestmark = pytest.mark.usefixtures("every_thread_ends")
PATIENCE_S = 20.0


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


def test_a_pipeline_that_waits_uses_no_cpu_while_another_runs(
    lane_threads: Callable[[], list[threading.Thread]],
) -> None:
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
