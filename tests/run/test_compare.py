"""Pipelines side by side."""

import itertools

import numpy as np
import pytest

from evener.artifacts.trace import Trace
from evener.errors import InputError
from evener.run.compare import InTurn, Ratio, interleave, paired_ratio
from evener.run.pipeline import Pipeline
from evener.testing import plans
from evener.testing.scripted_runtime import SHAPE, ScriptedRuntime, vector

FRAMES = [(np.full(SHAPE, value, np.float32),) for value in range(3)]


def opened(script: ScriptedRuntime, lanes: int = 1) -> Pipeline:
    plan = plans.chain((1, [()] * lanes), runtime="scripted")
    return Pipeline(plan, lambda *_: b"x>y", inputs=[vector("x")], runtimes={"scripted": script})


def trace(rate_hz: float) -> Trace:
    return Trace(
        frames=1,
        dropped=0,
        elapsed_s=1.0,
        rate_hz=rate_hz,
        latency_p50_s=0.0,
        latency_p99_s=0.0,
        wait_p50_s=0.0,
        stages=(),
    )


def test_each_runs_once_a_round_after_a_warm_up_in_orders_that_change() -> None:
    turns: list[str] = []

    def noting(name: str) -> ScriptedRuntime:
        return ScriptedRuntime(lambda _, value: turns.append(name) if value == 0 else None)

    with opened(noting("a")) as a, opened(noting("b")) as b, opened(noting("c")) as c:
        traces = interleave(
            {"a": a, "b": b, "c": c},
            FRAMES,
            rounds=6,
            frames_per_round=3,
            rng=np.random.default_rng(0),
        )

    rounds = [tuple(turns[start : start + 3]) for start in range(0, 21, 3)]
    assert all(sorted(order) == ["a", "b", "c"] for order in rounds)
    assert len(rounds) == 7
    assert len(set(rounds)) > 1
    assert {name: len(kept) for name, kept in traces.items()} == {"a": 6, "b": 6, "c": 6}


def test_frames_are_used_again_when_they_run_out() -> None:
    values: list[float] = []
    with opened(ScriptedRuntime(lambda _, value: values.append(value))) as pipeline:
        (kept,) = interleave(
            {"a": pipeline}, FRAMES, rounds=1, frames_per_round=5, rng=np.random.default_rng(0)
        )["a"]

    assert kept.frames == 5
    assert values == [0, 1, 2, 0, 1] * 2


def test_a_round_may_last_a_time_instead() -> None:
    ticks = itertools.count()
    with opened(ScriptedRuntime()) as pipeline:
        (kept,) = interleave(
            {"a": pipeline},
            FRAMES,
            rounds=1,
            seconds_per_round=4.0,
            rng=np.random.default_rng(0),
            clock=lambda: float(next(ticks)),
        )["a"]

    assert kept.frames == 7  # four to begin with, and one for each tick before the fourth


def test_a_round_that_lasts_a_time_gives_every_lane_as_many_turns() -> None:
    ticks = itertools.count()
    with opened(ScriptedRuntime(), lanes=3) as pipeline:
        (kept,) = interleave(
            {"a": pipeline},
            FRAMES,
            rounds=1,
            seconds_per_round=2.0,
            rng=np.random.default_rng(0),
            clock=lambda: float(next(ticks)),
        )["a"]

    assert kept.frames == 15  # four times three, and three for the tick before the second


def test_what_is_open_for_its_turn_only_is_warmed_up_and_closed_each_time() -> None:
    values: list[float] = []
    runtime = ScriptedRuntime(lambda _, value: values.append(value))
    other = ScriptedRuntime()

    runners = {
        "a": InTurn(lambda: opened(runtime), FRAMES[2:]),
        "b": InTurn(lambda: opened(other), FRAMES[:1]),
    }
    traces = interleave(runners, FRAMES, rounds=2, frames_per_round=2, rng=np.random.default_rng(0))

    assert values == [2, 0, 1] * 3
    assert len(runtime.sessions) == len(other.sessions) == 3
    assert all(session.closed for session in (*runtime.sessions, *other.sessions))
    assert [trace.frames for trace in traces["a"]] == [2, 2]


def test_never_are_two_open_that_have_turns_only() -> None:
    runtimes = [ScriptedRuntime(), ScriptedRuntime()]
    most_open: list[int] = []

    def count(_: str, __: float) -> None:
        sessions = [session for runtime in runtimes for session in runtime.sessions]
        most_open.append(sum(not session.closed for session in sessions))

    for runtime in runtimes:
        runtime.script = count
    interleave(
        {
            "a": InTurn(lambda: opened(runtimes[0]), FRAMES[:1]),
            "b": InTurn(lambda: opened(runtimes[1]), FRAMES[:1]),
        },
        FRAMES,
        rounds=3,
        seconds_per_round=0.001,
        rng=np.random.default_rng(0),
    )

    assert set(most_open) == {1}


def test_the_ratio_is_that_of_the_rounds_not_of_the_means() -> None:
    slowing = [100.0, 50.0, 10.0]
    first = [trace(2 * rate) for rate in slowing]
    second = [trace(rate) for rate in slowing]

    assert paired_ratio(first, second) == Ratio(median=2, low=2, high=2)


def test_the_interval_is_between_the_quartiles() -> None:
    first = [trace(rate) for rate in (1, 2, 3, 4, 5)]

    assert paired_ratio(first, [trace(1)] * 5) == Ratio(median=3, low=2, high=4)


def test_what_cannot_be_compared_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="no frame to compare with"):
        interleave({}, [], rounds=1, frames_per_round=1, rng=rng)
    with pytest.raises(InputError, match="either frames_per_round or seconds_per_round"):
        interleave({}, FRAMES, rounds=1, rng=rng)
    with pytest.raises(InputError, match="2 and 1 rounds cannot be paired"):
        paired_ratio([trace(1), trace(1)], [trace(1)])
