"""A block that holds up all other stages although it can be opened."""

from collections.abc import Callable
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from onnx import helper

from evener.artifacts.plan import Plan
from evener.artifacts.processors import Machine, Processor
from evener.artifacts.profile import Granularity, HandOff, Profile, SegmentTime
from evener.network.blocks import cut_into_blocks
from evener.plan import make_plan
from evener.testing import tiny
from evener.workflow.cutting import Cutting
from evener.workflow.dominant import find_dominant

MAC_S = 1e-6
PROCESSORS = tuple(
    Processor(name=f"cpu{core}", kind="cpu", cores=(core,), runtimes=("scripted",))
    for core in range(3)
)


@pytest.fixture
def net(write: Callable[[str, bytes], str]) -> str:
    """Return a network with two long branches between a first and a last layer."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "first")]
    for branch in "bc":
        names = ["a", *(f"{branch}{index}" for index in range(4))]
        nodes += [
            helper.make_node("MatMul", [read, "w"], [made], f"layer_{made}")
            for read, made in pairwise(names)
        ]
    nodes.append(helper.make_node("Add", ["b3", "c3"], ["sum"], "join"))
    nodes.append(helper.make_node("MatMul", ["sum", "w"], ["y"], "last"))
    content = tiny.network(
        nodes,
        inputs=[tiny.floats("x", 1, 4)],
        outputs=[tiny.floats("y", 1, 4)],
        weights={"w": np.eye(4, dtype=np.float32)},
    )
    return write("branches.onnx", content)


def scripted(net: str, granularity: Granularity, cutting: Cutting = Cutting()) -> Profile:
    """Make a profile whose times follow from the multiply-accumulates alone."""
    network = cutting.load(net)
    blocks = cut_into_blocks(network, granularity)
    count = len(blocks.blocks)
    segments = []
    for first in range(count):
        for last in range(first, count):
            if blocks.form_segment(first, last):
                macs = sum(block.macs for block in blocks.blocks[first : last + 1])
                segments += [
                    SegmentTime(
                        first_block=first,
                        last_block=last,
                        processor=processor.name,
                        cores=1,
                        runtime="scripted",
                        median_s=macs * MAC_S,
                        low_s=macs * MAC_S,
                        high_s=macs * MAC_S,
                        repeats=5,
                    )
                    for processor in PROCESSORS
                ]
    return Profile(
        network=network.name,
        network_sha256=network.sha256,
        granularity=granularity,
        blocks=blocks.blocks,
        machine=Machine(host="lab", system="", processors=PROCESSORS, runtimes={"scripted": "1"}),
        segments=tuple(segments),
        hand_off=HandOff(fixed_s=1e-9, passed_per_byte_s=1e-12),
        max_live=blocks.max_live,
    )


def three_stages(net: str, granularity: Granularity) -> Plan:
    return make_plan(scripted(net, granularity), stages=3)


def test_the_block_is_named_with_its_share_and_the_places_inside(net: str) -> None:
    profile = scripted(net, "paper")

    found = find_dominant(net, make_plan(profile, stages=3), profile)

    assert found is not None
    assert (found.block, found.name, found.places) == (1, "layer_b0", 19)
    assert found.share == pytest.approx(8 / 10)
    assert found.processor in {"cpu0", "cpu1", "cpu2"}


def test_opening_it_makes_the_plan_faster(net: str) -> None:
    closed, opened = three_stages(net, "paper"), three_stages(net, "node")

    # Of ten equal layers the closed block holds eight, and three stages hold four at most.
    assert closed.rate_hz == pytest.approx(1 / (8 * 16 * MAC_S), rel=1e-3)
    assert opened.rate_hz == pytest.approx(1 / (4 * 16 * MAC_S), rel=1e-3)


def test_a_plan_by_the_rule_node_has_nothing_left_to_open(net: str) -> None:
    profile = scripted(net, "node")

    assert find_dominant(net, make_plan(profile, stages=3), profile) is None


def test_a_stage_of_several_blocks_is_no_block_that_dominates(net: str) -> None:
    profile = scripted(net, "paper")

    assert find_dominant(net, make_plan(profile, stages=2), profile) is None
    assert find_dominant(net, make_plan(profile, stages=1), profile) is None


def test_a_replicated_block_is_not_alone(net: str) -> None:
    profile = scripted(net, "paper")
    plan = make_plan(profile, stages=3)
    stages = tuple(msgspec.structs.replace(stage, lanes=stage.lanes * 2) for stage in plan.stages)

    assert find_dominant(net, msgspec.structs.replace(plan, stages=stages), profile) is None


def test_a_block_of_one_layer_cannot_be_opened(write: Callable[[str, bytes], str]) -> None:
    net = write("dense.onnx", tiny.dense(layers=3))
    profile = scripted(net, "paper")
    slow = tuple(
        msgspec.structs.replace(one, median_s=1.0)
        if one.first_block == 1 == one.last_block
        else one
        for one in profile.segments
    )
    profile = msgspec.structs.replace(profile, segments=slow)

    assert find_dominant(net, make_plan(profile, stages=3), profile) is None


def test_where_nothing_runs_the_whole_network_no_share_is_told(net: str) -> None:
    profile = scripted(net, "paper")
    parts = tuple(one for one in profile.segments if (one.first_block, one.last_block) != (0, 2))

    profile = msgspec.structs.replace(profile, segments=parts)

    assert find_dominant(net, make_plan(profile, stages=3), profile) is None


def test_a_network_is_opened_as_it_was_planned(write: Callable[[str, bytes], str]) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "first"),
        helper.make_node("Mul", ["a", "gain"], ["b"], "scale"),
        helper.make_node("MatMul", ["b", "w"], ["y"], "last"),
    ]
    content = tiny.network(
        nodes,
        inputs=[tiny.floats("x", "n", 4), tiny.floats("gain")],
        outputs=[tiny.floats("y", "n", 4)],
        weights={"w": np.eye(4, dtype=np.float32)},
    )
    net = write("gain.onnx", content)
    cutting = Cutting(shapes={"x": (1, 4)}, fixed={"gain": 2.0})
    profile = scripted(net, "paper", cutting)
    plan = make_plan(profile, stages=2)
    slow = msgspec.structs.replace(plan.stages[0].lanes[0], time_s=1.0)
    stages = (msgspec.structs.replace(plan.stages[0], lanes=(slow,)), plan.stages[1])

    assert len(profile.blocks) == 2  # with the gain as an input it would be one
    slowed = msgspec.structs.replace(plan, stages=stages)
    assert find_dominant(net, slowed, profile, cutting) is None
