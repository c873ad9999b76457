"""Networks of several inputs and outputs, through stages."""

from itertools import pairwise

import numpy as np
import pytest
from onnx import helper

from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.frames import random_frames
from evener.network.model import Network, parse_network
from evener.network.split import segment_model
from evener.run.pipeline import Pipeline
from evener.runtime import installed
from evener.runtime.session import Array
from evener.testing import plans, tiny
from evener.testing.session_contract import CORE

W = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)


@pytest.fixture
def network() -> Network:
    """Two products that can be cut apart, an input for nobody, and a constant that is answered."""
    content = tiny.network(
        [
            helper.make_node("Add", ["a", "b"], ["sum"]),
            helper.make_node("MatMul", ["sum", "w"], ["product"]),
            helper.make_node("Relu", ["product"], ["hidden"]),
            helper.make_node("MatMul", ["hidden", "w"], ["y"]),
            helper.make_node("Tanh", ["y"], ["z"]),
            helper.make_node("Exp", ["c"], ["fixed"]),
        ],
        inputs=[tiny.floats("unread", 3), tiny.floats("a", 2, 4), tiny.floats("b", 2, 4)],
        outputs=[tiny.floats("z", 2, 4), tiny.floats("fixed", 2), tiny.floats("y", 2, 4)],
        weights={"w": W, "c": np.array([0, 1], np.float32)},
    )
    return parse_network(content, name="many")


def by_stages(blocks: Blocks, ends: list[int], runtime: str, lanes: int) -> Plan:
    stages = []
    for first, end in pairwise([0, *ends]):
        part = Part(first_block=first, last_block=end - 1, runtime=runtime)
        lane = Lane(processor="cpu0", cores=(CORE,), parts=(part,), time_s=1.0)
        stage = Stage(
            first_block=first,
            last_block=end - 1,
            inputs=tuple(tensor.name for tensor in blocks.blocks[first].inputs),
            outputs=tuple(tensor.name for tensor in blocks.blocks[end - 1].outputs),
            lanes=(lane,) * lanes,
        )
        stages.append(stage)
    return plans.of_stages(*stages)


@pytest.mark.parametrize(
    ("runtime", "ends", "lanes", "transport"),
    [
        *(
            pytest.param(runtime, ends, lanes, "threads", id=f"{runtime}-{len(ends)}x{lanes}")
            for runtime in installed()
            for ends in ([2], [1, 2])
            for lanes in (1, 2)
        ),
        pytest.param("onnxruntime", [1, 2], 1, "processes", id="processes"),
    ],
)
def test_each_output_is_that_of_the_formula_in_the_networks_order(
    network: Network, runtime: str, ends: list[int], lanes: int, transport: str
) -> None:
    blocks = cut_into_blocks(network, "strict")
    frames = random_frames(network.inputs, 7, seed=0)
    answers: list[list[Array]] = []
    with Pipeline(
        by_stages(blocks, ends, runtime, lanes),
        lambda first, last: segment_model(network, blocks, first, last),
        inputs=network.inputs,
        runtimes=installed(),
        transport=transport,
    ) as pipeline:
        pipeline.run(frames, lambda _, answer: answers.append([one.copy() for one in answer]))

    assert len(blocks.blocks) == 2
    assert pipeline.outputs == network.outputs
    for (_, a, b), (z, fixed, y) in zip(frames, answers, strict=True):
        expected = np.maximum((a + b) @ W, 0) @ W
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(z, np.tanh(expected), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(fixed, np.exp([0, 1]), rtol=1e-6)
