"""Timing one session alone."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, cycle, repeat

import pytest

from evener.artifacts.tensor import Tensor
from evener.profile.energy import Metering
from evener.profile.timing import time_session
from evener.runtime.session import Array


class ScriptedSession:
    """A session whose runs take times from a list; it is its own clock."""

    inputs = (Tensor(name="x", shape=(2, 3), dtype="float32"),)
    outputs = (Tensor(name="y", shape=(4,), dtype="float32"),)

    def __init__(self, times_s: Iterator[float]) -> None:
        self._times_s = times_s
        self._now_s = 0.0
        self.written: list[int] = []

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        assert [array.shape for array in inputs] == [(2, 3)]
        self.written.append(outputs[0].ctypes.data)
        self._now_s += next(self._times_s)

    def close(self) -> None:
        raise NotImplementedError

    def clock(self) -> float:
        return self._now_s


def test_runs_that_warm_up_do_not_count() -> None:
    session = ScriptedSession(chain([0.04, 0.02], repeat(0.01)))

    timing = time_session(session, clock=session.clock)

    assert timing.high_s == pytest.approx(0.01)
    assert timing.repeats == 15


def test_a_long_run_warms_up_alone() -> None:
    session = ScriptedSession(chain([0.06], repeat(0.05)))

    assert time_session(session, clock=session.clock).high_s == pytest.approx(0.05)
    assert len(session.written) == 1 + 3


def test_quartiles_stand_beside_the_median() -> None:
    session = ScriptedSession(cycle([1.0, 2.0, 3.0, 4.0, 5.0]))

    timing = time_session(session, clock=session.clock)

    assert (timing.low_s, timing.median_s, timing.high_s) == (2.0, 3.0, 4.0)


def test_long_runs_that_do_not_agree_are_repeated_five_times() -> None:
    session = ScriptedSession(chain([1.0], [1.0, 1.0, 1.1], repeat(1.0)))

    assert time_session(session, clock=session.clock).repeats == 5


@pytest.mark.parametrize(("run_s", "repeats"), [(1.0, 3), (0.015625, 10), (0.0001, 30)])
def test_long_runs_are_repeated_three_times_and_short_ones_up_to_thirty(
    run_s: float, repeats: int
) -> None:
    session = ScriptedSession(repeat(run_s))

    assert time_session(session, clock=session.clock).repeats == repeats


def test_every_run_writes_the_same_arrays() -> None:
    session = ScriptedSession(repeat(1.0))

    time_session(session, clock=session.clock)

    assert len(set(session.written)) == 1


def test_on_a_throttled_core_short_runs_are_timed_many_at_once() -> None:
    # Three runs at full speed, and one that stands still for the quota, again and again.
    session = ScriptedSession(cycle([0.001, 0.001, 0.001, 0.007]))

    timing = time_session(session, clock=session.clock, throttled=True)

    assert timing.median_s == pytest.approx(0.0025, rel=0.05)
    assert timing.high_s == pytest.approx(timing.low_s, rel=0.1)


class SteadyMeter:
    """A meter by which the machine always draws 10 W."""

    name = "steady"

    def __init__(self, clock: Callable[[], float], least_s: float) -> None:
        self.least_s = least_s
        self._clock = clock
        self._start_s = 0.0

    def start(self) -> None:
        self._start_s = self._clock()

    def stop(self) -> float | None:
        return 10.0 * (self._clock() - self._start_s)


def test_energy_is_metered_over_as_many_runs_as_it_takes() -> None:
    session = ScriptedSession(repeat(0.0625))
    meter = SteadyMeter(session.clock, least_s=2.0)

    timing = time_session(session, clock=session.clock, metering=Metering(meter, idle_w=6.0))

    assert timing.energy_j == pytest.approx(4.0 * 0.0625)
    assert timing.repeats == 32


def test_without_a_meter_energy_is_not_known() -> None:
    session = ScriptedSession(repeat(0.0625))

    assert time_session(session, clock=session.clock).energy_j is None
