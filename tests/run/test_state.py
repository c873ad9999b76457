"""State from frame to frame: kept by one lane, in the order of the frames, anew in each run."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.errors import InputError, RuntimeFailedError, StageFailedError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.frames import random_frames
from evener.network.model import Network, load_network
from evener.network.split import segment_model, whole_model
from evener.network.state import State
from evener.run.entry import Frame
from evener.run.equality import Answers, run_unsplit
from evener.run.pipeline import Pipeline
from evener.run.wiring import Circuit, Place, wire
from evener.runtime import get_runtime, pinning
from evener.testing import plans
from evener.testing.scripted_runtime import SHAPE, ScriptedRuntime, ScriptedSession, vector

PATIENCE_S = 20.0
DEVICE: tuple[int, ...] = ()
CORES = sorted(pinning.PROCESS_CORES)
SUM = State(input=vector("s"), output=vector("t"))
# Block 0 adds one, block 1 adds to what it has added up so far, block 2 adds one.
TEXTS = {(0, 0): b"x>h1", (1, 1): b"h1,s>h2,t", (2, 2): b"h2>y"}


def numbered(count: int) -> list[Frame]:
    return [(np.full(SHAPE, value, np.float32),) for value in range(count)]


def added_up(count: int) -> list[float]:
    """Say what the three blocks answer: the sum so far, and one for each time they added."""
    total, answers = 0.0, []
    for value in range(count):
        total += value + 1 + 1
        answers.append(total + 1)
    return answers


def opened(
    script: Callable[[str, float], None] = lambda *_: None,
    *,
    lanes: tuple[int, int, int],
    tell_states: bool = False,
) -> Pipeline:
    plan = plans.chain(*((1, [DEVICE] * count) for count in lanes), runtime="scripted")
    return Pipeline(
        plan,
        lambda first, last: TEXTS[first, last],
        inputs=[vector("x")],
        runtimes={"scripted": ScriptedRuntime(script)},
        states=[SUM],
        tell_states=tell_states,
    )


def answers(pipeline: Pipeline, count: int) -> list[float]:
    seen: list[float] = []
    pipeline.run(numbered(count), lambda _, answer: seen.append(float(answer[0][0])))
    return seen


def test_another_pipeline_goes_on_from_the_states_that_one_has_told() -> None:
    told: list[tuple[float, float]] = []

    with opened(lanes=(2, 1, 2), tell_states=True) as first:
        assert [tensor.name for tensor in first.outputs] == ["y"]
        assert first.states_told == ("s",)
        first.run(numbered(10), lambda _, got: told.append((float(got[0][0]), float(got[1][0]))))
    state = np.full(SHAPE, told[4][1], np.float32)
    with opened(lanes=(1, 1, 1)) as second:
        rest: list[float] = []
        second.run(
            numbered(10)[5:],
            lambda _, answer: rest.append(float(answer[0][0])),
            first=5,
            states={"s": state},
        )
        assert answers(second, 3) == added_up(3)  # a run begins at zero unless it is told

    assert [answer for answer, _ in told] == added_up(10)
    assert [answer for answer, _ in told[:5]] + rest == added_up(10)


def test_a_lane_keeps_the_states_that_its_sessions_read() -> None:
    other = State(input=vector("p"), output=vector("q"))
    sessions = [ScriptedSession(text, ScriptedRuntime()) for text in ("x>a", "a,s>y,t")]

    wiring = wire(sessions, inputs=[vector("x")], outputs=("y",), stage=0, states=[other, SUM])

    assert wiring.states == (vector("s"),)
    assert wiring.reads[1] == (Place("own", 0), Place("state", 0))
    assert wiring.renewed == (Place("own", 1),)


def test_a_new_state_may_be_handed_on_as_well() -> None:
    session = ScriptedSession("x,s>t", ScriptedRuntime())
    wiring = wire([session], inputs=[vector("x")], outputs=("t",), stage=0, states=[SUM])
    circuit, answer = Circuit([session], wiring), np.zeros(SHAPE, np.float32)

    for expected in (6, 12):
        circuit.run([np.full(SHAPE, 5, np.float32)], [answer])
        assert answer[0] == expected


def test_where_a_session_fails_the_state_stays_and_a_reset_makes_it_zero() -> None:
    def script(_text: str, value: float) -> None:
        if value < 0:
            raise RuntimeFailedError("no", runtime="scripted")

    session = ScriptedSession("x,s>y,t", ScriptedRuntime(script))
    wiring = wire([session], inputs=[vector("x")], outputs=("y",), stage=0, states=[SUM])
    circuit, answer = Circuit([session], wiring), np.zeros(SHAPE, np.float32)

    def run(value: float) -> float:
        circuit.run([np.full(SHAPE, value, np.float32)], [answer])
        return float(answer[0])

    assert [run(1), run(1)] == [2, 4]
    with pytest.raises(RuntimeFailedError):
        run(-1)
    assert run(1) == 6
    circuit.reset()
    assert run(1) == 2


@pytest.mark.parametrize("lanes", [(1, 1, 1), (2, 1, 1), (3, 1, 2)])
def test_each_frame_meets_the_state_that_the_one_before_it_left(
    lanes: tuple[int, int, int],
) -> None:
    with opened(lanes=lanes) as pipeline:
        assert answers(pipeline, 50) == added_up(50)


def test_frames_that_lanes_before_it_finish_out_of_order_come_to_it_in_order() -> None:
    second_is_done = threading.Event()

    def script(text: str, value: float) -> None:
        if text == "x>h1" and value == 0:
            assert second_is_done.wait(PATIENCE_S)
        elif text == "x>h1" and value == 2:
            second_is_done.set()  # its lane has put frame 1 before it took this one

    with opened(script, lanes=(2, 1, 1)) as pipeline:
        assert answers(pipeline, 6) == added_up(6)


def test_each_run_begins_with_the_state_zero_after_a_failure_too() -> None:
    failing = False

    def script(text: str, value: float) -> None:
        if failing and text == "x>h1" and value == 3:
            raise RuntimeFailedError("no", runtime="scripted")

    with opened(script, lanes=(2, 1, 1)) as pipeline:
        assert answers(pipeline, 5) == added_up(5)
        failing = True
        with pytest.raises(StageFailedError, match="at frame 3"):
            answers(pipeline, 8)
        failing = False
        assert answers(pipeline, 5) == added_up(5)


def test_several_lanes_for_a_state_are_refused() -> None:
    with (
        pytest.raises(
            InputError, match="stage 1 keeps the state 's' .* has 2 lanes, each of which"
        ),
        opened(lanes=(1, 2, 1)),
    ):
        pass


def staged(blocks: Blocks, cuts: tuple[int, int], copies: int) -> Plan:
    starts, ends = [0, cuts[0] + 1, cuts[1] + 1], [*cuts, len(blocks.blocks) - 1]
    stages = []
    for first, last, lanes in zip(starts, ends, (copies, 1, 1), strict=True):
        part = Part(first_block=first, last_block=last, runtime="onnxruntime")
        lane = Lane(processor="cpu0", cores=(CORES[0],), parts=(part,), time_s=1.0)
        stages.append(
            Stage(
                first_block=first,
                last_block=last,
                inputs=tuple(tensor.name for tensor in blocks.blocks[first].inputs),
                outputs=tuple(tensor.name for tensor in blocks.blocks[last].outputs),
                lanes=(lane,) * lanes,
            )
        )
    return plans.of_stages(*stages)


def speech(trained: Callable[[str], Path]) -> Network:
    return load_network(
        trained("silero_vad/data/silero_vad.onnx"),
        shapes={"input": (1, 576), "state": (2, 1, 128)},
        fixed={"sr": 16000},
        states={"stateN": "state"},
    )


@pytest.mark.parametrize(
    ("copies", "transport"), [(1, "threads"), (3, "threads"), (2, "processes")]
)
def test_a_speech_detector_split_in_three_answers_as_the_whole_to_the_bit(
    trained: Callable[[str], Path], copies: int, transport: str
) -> None:
    network = speech(trained)
    blocks = cut_into_blocks(network, "paper")
    frames = random_frames(network.inputs, 40, seed=0)
    runtime = get_runtime("onnxruntime")
    unsplit = run_unsplit(
        whole_model(network),
        frames,
        inputs=network.inputs,
        outputs=network.outputs,
        runtime=runtime,
        core=CORES[0],
        states=network.states,
        optimisation="extended",
    )
    compared = Answers(unsplit.answers)

    with Pipeline(
        staged(blocks, (1, 3), copies),
        lambda first, last: segment_model(network, blocks, first, last),
        inputs=network.inputs,
        runtimes={"onnxruntime": runtime},
        states=network.states,
        optimisation="extended",
        transport=transport,
    ) as pipeline:
        for _ in range(2):  # the second run begins anew
            pipeline.run(frames, compared.compare)

    assert (compared.frames, compared.equal) == (80, True)
    assert len({answer[0].tobytes() for answer in unsplit.answers}) == 40


def test_no_frame_may_be_left_out_of_a_state() -> None:
    with (
        opened(lanes=(1, 1, 1)) as pipeline,
        pytest.raises(InputError, match="keeps a state .* choose the policy 'block'"),
    ):
        pipeline.run(numbered(3), lambda *_: None, policy="latest_only")


@pytest.mark.parametrize("transport", ["threads", "processes"])
def test_a_run_may_begin_at_any_number_wherever_the_lanes_live(transport: str) -> None:
    seen: list[tuple[int, float]] = []
    with Pipeline(
        plans.chain(*((1, [DEVICE] * count) for count in (2, 1, 1)), runtime="scripted"),
        lambda first, last: TEXTS[first, last],
        inputs=[vector("x")],
        runtimes={"scripted": ScriptedRuntime()},
        states=[SUM],
        transport=transport,
    ) as pipeline:
        for first in (7, 3):
            pipeline.run(
                numbered(5),
                lambda number, answer: seen.append((number, float(answer[0][0]))),
                first=first,
            )

    expected = added_up(5)
    assert seen == [(first + at, expected[at]) for first in (7, 3) for at in range(5)]
