"""Sources that do not wait: what is let through, what is left out, and when it came."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.errors import ChannelClosedError, InputError
from evener.run.entry import Arrival, Frame
from evener.run.live import LiveSource, Policy, Waiting, paced
from evener.run.pipeline import Pipeline
from evener.testing import plans
from evener.testing.scripted_runtime import SHAPE, ScriptedRuntime, vector

PATIENCE_S = 20.0
DROPPING: list[Policy] = ["drop_oldest", "drop_newest", "latest_only"]


def arrival(number: int) -> Arrival:
    return Arrival(frame_id=number, frame=(), at_s=float(number))


def left_by_definition(policy: Policy, room: int, arrived: list[int]) -> list[int]:
    """Say which frames wait after some arrived and none was taken."""
    if policy == "latest_only":
        return arrived[-1:]
    return arrived[-room:] if policy == "drop_oldest" else arrived[:room]


@given(
    policy=st.sampled_from(DROPPING),
    room=st.integers(1, 4),
    bursts=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 5)), max_size=6),
)
def test_frames_that_wait_are_those_of_the_policys_definition(
    policy: Policy, room: int, bursts: list[tuple[int, int]]
) -> None:
    waiting, number, expected = Waiting(policy, room), 0, list[int]()
    for come, taken in bursts:
        lost = []
        for _ in range(come):
            dropped = waiting.put(arrival(number))
            lost += [] if dropped is None else [dropped]
            number += 1
        there = [*expected, *range(number - come, number)]
        expected = left_by_definition(policy, room, there)
        assert sorted([*lost, *expected]) == there
        assert len(waiting) == len(expected)
        for _ in range(min(taken, len(waiting))):
            assert waiting.pop().frame_id == expected.pop(0)


def frame(value: float) -> Frame:
    return (np.full(SHAPE, value, np.float32),)


class Camera:
    """A source that gives its first frame, then the others while that one is computed."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.computing = threading.Event()
        self.gave_all = threading.Event()
        self.ticks = 0.0

    def frames(self) -> Iterator[Frame]:
        yield frame(0)
        assert self.computing.wait(PATIENCE_S)
        for value in range(1, self.count):
            self.ticks = float(value)
            yield frame(value)
        self.gave_all.set()

    def script(self, _: str, value: float) -> None:
        if value == 0:
            self.computing.set()
            assert self.gave_all.wait(PATIENCE_S)

    def clock(self) -> float:
        return self.ticks


def pipeline_of(
    script: Callable[[str, float], None],
    *,
    credits: int,
    clock: Callable[[], float] | None = None,
) -> Pipeline:
    plan = plans.chain((1, [()]), runtime="scripted", credits=credits)
    runtimes = {"scripted": ScriptedRuntime(script)}
    inputs = [vector("x")]
    if clock is None:
        return Pipeline(plan, lambda *_: b"x>y", inputs=inputs, runtimes=runtimes)
    return Pipeline(plan, lambda *_: b"x>y", inputs=inputs, runtimes=runtimes, clock=clock)


@pytest.mark.parametrize(
    ("policy", "answered"),
    [
        ("drop_oldest", [0, 7, 8, 9]),
        ("drop_newest", [0, 1, 2, 3]),
        ("latest_only", [0, 9]),
        ("block", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_answers_keep_the_numbers_of_their_frames_and_what_was_dropped_is_counted(
    policy: Policy, answered: list[int]
) -> None:
    camera = Camera(10)
    if policy == "block":  # nobody asks this source for more while the first is computed
        camera.gave_all.set()
    seen: list[tuple[int, float]] = []
    with pipeline_of(camera.script, credits=3) as pipeline:
        # The one lane holds the first frame, so that as many wait as there are credits.
        trace = pipeline.run(
            camera.frames(),
            lambda number, answer: seen.append((number, float(answer[0][0]))),
            policy=policy,
        )

    assert seen == [(number, number + 1) for number in answered]
    assert (trace.frames, trace.dropped) == (len(answered), 10 - len(answered))


def test_latency_counts_from_arrival() -> None:
    camera = Camera(5)
    with pipeline_of(camera.script, credits=1, clock=camera.clock) as pipeline:
        trace = pipeline.run(camera.frames(), lambda *_: None, policy="drop_newest")

    # Frame 0 came at 0 and frame 1 at 1; both left when the last had come, at 4.
    assert (trace.frames, trace.dropped) == (2, 3)
    assert trace.latency_p50_s == pytest.approx((4 + 3) / 2)
    assert trace.wait_p50_s == pytest.approx((0 + 3) / 2)


@pytest.mark.parametrize("policy", DROPPING)
def test_an_open_pipeline_counts_anew_in_each_run(policy: Policy) -> None:
    with pipeline_of(lambda *_: None, credits=2) as pipeline:
        for _ in range(3):
            seen: list[int] = []
            trace = pipeline.run(
                [frame(value) for value in range(20)],
                lambda number, _, seen=seen: seen.append(number),  # type: ignore[misc] # mypy cannot infer a default
                policy=policy,
            )
            assert seen == sorted(set(seen))
            assert trace.frames + trace.dropped == 20


def test_what_the_source_raises_ends_the_run_after_the_frames_before_it() -> None:
    def source() -> Iterator[Frame]:
        yield frame(0)
        raise OSError("the camera fell")

    seen: list[int] = []
    with pipeline_of(lambda *_: None, credits=2) as pipeline:
        with pytest.raises(OSError, match="the camera fell"):
            pipeline.run(source(), lambda number, _: seen.append(number), policy="latest_only")
        with pytest.raises(InputError, match="frame 0 gives float64"):
            pipeline.run(iter([(np.zeros(SHAPE),)]), lambda *_: None, policy="latest_only")

    assert seen == [0]


def test_closing_ends_a_run_whose_source_gives_nothing() -> None:
    asked, go_on = threading.Event(), threading.Event()

    def source() -> Iterator[Frame]:
        asked.set()
        assert go_on.wait(PATIENCE_S)
        yield frame(0)

    with ThreadPoolExecutor(1) as caller, pipeline_of(lambda *_: None, credits=2) as pipeline:
        running = caller.submit(pipeline.run, source(), lambda *_: None, policy="drop_oldest")
        assert asked.wait(PATIENCE_S)
        pipeline.close()
        with pytest.raises(ChannelClosedError):
            running.result(PATIENCE_S)
        go_on.set()


def test_every_frame_that_comes_is_told_before_a_later_one_is_let_through() -> None:
    told: list[int] = []
    source = LiveSource(
        iter([frame(value) for value in range(100)]),
        Waiting("drop_oldest", 2),
        first=40,
        clock=lambda: 0.0,
        dropped=told.append,
    )
    through: list[int] = []
    for one in source:
        earlier = [number for number in told if number < one.frame_id]
        assert sorted([*through, *earlier]) == list(range(40, one.frame_id))
        through.append(one.frame_id)

    assert sorted([*through, *told]) == list(range(40, 140))


def test_a_pace_is_kept_from_the_start_and_not_from_the_last_frame() -> None:
    now_s, slept = 100.0, list[float]()

    def sleep(seconds: float) -> None:
        nonlocal now_s
        slept.append(round(seconds, 6))
        now_s += seconds

    given = paced([frame(0)] * 4, 10.0, clock=lambda: now_s, sleep=sleep)
    next(given)
    next(given)
    now_s += 0.25  # frame 2 is late by 0.15 s, frame 3 by 0.05 s
    next(given)
    next(given)

    assert slept == [0.1]


def test_a_rate_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no 0 frames a second"):
        next(paced([frame(0)], 0.0))
