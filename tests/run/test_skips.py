"""Tensors that skip stages are handed on by each, and every answer stays the whole network's."""

from collections.abc import Sequence

import pytest

from evener.artifacts.plan import Lane, Part, Plan, Stage
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.frames import random_frames
from evener.network.model import Network, load_network, parse_network
from evener.network.split import segment_model, whole_model
from evener.run.equality import Answers, run_unsplit
from evener.run.pipeline import Pipeline
from evener.runtime import get_runtime, installed, pinning
from evener.testing import plans, tiny

CORES = sorted(pinning.PROCESS_CORES)


def planned(blocks: Blocks, cuts: Sequence[int], lanes: Sequence[int]) -> Plan:
    stages = []
    starts = [0, *(cut + 1 for cut in cuts)]
    for first, last, copies in zip(starts, [*cuts, len(blocks.blocks) - 1], lanes, strict=True):
        part = Part(first_block=first, last_block=last, runtime="onnxruntime")
        stage = Stage(
            first_block=first,
            last_block=last,
            inputs=tuple(tensor.name for tensor in blocks.blocks[first].inputs),
            outputs=tuple(tensor.name for tensor in blocks.blocks[last].outputs),
            lanes=tuple(
                Lane(processor="cpu0", cores=(core,), parts=(part,), time_s=1.0)
                for core in (CORES * copies)[:copies]
            ),
        )
        stages.append(stage)
    return plans.of_stages(*stages)


def answered(network: Network, blocks: Blocks, plan: Plan, *, count: int) -> Answers:
    frames = random_frames(network.inputs, count, seed=1)
    unsplit = run_unsplit(
        whole_model(network),
        frames,
        inputs=network.inputs,
        outputs=network.outputs,
        runtime=get_runtime("onnxruntime"),
        core=CORES[0],
        optimisation="extended",
    )
    answers = Answers(unsplit.answers)
    with Pipeline(
        plan,
        lambda first, last: segment_model(network, blocks, first, last),
        inputs=network.inputs,
        runtimes=installed(),
        optimisation="extended",
    ) as pipeline:
        pipeline.run(frames, answers.compare)
    return answers


@pytest.mark.parametrize("lanes", [[1] * 6, [2, 1, 3, 1, 2, 2]], ids=["plain", "replicated"])
def test_skips_over_three_stages_and_more_leave_every_answer_equal_to_the_bit(
    lanes: list[int],
) -> None:
    network = parse_network(tiny.unet(depth=3), name="unet")
    blocks = cut_into_blocks(network, "node", max_live=4)
    # s0 is made in the first stage and read in the last, s1 and s2 are further in.
    cuts = [0, 1, 2, 3, 5]
    crossing = [{tensor.name for tensor in blocks.cuts[cut]} for cut in cuts]

    found = answered(network, blocks, planned(blocks, cuts, lanes), count=25)

    assert all("s0" in one for one in crossing)
    assert sum("s1" in one for one in crossing) >= 3
    assert (found.frames, found.equal, found.max_error) == (25, True, 0.0)


def test_a_module_parted_between_its_branches_answers_as_the_whole_to_the_bit() -> None:
    network = load_network("squeezenet")
    blocks = cut_into_blocks(network, "node")
    inside = [at for at, cut in enumerate(blocks.cuts) if len(cut) == 2][2:5]

    found = answered(network, blocks, planned(blocks, inside, [1, 2, 1, 1]), count=6)

    assert (found.frames, found.equal, found.max_error) == (6, True, 0.0)
