"""Sessions that take as long as a processor that is not here."""

import threading
import time
from collections.abc import Iterator
from itertools import repeat

import numpy as np
import pytest

from evener.artifacts.processors import Processor
from evener.errors import RuntimeFailedError
from evener.runtime import pinning
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.session import Runtime
from evener.runtime.simulated import SimulatedRuntime, Tally, wait_until
from evener.testing import tiny
from evener.testing.scripted_runtime import ScriptedRuntime
from evener.testing.session_contract import SessionContract, answer

VECTOR = np.array([4.0, 5.0], np.float32)


class TestSimulatedRuntime(SessionContract):
    @pytest.fixture
    def runtime(self) -> Runtime:
        return SimulatedRuntime(repeat(1e-6), OnnxRuntime())


class Hands:
    """A clock that moves only when somebody computes or waits."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def wait(self, deadline_s: float) -> None:
        self.waits.append(deadline_s - self.now_s)
        self.now_s = deadline_s


def simulated(
    hands: Hands, times_s: Iterator[float], *, computing_s: float = 0.0, compute: bool = True
) -> SimulatedRuntime:
    """Make a runtime whose inner one computes for a while by the clock's hands."""

    def script(_model: str, _first: float) -> None:
        hands.now_s += computing_s

    return SimulatedRuntime(
        times_s, ScriptedRuntime(script), compute=compute, clock=hands, wait=hands.wait
    )


def test_each_frame_takes_its_time_computing_included() -> None:
    hands = Hands()
    session = simulated(hands, iter([2.0, 3.0]), computing_s=0.5).open(b"x>y")

    ends = []
    for _ in range(2):
        answer(session, [VECTOR])
        ends.append(hands.now_s - 100)

    assert ends == [2, 5]
    assert hands.waits == [1.5, 2.5]


def test_the_answer_is_the_inner_runtimes() -> None:
    session = simulated(Hands(), repeat(1.0)).open(b"x>y")

    np.testing.assert_array_equal(answer(session, [VECTOR])[0], VECTOR + 1)


def test_without_computing_the_answer_is_zero_and_the_time_the_same() -> None:
    hands = Hands()
    session = simulated(hands, repeat(2.0), computing_s=50.0, compute=False).open(b"x>y")

    np.testing.assert_array_equal(answer(session, [VECTOR])[0], [0, 0])
    assert hands.now_s == 102


def test_without_computing_arrays_that_do_not_fit_are_refused_too() -> None:
    session = simulated(Hands(), repeat(2.0), compute=False).open(b"x>y")

    with pytest.raises(RuntimeFailedError, match="'x'"):
        session.run([np.zeros(3, np.float32)], [VECTOR.copy()])


def test_a_computation_longer_than_the_simulated_time_is_counted_and_not_waited_for() -> None:
    hands = Hands()
    runtime = simulated(hands, iter([1.0, 4.0, 0.5]), computing_s=2.0)
    session = runtime.open(b"x>y")

    for _ in range(3):
        answer(session, [VECTOR])

    assert runtime.tally == Tally(frames=3, overruns=2, worst=4.0)
    assert hands.waits == [2.0]
    runtime.tally.clear()
    assert runtime.tally == Tally()


def test_a_frame_that_fails_fails_at_once() -> None:
    def script(_model: str, _first: float) -> None:
        raise RuntimeFailedError("the inner runtime fails", runtime="scripted")

    runtime = SimulatedRuntime(repeat(1000.0), ScriptedRuntime(script))

    with pytest.raises(RuntimeFailedError, match="the inner runtime fails"):
        answer(runtime.open(b"x>y"), [VECTOR])
    assert runtime.tally.frames == 0


def test_what_the_inner_runtime_refuses_is_refused() -> None:
    runtime = simulated(Hands(), repeat(1.0))

    with pytest.raises(RuntimeFailedError, match="scripted refuses") as caught:
        runtime.open(b"refuse")

    assert caught.value.runtime == runtime.name == "simulated"
    assert runtime.version == "1"


def test_it_stands_in_for_any_processor() -> None:
    runtime = simulated(Hands(), repeat(1.0))

    assert runtime.supports(Processor(name="N", kind="npu"))


def test_closing_closes_the_inner_session() -> None:
    inner = ScriptedRuntime()
    SimulatedRuntime(repeat(1.0), inner).open(b"x>y").close()

    assert inner.sessions[0].closed


def test_without_cores_the_thread_stays_where_it_was() -> None:
    before = pinning.thread_cores()
    runtime = SimulatedRuntime(repeat(1e-6), OnnxRuntime())
    session = runtime.open(tiny.dense(), cores=())

    answer(session, tiny.frames(1)[0])

    assert pinning.thread_cores() == before


def test_waiting_never_ends_early_and_lets_others_work() -> None:
    """Also where several wait at once; how late it ends is a benchmark's question."""
    early: list[float] = []
    cpu_s: list[float] = []

    def wait(delay_s: float) -> None:
        before_s = time.thread_time()
        deadline_s = time.perf_counter() + delay_s
        wait_until(deadline_s)
        early.append(deadline_s - time.perf_counter())
        cpu_s.append(time.thread_time() - before_s)

    threads = [threading.Thread(target=wait, args=(delay,)) for delay in (0.0, 1e-4, 0.02, 0.025)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(early) == 4
    assert max(early) <= 0
    assert max(cpu_s) < 0.01  # it slept: of 20 ms only the last part was spent awake
