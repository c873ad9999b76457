"""Lanes in processes of their own: the same answers, and what breaks there breaks nothing here."""

import errno
import os
import select
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from signal import Signals

import numpy as np
import pytest

from evener.artifacts.plan import Plan
from evener.artifacts.tensor import Tensor
from evener.errors import ChannelClosedError, InputError, StageFailedError
from evener.run import correspondence
from evener.run.entry import Frame
from evener.run.pipeline import Pipeline
from evener.runtime import pinning, priority
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.session import Array
from evener.testing import plans, tiny
from evener.testing.scripted_runtime import (
    SHAPE,
    RaiseAt,
    ScriptedRuntime,
    SignalAt,
    do_nothing,
    vector,
)

PATIENCE_S = 20.0
DEVICE: tuple[int, ...] = ()
TWO = ((1, [DEVICE]), (1, [DEVICE]))


def numbered(count: int) -> list[Frame]:
    return [(np.full(SHAPE, value, np.float32),) for value in range(count)]


def scripted(
    script: Callable[[str, float], None] = do_nothing,
    *,
    plan: Plan | None = None,
) -> Pipeline:
    names = {0: "x", 1: "h1", 2: "y"}
    return Pipeline(
        plan or plans.chain(*TWO, runtime="scripted", credits=4),
        lambda first, last: f"{names[first]}>{names[last + 1]}".encode(),
        inputs=[vector("x")],
        runtimes={"scripted": ScriptedRuntime(script)},
        transport="processes",
    )


def values(pipeline: Pipeline, frames: list[Frame]) -> list[tuple[int, float]]:
    seen: list[tuple[int, float]] = []
    pipeline.run(frames, lambda number, answer: seen.append((number, float(answer[0][0]))))
    return seen


def ended(process: int | None) -> bool:
    """Wait until a process is gone."""
    assert process is not None
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    events = poll.poll(PATIENCE_S * 1000)
    os.close(handle)
    return bool(events)


def test_replicas_and_stages_answer_as_the_whole_to_the_bit_on_cores_that_the_kernel_confirms() -> (
    None
):
    cores = sorted(pinning.PROCESS_CORES)
    near, far = (cores[0],), (cores[-1],)
    names = ["x", "h1", "h2", "h3", "y"]
    frames = tiny.frames(60)
    answers: list[Array] = []
    with Pipeline(
        plans.chain((3, [near, far]), (1, [far])),
        lambda first, last: tiny.dense_between(names, first=first, last=last),
        inputs=[Tensor(name="x", shape=(2, tiny.WIDTH), dtype="float32")],
        runtimes={"onnxruntime": OnnxRuntime()},
        optimisation="extended",
        transport="processes",
    ) as pipeline:
        trace = pipeline.run(frames, lambda _, answer: answers.append(answer[0].copy()))
        here = {lane.process for lane in pipeline.progress()} & {None, os.getpid()}

    with pinning.pinned(near):
        whole = OnnxRuntime().open(tiny.dense(layers=4), cores=near, optimisation="extended")
        expected = np.empty((2, tiny.WIDTH), np.float32)
        for frame, answer in zip(frames, answers, strict=True):
            whole.run(frame, [expected])
            np.testing.assert_array_equal(answer, expected)
    assert [lane.cores for lane in trace.stages] == [near, far, far]
    assert sum(lane.frames for lane in trace.stages if lane.stage == 0) == trace.frames == 60
    assert not here


def test_an_open_pipeline_runs_again_after_a_frame_failed_with_the_traceback_from_there() -> None:
    with scripted(RaiseAt("h1>y", 4)) as pipeline:
        seen: list[int] = []
        with pytest.raises(
            StageFailedError, match="stage 1 on p1a failed at frame 3: h1>y does n"
        ) as caught:
            pipeline.run(numbered(9), lambda number, _: seen.append(number))
        failure = caught.value
        assert values(pipeline, numbered(3)) == [(0, 2), (1, 3), (2, 4)]

    assert seen == [0, 1, 2]
    assert (failure.stage, failure.processor, failure.frame_id) == (1, "p1a", 3)
    assert "ValueError: h1>y does not like 4" in "".join(failure.__notes__)
    assert "scripted_runtime.py" in "".join(failure.__notes__)
    assert pipeline.in_flight == {}


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[str]]:
    """Note what each process was told, instead of telling the kernel, which may forbid it."""
    told: dict[int, list[str]] = {}

    def stand_behind(process: int) -> bool:
        told.setdefault(process, []).append("behind")
        return True

    monkeypatch.setattr(priority, "stand_behind", stand_behind)
    monkeypatch.setattr(priority, "step_forward", lambda process: told[process].append("forward"))
    return told


def test_lanes_stand_behind_until_the_first_run(standing: dict[int, list[str]]) -> None:
    pipeline = scripted()
    pipeline.open_behind()
    try:
        assert list(standing.values()) == [["behind"]] * 2
        for _ in range(2):
            assert values(pipeline, numbered(1)) == [(0, 2)]
    finally:
        pipeline.close()

    assert list(standing.values()) == [["behind", "forward"]] * 2


def test_lanes_that_are_needed_before_they_are_launched_never_stand_behind(
    standing: dict[int, list[str]],
) -> None:
    pipeline = scripted()

    pipeline.step_forward()
    pipeline.open_behind()
    pipeline.close()

    assert standing == {}


def test_a_lane_that_is_needed_while_it_is_launched_comes_forward(
    standing: dict[int, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline, noted = scripted(), priority.stand_behind
    taking = threading.Thread(target=pipeline.step_forward)

    def stand_behind(process: int) -> bool:
        if taking.ident is None:
            taking.start()
        return noted(process)

    monkeypatch.setattr(priority, "stand_behind", stand_behind)
    pipeline.open_behind()
    taking.join(PATIENCE_S)
    pipeline.close()

    assert all(told == ["behind", "forward"] for told in standing.values())
    assert standing


def test_a_killed_process_is_named_and_what_was_not_emitted_is_still_known() -> None:
    seen: list[int] = []
    with scripted(SignalAt("h1>y", 6, signal.SIGKILL)) as pipeline:
        lanes = [lane.process for lane in pipeline.progress()]
        with pytest.raises(
            StageFailedError, match="of stage 1 on p1a was killed by SIGKILL at frame 5"
        ) as caught:
            pipeline.run(numbered(50), lambda number, _: seen.append(number))
        kept = pipeline.in_flight
        with pytest.raises(StageFailedError, match="was killed by SIGKILL at frame 5"):
            pipeline.run(numbered(1), lambda *_: None)
        pipeline.close()
        with pytest.raises(StageFailedError, match="was killed by SIGKILL"):
            pipeline.run(numbered(1), lambda *_: None)

    assert (caught.value.stage, caught.value.processor, caught.value.frame_id) == (1, "p1a", 5)
    assert seen == list(range(len(seen)))
    assert len(seen) <= 5
    assert sorted(kept) == list(range(len(seen), len(seen) + len(kept)))
    assert 5 in kept
    assert [float(frame[0][0]) for frame in kept.values()] == list(kept)
    assert all(map(ended, lanes))


def test_a_process_that_hangs_shows_its_frame_and_is_killed_when_it_is_abandoned() -> None:
    with (
        ThreadPoolExecutor(1) as caller,
        scripted(SignalAt("x>h1", 2, signal.SIGSTOP)) as pipeline,
    ):
        processes = [lane.process for lane in pipeline.progress()]
        assert processes[0] is not None
        running = caller.submit(values, pipeline, numbered(50))
        os.waitid(os.P_PID, processes[0], os.WSTOPPED | os.WNOWAIT)
        stuck = pipeline.progress()[0]
        pipeline.abandon(StageFailedError("it computes for too long", stage=0))
        with pytest.raises(StageFailedError, match="it computes for too long"):
            running.result(PATIENCE_S)

    assert (stuck.lane.processor, stuck.frame_id, stuck.frames) == ("p0a", 2, 2)
    assert len(stuck.recent_s) == 2
    assert all(map(ended, processes))


@pytest.mark.parametrize("last", [3, 10])  # at its last frame, or between two runs
def test_a_process_that_is_stopped_while_it_holds_no_frame_is_named_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    monkeypatch.setattr(correspondence, "PATIENCE_S", 0.3)
    seen: list[int] = []

    def emit(number: int, _: tuple[Array, ...]) -> None:
        seen.append(number)
        if number == last:
            os.kill(first, signal.SIGSTOP)
            os.waitid(os.P_PID, first, os.WSTOPPED | os.WNOWAIT)

    with scripted() as pipeline:
        lanes = [lane.process for lane in pipeline.progress()]
        assert lanes[0] is not None
        first = lanes[0]
        if last == 10:
            values(pipeline, numbered(2))
            emit(last, ())
        hangs = f"stage 0 on p0a in the process {first} hangs: it has answered nothing for 0.3 s"
        with pytest.raises(StageFailedError, match=hangs) as raised:
            pipeline.run(numbered(4), emit)
        with pytest.raises(StageFailedError, match="hangs"):  # it is closed, and says why
            pipeline.run(numbered(1), emit)

    assert raised.value.processor == "p0a"
    assert seen == ([0, 1, 2, 3] if last == 3 else [10])
    assert all(map(ended, lanes))


def test_an_interrupt_in_the_caller_ends_every_process() -> None:
    def emit(number: int, _: tuple[Array, ...]) -> None:
        if number == 3:
            os.kill(os.getpid(), signal.SIGINT)

    def endless() -> Iterator[Frame]:
        while True:
            yield numbered(1)[0]

    with scripted() as pipeline, pytest.raises(KeyboardInterrupt):
        pipeline.run(endless(), emit)
    lanes = [lane.process for lane in pipeline.progress()]

    assert all(map(ended, lanes))


def test_lanes_end_with_the_process_that_made_them() -> None:
    program = """
import os, sys
from evener.run.pipeline import Pipeline
from evener.testing import plans
from evener.testing.scripted_runtime import ScriptedRuntime, vector
with Pipeline(
    plans.chain((1, [()]), runtime="scripted"),
    lambda *_: b"x>y",
    inputs=[vector("x")],
    runtimes={"scripted": ScriptedRuntime()},
    transport="processes",
) as pipeline:
    print(pipeline.progress()[0].process, flush=True)
    os.kill(os.getpid(), 9)
"""
    maker = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert maker.returncode == -signal.SIGKILL
    assert ended(int(maker.stdout))
    assert maker.stderr == b""


@pytest.mark.parametrize(
    ("cores", "model", "kind", "message"),
    [
        ((9999,), b"x>y", InputError, "core 9999 is not among"),
        (DEVICE, b"refuse", StageFailedError, "stage 0 on p0a cannot open blocks 0 to 0 with scri"),
    ],
)
def test_what_cannot_be_opened_is_told_as_it_is_by_a_thread(
    cores: tuple[int, ...], model: bytes, kind: type[Exception], message: str
) -> None:
    pipeline = Pipeline(
        plans.chain((1, [cores]), runtime="scripted"),
        lambda *_: model,
        inputs=[vector("x")],
        runtimes={"scripted": ScriptedRuntime()},
        transport="processes",
    )
    with pytest.raises(kind, match=message):
        pipeline.__enter__()

    assert ended(pipeline.progress()[0].process)


def test_a_runtime_that_cannot_travel_is_refused() -> None:
    with pytest.raises(InputError, match="the runtime 'scripted' cannot go to another process"):
        scripted(lambda *_: None).__enter__()


def files_between_processes() -> Counter[str]:
    """Count the open sockets and pieces of memory of this process."""
    targets = [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
    return Counter(kind for one in targets for kind in ("socket:", "/memfd:") if kind in one)


def test_a_process_that_cannot_be_started_leaves_no_file_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "no process is left")

    pipeline, before = scripted(), files_between_processes()
    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(OSError, match="no process is left"):
        pipeline.__enter__()

    mapped = Counter({"/memfd:": 1})  # by the gauge of the lane that began to start
    assert files_between_processes() - before == mapped


def test_one_that_is_closed_while_it_opens_says_so() -> None:
    def close(first: int, last: int) -> bytes:
        pipeline.close()
        return f"{first}>{last}".encode()

    pipeline = Pipeline(
        plans.chain((1, [DEVICE]), runtime="scripted"),
        close,
        inputs=[vector("x")],
        runtimes={"scripted": ScriptedRuntime()},
        transport="processes",
    )

    with pytest.raises(ChannelClosedError, match="the pipeline is closed"):
        pipeline.__enter__()


def test_closing_ends_a_run_in_another_thread() -> None:
    with (
        ThreadPoolExecutor(1) as caller,
        scripted(SignalAt("h1>y", 3, Signals.SIGSTOP)) as pipeline,
    ):
        running = caller.submit(values, pipeline, numbered(50))
        stopped = pipeline.progress()[1].process
        assert stopped is not None
        os.waitid(os.P_PID, stopped, os.WSTOPPED | os.WNOWAIT)
        os.kill(stopped, signal.SIGCONT)
        pipeline.close()
        with pytest.raises(ChannelClosedError, match="the pipeline is closed"):
            running.result(PATIENCE_S)

    assert ended(stopped)
