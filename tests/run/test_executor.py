"""Frames submitted one by one: each gets its own answer, whatever happens to the others."""

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import inf

import numpy as np
import pytest

from evener.artifacts.plan import Plan
from evener.comm.channel import Slot
from evener.comm.threads import ThreadChannel
from evener.errors import InputError, StageFailedError, UnavailableError
from evener.run import executor as module
from evener.run.executor import PipelineExecutor
from evener.run.pipeline import Pipeline
from evener.testing import plans
from evener.testing.scripted_pipelines import DEVICE, TWO, frame, pipelines
from evener.testing.scripted_runtime import SignalAt, do_nothing

PATIENCE_S = 20.0
TWO_BY_TWO = plans.chain((1, [DEVICE, DEVICE]), (1, [DEVICE, DEVICE]), runtime="scripted")
Script = Callable[[str, float], None]


def executor(script: Script = do_nothing, *, plan: Plan = TWO, limit: int = 64) -> PipelineExecutor:
    return PipelineExecutor(pipelines(script, plan), limit=limit, period_s=0.25)


def ask(served: PipelineExecutor, value: float) -> float:
    (answer,) = served.submit(frame(value)).result(PATIENCE_S)
    return float(answer[0])


def held_at(place: str) -> tuple[threading.Event, Script]:
    """Return a script whose frames wait before one model, and what lets them go on."""
    go_on = threading.Event()

    def script(model: str, _: float) -> None:
        if model == place:
            go_on.wait(PATIENCE_S)

    return go_on, script


def break_down(monkeypatch: pytest.MonkeyPatch, times: float) -> list[int]:
    """Let a lane break down with its frame, so many times; the list grows by one each time."""
    acquire = ThreadChannel.acquire
    breakdowns: list[int] = []

    def broken(channel: ThreadChannel, deadline: float | None = None) -> Slot:
        if len(breakdowns) < times:
            breakdowns.append(1)
            raise MemoryError("no room")
        return acquire(channel, deadline)

    monkeypatch.setattr(ThreadChannel, "acquire", broken)
    return breakdowns


@pytest.fixture(autouse=True)
def every_thread_ends() -> Iterator[None]:
    yield
    for thread in threading.enumerate():
        if thread.name.startswith(("stage ", "executor")):
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), thread.name


def test_everyone_gets_the_answer_to_their_own_frame() -> None:
    with executor(plan=TWO_BY_TWO) as served, ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(lambda value: ask(served, value), range(400)))

    assert answers == [value + 2 for value in range(400)]


def test_an_answer_is_the_askers_own() -> None:
    with executor() as served:
        first = served.submit(frame(1)).result(PATIENCE_S)
        for value in range(10):
            ask(served, value)

    assert first[0].tolist() == [3, 3]


def test_an_answer_does_not_wait_for_the_next_frame() -> None:
    with executor() as served:
        assert [ask(served, value) for value in range(3)] == [2, 3, 4]


def test_frames_that_wait_are_in_the_stages_together_and_no_more_than_there_are_credits() -> None:
    go_on, script = held_at("h1>y")
    with executor(script) as served:
        futures = [served.submit(frame(value)) for value in range(5)]
        while served.load.in_flight < 3:
            go_on.wait(0.001)
        load = served.load
        go_on.set()
        assert [future.result(PATIENCE_S)[0][0] for future in futures] == [2, 3, 4, 5, 6]

    assert (load.in_flight, load.waiting) == (3, 2)
    assert [lane.lane.processor for lane in load.lanes] == ["p0a", "p1a"]


def test_a_failing_frame_fails_alone() -> None:
    def script(model: str, value: float) -> None:
        if model == "h1>y" and value == 4:
            raise ValueError("no such luck")

    with executor(script) as served:
        futures = [served.submit(frame(value)) for value in range(8)]
        with pytest.raises(
            StageFailedError, match="stage 1 on p1a failed at frame 3: no such luck"
        ):
            futures.pop(3).result(PATIENCE_S)
        answers = [future.result(PATIENCE_S)[0][0] for future in futures]
        assert served.state == "ready"

    assert answers == [2, 3, 4, 6, 7, 8, 9]


def test_too_many_that_wait_are_refused_with_the_time_that_those_before_them_take() -> None:
    held, script = held_at("h1>y")
    with executor(script, limit=2) as served:
        in_stages = [served.submit(frame(value)) for value in range(3)]
        waiting = [served.submit(frame(value)) for value in range(2)]

        with pytest.raises(UnavailableError, match="5 frames are being answered or wait") as caught:
            served.submit(frame(9))

        held.set()
        assert caught.value.retry_after_s == 5 * 0.25
        assert len([future.result(PATIENCE_S) for future in in_stages + waiting]) == 5
        assert ask(served, 9) == 11


def test_a_frame_that_was_cancelled_while_it_waited_is_not_run() -> None:
    held = threading.Event()
    seen: list[float] = []

    def script(model: str, value: float) -> None:
        if model == "x>h1":
            seen.append(value)
            held.wait(PATIENCE_S)

    with executor(script) as served:
        first = served.submit(frame(1))
        while served.load.in_flight < 1:
            held.wait(0.001)
        late = [served.submit(frame(value)) for value in (7, 8)]
        assert late[0].cancel()
        held.set()
        assert first.result(PATIENCE_S)[0][0] == 3
        assert late[1].result(PATIENCE_S)[0][0] == 10

    assert 7 not in seen


def test_one_that_is_closed_while_all_that_waited_were_cancelled_just_ends() -> None:
    opened: list[int] = []
    make = pipelines()

    def counted() -> Pipeline:
        opened.append(1)
        return make()

    with PipelineExecutor(counted, limit=4, period_s=1.0) as served:
        served.submit(frame(0)).cancel()

    assert served.state == "closed"
    assert len(opened) == 1


def test_a_frame_that_does_not_fit_is_refused_at_once() -> None:
    with executor() as served:
        with pytest.raises(InputError, match=r"gives float32 \[3\] for 'x', which takes float32"):
            served.submit((np.zeros(3, np.float32),))
        assert ask(served, 0) == 2


def test_one_that_ends_answers_what_it_took_and_takes_no_more() -> None:
    held, script = held_at("x>h1")
    with ThreadPoolExecutor(1) as other:
        served = executor(script)
        served.__enter__()
        futures = [served.submit(frame(value)) for value in range(6)]
        closing = other.submit(served.__exit__, None, None, None)
        while served.state != "closed":
            held.wait(0.001)
        with pytest.raises(UnavailableError, match="no more frames are taken, because it ends"):
            served.submit(frame(9))
        held.set()
        closing.result(PATIENCE_S)

    assert [future.result(0)[0][0] for future in futures] == [2, 3, 4, 5, 6, 7]


def test_a_run_ends_now_and_then_and_nobody_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RUN_FRAMES", 3)
    with executor() as served, ThreadPoolExecutor(4) as clients:
        assert list(clients.map(lambda value: ask(served, value), range(20))) == [
            value + 2 for value in range(20)
        ]


def test_after_a_breakdown_what_was_in_flight_is_run_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breakdowns = break_down(monkeypatch, 1)
    with executor() as served:
        assert [ask(served, value) for value in range(4)] == [2, 3, 4, 5]
        assert served.state == "ready"

    assert len(breakdowns) == 1


def test_a_frame_that_was_there_at_two_breakdowns_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_down(monkeypatch, 2)
    with executor() as served:
        poison = served.submit(frame(0))
        with pytest.raises(StageFailedError, match="stage 0 on p0a broke down: no room"):
            poison.result(PATIENCE_S)
        assert ask(served, 1) == 3


def test_a_frame_that_kills_the_process_of_its_stage_takes_no_other_with_it() -> None:
    poison = SignalAt("h1>y", 4, signal.SIGKILL)  # frame 3, plus one

    with PipelineExecutor(
        pipelines(poison, transport="processes"), limit=8, period_s=1.0
    ) as served:
        futures = [served.submit(frame(value)) for value in range(5)]
        with pytest.raises(StageFailedError, match="stage 1 on p1a"):
            futures[3].result(PATIENCE_S)
        assert [futures[n].result(PATIENCE_S)[0][0] for n in (0, 1, 2)] == [2, 3, 4]
        assert ask(served, 9) == 11


def test_where_no_other_pipeline_opens_everyone_is_told_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_down(monkeypatch, inf)
    make = pipelines()
    opened: list[int] = []

    def once() -> Pipeline:
        if opened:
            raise InputError("the core is gone")
        opened.append(1)
        return make()

    with PipelineExecutor(once, limit=8, period_s=1.0) as served:
        with pytest.raises(InputError, match="the core is gone"):
            served.submit(frame(0)).result(PATIENCE_S)
        assert served.state == "broken"
        with pytest.raises(UnavailableError, match="nothing can be answered any more: the core is"):
            served.submit(frame(1))


def test_one_that_ends_does_not_wait_for_ever_for_a_session_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_DRAIN_S", 0.05)
    go_on, hangs = threading.Event(), threading.Event()

    def script(*_: object) -> None:
        hangs.set()
        go_on.wait(PATIENCE_S)

    with executor(script) as served:
        future = served.submit(frame(0))
        assert hangs.wait(PATIENCE_S)

    with pytest.raises(StageFailedError, match="not answered within 0.05 s: a session hangs"):
        future.result(PATIENCE_S)
    go_on.set()


def test_one_that_was_not_opened_says_how() -> None:
    with pytest.raises(InputError, match="not open; use it as a context manager"):
        executor().submit(frame(0))
