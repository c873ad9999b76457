"""Networks that people use, split in two, held against the whole."""

from functools import cache
from typing import NamedTuple

import pytest

from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.errors import StageFailedError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.frames import random_frames
from evener.network.model import Network, load_network
from evener.network.split import segment_model, whole_model
from evener.run.equality import Answers, run_unsplit
from evener.run.pipeline import Pipeline
from evener.runtime import get_runtime, installed, pinning
from evener.runtime.session import Optimisation
from evener.testing import plans

CORES = sorted(pinning.PROCESS_CORES)


class Cut(NamedTuple):
    network: Network
    blocks: Blocks


@cache
def cut(name: str) -> Cut:
    network = load_network(name)
    return Cut(network, cut_into_blocks(network, "strict"))


def halved(blocks: Blocks, runtimes: tuple[str, str]) -> Plan:
    count = len(blocks.blocks)
    spans = [(0, count // 2 - 1), (count // 2, count - 1)]
    stages = []
    for (first, last), core, runtime in zip(spans, (CORES[0], CORES[-1]), runtimes, strict=True):
        part = Part(first_block=first, last_block=last, runtime=runtime)
        lane = Lane(processor=f"cpu{core}", cores=(core,), parts=(part,), time_s=1.0)
        stage = Stage(
            first_block=first,
            last_block=last,
            inputs=tuple(tensor.name for tensor in blocks.blocks[first].inputs),
            outputs=tuple(tensor.name for tensor in blocks.blocks[last].outputs),
            lanes=(lane,),
        )
        stages.append(stage)
    return plans.of_stages(*stages)


def compared(
    name: str,
    optimisation: Optimisation,
    runtimes: tuple[str, str] = ("onnxruntime", "onnxruntime"),
) -> Answers:
    network, blocks = cut(name)
    frames = random_frames(network.inputs, 5, seed=1)
    unsplit = run_unsplit(
        whole_model(network),
        frames,
        inputs=network.inputs,
        outputs=network.outputs,
        runtime=get_runtime("onnxruntime"),
        core=CORES[0],
        optimisation=optimisation,
    )
    answers = Answers(unsplit.answers)
    with Pipeline(
        halved(blocks, runtimes),
        lambda first, last: segment_model(network, blocks, first, last),
        inputs=network.inputs,
        runtimes=installed(),
        optimisation=optimisation,
    ) as pipeline:
        pipeline.run(frames, answers.compare)
    return answers


@pytest.mark.parametrize("name", ["squeezenet", "resnet50"])
def test_at_the_extended_level_halves_answer_as_the_whole_to_the_bit(name: str) -> None:
    found = compared(name, "extended")

    assert (found.frames, found.equal, found.max_error) == (5, True, 0.0)


@pytest.mark.parametrize("name", ["squeezenet", "resnet50"])
def test_at_every_level_halves_answer_as_the_whole_within_rounding(name: str) -> None:
    assert compared(name, "all").max_error <= 1e-6


def test_another_runtime_for_a_stage_stays_within_single_precision() -> None:
    pytest.importorskip("openvino")

    assert compared("squeezenet", "all", ("onnxruntime", "openvino")).max_error <= 1e-4


def test_a_lane_executes_its_parts_as_planned() -> None:
    pytest.importorskip("openvino")
    network, blocks = cut("squeezenet")
    part = Part(
        first_block=0, last_block=len(blocks.blocks) - 1, runtime="openvino", execution="parallel"
    )
    lane = Lane(processor="cpu0", cores=(CORES[0],), parts=(part,), time_s=1.0)
    stage = Stage(
        first_block=0, last_block=part.last_block, inputs=("data_0",), outputs=(), lanes=(lane,)
    )

    with (
        pytest.raises(StageFailedError, match="openvino computes branches one after the other"),
        Pipeline(
            plans.of_stages(stage),
            lambda first, last: segment_model(network, blocks, first, last),
            inputs=network.inputs,
            runtimes=installed(),
        ),
    ):
        pass
