"""This machine stands in for processors that are not here."""

from itertools import repeat

import numpy as np
import pytest

from evener.errors import InfeasibleError
from evener.run.pipeline import Pipeline
from evener.runtime.session import Array
from evener.testing.plans import chain
from evener.testing.scripted_runtime import ScriptedRuntime, vector
from evener.workflow.stand_in import StandIns, slowed, stand_in

# Cores that no machine has: a plan for elsewhere.
ELSEWHERE = chain((1, [(4096,)]), (2, [(4097, 4098), ()]), split_lanes=True, runtime="armcl")
FRAMES = [(np.full(2, number, np.float32),) for number in range(8)]


def segments(first: int, last: int) -> bytes:
    names = ["x", "h1", "h2", "y"]
    return f"{names[first]}>{names[last + 1]}".encode()


def run(stand_ins: StandIns, frames: int = 8) -> list[float]:
    answers: list[float] = []

    def emit(_frame_id: int, answer: tuple[Array, ...]) -> None:
        answers.append(float(answer[0][0]))

    with Pipeline(
        stand_ins.plan, segments, inputs=[vector("x")], runtimes=stand_ins.runtimes
    ) as pipeline:
        pipeline.run(FRAMES[:frames], emit)
    return answers


def test_every_lane_has_a_runtime_of_its_own_and_no_core() -> None:
    found = stand_in(ELSEWHERE, ScriptedRuntime())

    lanes = [lane for stage in found.plan.stages for lane in stage.lanes]
    assert [lane.cores for lane in lanes] == [(), (), ()]
    assert [lane.processor for lane in lanes] == ["p0a", "p1a", "p1b"]
    assert [[(p.first_block, p.last_block) for p in lane.parts] for lane in lanes] == [
        [(0, 0)],
        [(1, 2)],
        [(1, 2)],
    ]
    assert list(found.runtimes) == [lane.parts[0].runtime for lane in lanes]


def test_frames_are_answered_by_the_inner_runtime_in_order() -> None:
    found = stand_in(ELSEWHERE, ScriptedRuntime(), service=[[repeat(1e-4)], [repeat(1e-4)] * 2])

    assert run(found) == [number + 2 for number in range(8)]
    assert sum(one.tally.frames for one in found.runtimes.values()) == 16


def test_without_computing_every_answer_is_zero() -> None:
    service = [[repeat(1e-4)], [repeat(1e-4)] * 2]
    found = stand_in(ELSEWHERE, ScriptedRuntime(), compute=False, service=service)

    assert run(found) == [0] * 8


def test_a_machine_that_is_too_slow_to_stand_in_is_told_by_how_much() -> None:
    found = stand_in(
        chain((1, [()])), ScriptedRuntime(), service=[[iter([1e-9, *[1e-4] * 6, 1e-9])]]
    )
    found.begin()
    found.check()  # nothing ran yet

    with Pipeline(
        found.plan, lambda *_: b"x>y", inputs=[vector("x")], runtimes=found.runtimes
    ) as pipeline:
        pipeline.run(FRAMES, lambda *_: None)

    assert found.overruns >= 2
    with pytest.raises(InfeasibleError) as caught:
        found.check()
    text = str(caught.value)
    assert "lane 0 of stage 0 on p0a is simulated" in text
    assert f"for {found.overruns} of 8 frames this machine computed longer" in text
    assert "--slowdown" in text
    assert "--no-compute" in text
    found.begin()
    assert found.overruns == 0
    found.check()


def test_a_slowed_plan_claims_nothing_of_the_quick_one() -> None:
    found = slowed(ELSEWHERE, 3.0)

    assert [lane.time_s for stage in found.stages for lane in stage.lanes] == [3, 3, 3]
    assert (found.rate_hz, found.latency_s) == (ELSEWHERE.rate_hz / 3, 3 * ELSEWHERE.latency_s)
    assert (found.measured, found.simulated, found.energy_j) == (None, None, None)
    assert [stage.inputs for stage in found.stages] == [stage.inputs for stage in ELSEWHERE.stages]
