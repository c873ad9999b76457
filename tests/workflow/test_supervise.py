"""Runs of real networks that go on by another plan."""

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import pytest

from evener.artifacts.files import save
from evener.artifacts.plan import Plan
from evener.artifacts.processors import Processor
from evener.artifacts.profile import Profile
from evener.data.frames import Frames
from evener.errors import InputError
from evener.network.frames import random_frames
from evener.run.monitor import Limits
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.session import Array, Session
from evener.workflow.manner import Manner
from evener.workflow.opened import Opened
from evener.workflow.opening import open_network
from evener.workflow.pipeline import make_pipeline
from evener.workflow.plan import plan_network, settle_profile
from evener.workflow.run import run_network, run_opened
from evener.workflow.supervise import supervised
from evener.workflow.wish import Wish, decide


class Breaking:
    """ONNX Runtime, but what is open on one core fails for ever after so many frames."""

    def __init__(self, core: int, after: int) -> None:
        self.core, self.left = core, after
        self._inner = OnnxRuntime()
        self.name, self.version = self._inner.name, self._inner.version

    def supports(self, processor: Processor) -> bool:
        return self._inner.supports(processor)

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...],
        **options: Any,  # noqa: ANN401 - handed on
    ) -> Session:
        session = self._inner.open(model, cores=cores, **options)
        return BrokenSession(session, self) if self.core in cores else session


class BrokenSession:
    """A session of `Breaking`."""

    def __init__(self, session: Session, runtime: Breaking) -> None:
        self._session, self._runtime = session, runtime
        self.inputs, self.outputs, self.close = session.inputs, session.outputs, session.close

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self._runtime.left -= 1
        if self._runtime.left < 0:
            raise OSError("device gone")
        self._session.run(inputs, outputs)


@pytest.fixture
def opened(net: str) -> Opened:
    return open_network(net, optimisation="extended", runtimes=["onnxruntime"])


def two_stages(opened: Opened) -> tuple[Plan, Profile]:
    wish = Wish(stages=2)
    profile = settle_profile(opened, wish).value
    return decide(profile, wish), profile


def breaking(opened: Opened, core: int, *, after: int) -> Opened:
    return replace(opened, runtimes={"onnxruntime": Breaking(core, after)})


@pytest.mark.usefixtures("two_cores")
def test_a_core_that_fails_is_left_out_and_answers_stay_equal_to_the_bit(opened: Opened) -> None:
    plan, profile = two_stages(opened)
    (lane,) = plan.stages[1].lanes
    broken = breaking(opened, lane.cores[0], after=30)
    manner = Manner(supervise=True)
    frames = Frames.going_round(random_frames(opened.network.inputs, 8, seed=0), 100)

    result = run_opened(broken, plan, frames, manner=manner, profile=profile)

    assert (result.trace.frames, result.trace.equal, result.holds) == (100, True, True)
    (switch,) = result.trace.switches
    assert (switch.cause, switch.before) == ("failed", plan.outline)
    assert "device gone" in switch.reason
    used = {core for one in result.trace.stages for core in one.cores}
    assert used
    assert lane.cores[0] not in used
    assert 1 <= result.trace.replayed <= plan.credits


@pytest.mark.usefixtures("two_cores")
def test_other_plans_use_the_processors_and_runtimes_of_the_network_only(opened: Opened) -> None:
    plan, profile = two_stages(opened)
    (lane,) = plan.stages[1].lanes
    quick = [
        msgspec.structs.replace(one, median_s=one.median_s / 10, **other)
        for one in profile.segments
        for other in ({"runtime": "not here"}, {"processor": "elsewhere"})
    ]
    elsewhere = msgspec.structs.replace(opened.machine.cpu, name="elsewhere")
    machine = msgspec.structs.replace(
        profile.machine, processors=(*profile.machine.processors, elsewhere)
    )
    wider = msgspec.structs.replace(profile, segments=(*profile.segments, *quick), machine=machine)
    broken = breaking(opened, lane.cores[0], after=5)
    frames = random_frames(opened.network.inputs, 20, seed=0)
    seen: list[int] = []

    with supervised(broken, plan, wider, partial(make_pipeline, broken)) as pipeline:
        pipeline.run(frames, lambda number, _: seen.append(number))
        lanes = [lane for stage in pipeline.plan.stages for lane in stage.lanes]

    assert seen == list(range(20))
    assert {one.processor for one in lanes} <= {one.name for one in opened.machine.processors}
    assert {part.runtime for one in lanes for part in one.parts} == {"onnxruntime"}


def test_a_run_without_a_fault_is_as_without_supervision(net: str, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"

    result = run_network(net, frames=20, supervise=True, optimisation="extended", out=out)

    assert (result.trace.equal, result.trace.switches, result.trace.replayed) == (True, (), 0)
    assert result.trace.stages
    with np.load(out) as answers:
        assert len(answers["y"]) == 20


def test_a_plan_file_is_followed_and_the_network_profiled_for_others(
    net: str, tmp_path: Path
) -> None:
    plan = plan_network(net, stages=1)
    save(tmp_path / "plan.json", plan)

    result = run_network(net, frames=9, plan=tmp_path / "plan.json", supervise=True)

    assert result.plan == plan
    assert result.trace.frames == 9


def test_frames_that_a_policy_leaves_out_cannot_be_supervised(net: str) -> None:
    with pytest.raises(InputError, match="--supervise answers every frame, and --policy drop_old"):
        run_network(net, frames=9, policy="drop_oldest", supervise=True)


def test_without_supervision_nothing_is_held_ready(net: str) -> None:
    with pytest.raises(InputError, match="without --supervise nothing is held ready; leave out --"):
        run_network(net, frames=9, standby=False)


@pytest.mark.parametrize("standby", [True, False])
@pytest.mark.usefixtures("two_cores")
def test_what_a_failure_needs_is_held_ready_unless_that_is_not_wanted(
    opened: Opened, standby: bool
) -> None:
    plan, profile = two_stages(opened)
    frames, limits = random_frames(opened.network.inputs, 20, seed=0), Limits(standby_after_s=0.0)
    held: list[tuple[Plan, ...]] = []

    def emit(number: int, _: tuple[Array, ...]) -> None:
        if number == 9:
            pipeline.hold_ready()
            held.append(pipeline.held_ready)

    with supervised(
        opened, plan, profile, partial(make_pipeline, opened), limits=limits, standby=standby
    ) as pipeline:
        pipeline.run(frames, emit)

    # Each of the two lanes by itself: the plan without its core.
    cores = [
        {core for stage in one.stages for lane in stage.lanes for core in lane.cores}
        for one in held[0]
    ]
    assert cores == [set(plan.stages[1].lanes[0].cores), set(plan.stages[0].lanes[0].cores)] * (
        standby
    )


def test_ranks_of_mpi_cannot_be_supervised() -> None:
    with pytest.raises(InputError, match="MPI ends all ranks with one that does; leave out --ran"):
        Manner(transport="ranks", supervise=True).check(None)


@pytest.fixture
def recurrent(write: Callable[[str, bytes], str]) -> str:
    """Write a network of four layers, the second of which adds to a state."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1,8] x, float[1,8] h) => '
        "(float[1,8] y, float[1,8] hn) { "
        "a = MatMul(x, w) b = Tanh(a) s = Add(b, h) hn = Tanh(s) "
        "c = MatMul(hn, w) d = Tanh(c) e = MatMul(d, w) y = Tanh(e) }"
    )
    weights = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    return write("recurrent.onnx", model.SerializeToString())


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("standby", [True, False])
def test_the_state_of_the_last_answer_is_handed_to_the_plan_that_follows(
    recurrent: str, standby: bool
) -> None:
    opened = open_network(
        recurrent, states={"hn": "h"}, optimisation="extended", runtimes=["onnxruntime"]
    )
    plan, profile = two_stages(opened)
    broken = breaking(opened, plan.stages[1].lanes[0].cores[0], after=30)
    manner = Manner(supervise=True, standby=standby)
    frames = Frames.going_round(random_frames(opened.network.inputs, 8, seed=0), 100)

    result = run_opened(broken, plan, frames, manner=manner, profile=profile)

    assert (result.trace.frames, result.trace.equal, result.holds) == (100, True, True)
    assert [one.cause for one in result.trace.switches] == ["failed"]
    assert result.trace.replayed >= 1


@pytest.mark.usefixtures("two_cores")
def test_the_state_is_handed_on_between_processes_too(recurrent: str) -> None:
    opened = open_network(
        recurrent, states={"hn": "h"}, optimisation="extended", runtimes=["onnxruntime"]
    )
    plan, profile = two_stages(opened)
    frames = random_frames(opened.network.inputs, 40, seed=0)
    pipelines = partial(make_pipeline, opened, tell_states=True)
    expected: list[Array] = []
    with pipelines(plan) as whole:
        whole.run(frames, lambda _, answer: expected.append(answer[0].copy()))
    answers: list[Array] = []

    def emit(number: int, answer: tuple[Array, ...]) -> None:
        answers.append(answer[0].copy())
        if number == 19:
            process = pipeline.progress()[-1].process
            assert process is not None
            os.kill(process, signal.SIGKILL)

    with supervised(
        opened, plan, profile, partial(pipelines, transport="processes"), standby=False
    ) as pipeline:
        trace = pipeline.run(frames, emit)

    assert "failed" in [one.cause for one in trace.switches]
    np.testing.assert_array_equal(answers, expected)
