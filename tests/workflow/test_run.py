"""A run answers every frame as the unsplit network does, and says so truthfully."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from onnx import TensorProto, helper

from evener.artifacts.files import save
from evener.errors import InputError
from evener.network.frames import random_frames
from evener.network.model import load_network
from evener.testing import tiny
from evener.workflow.by_hand import plan_by_hand
from evener.workflow.check_plan import check_plan
from evener.workflow.frames import POOL
from evener.workflow.opening import open_network
from evener.workflow.plan import plan_network
from evener.workflow.run import run_network


@pytest.mark.usefixtures("two_cores")
def test_a_network_in_two_stages_answers_as_the_whole_to_the_bit(net: str) -> None:
    result = run_network(net, frames=100, stages=2, optimisation="extended")

    assert len(result.plan.stages) == 2
    assert result.trace.frames == 100 > POOL
    assert (result.trace.equal, result.trace.max_error, result.tolerance) == (True, 0.0, 0.0)
    assert result.holds
    assert result.unsplit_rate_hz is not None
    assert result.unsplit_rate_hz > 0


@pytest.mark.usefixtures("two_cores")
def test_several_threads_may_add_in_another_order_than_one(net: str, tmp_path: Path) -> None:
    plan = plan_by_hand(net, cuts=[], on=[("cpu0", 2)], runtimes=["onnxruntime"])
    save(tmp_path / "plan.json", plan)

    result = run_network(net, frames=4, plan=tmp_path / "plan.json", optimisation="extended")

    assert result.tolerance == 1e-6
    assert result.holds


@pytest.mark.usefixtures("two_cores")
def test_answers_are_written_in_the_order_of_the_frames(net: str, tmp_path: Path) -> None:
    frames = np.stack([frame for (frame,) in tiny.frames(9)])
    np.savez(tmp_path / "in.npz", x=frames)
    run = {"frames": tmp_path / "in.npz", "optimisation": "extended"}

    run_network(net, stages=1, out=tmp_path / "whole.npz", **run)  # type: ignore[arg-type] # as given
    result = run_network(net, stages=2, out=tmp_path / "split.npz", **run)  # type: ignore[arg-type] # as given

    assert result.trace.frames == 9
    with np.load(tmp_path / "whole.npz") as whole, np.load(tmp_path / "split.npz") as split:
        assert split["y"].shape == (9, 2, tiny.WIDTH)
        assert np.array_equal(whole["y"], split["y"])
        assert len(np.unique(whole["y"][:, 0, 0])) == 9


def test_several_inputs_and_outputs_run(write: Callable[[str, bytes], str], tmp_path: Path) -> None:
    net = write("branching.onnx", tiny.branching())
    out = tmp_path / "out.npz"

    result = run_network(net, frames=5, out=out)

    (a, b) = random_frames(load_network(net).inputs, 5, seed=0)[3]
    assert result.holds
    with np.load(out) as answers:
        assert list(answers) == ["sum", "larger", "total"]
        assert np.array_equal(answers["sum"][3], a + b)
        assert np.array_equal(answers["larger"][3], a > b)
        assert np.array_equal(answers["total"][3], (a + b).max(axis=1))


@pytest.mark.usefixtures("two_cores")
def test_a_plan_file_is_followed(net: str, tmp_path: Path) -> None:
    plan = plan_network(net, stages=2)
    save(tmp_path / "plan.json", plan)

    result = run_network(net, frames=4, plan=tmp_path / "plan.json")

    assert result.plan == plan


def test_a_plan_of_another_network_is_refused(
    net: str, write: Callable[[str, bytes], str], tmp_path: Path
) -> None:
    save(tmp_path / "plan.json", plan_network(net, stages=1))
    other = write("other.onnx", tiny.dense(layers=4, seed=1))

    with pytest.raises(InputError, match="the plan is of dense .*, not of other"):
        run_network(other, frames=4, plan=tmp_path / "plan.json")


def test_a_plan_for_cores_that_are_not_here_is_refused(net: str) -> None:
    plan = plan_network(net, stages=1)
    (stage,) = plan.stages
    lane = msgspec.structs.replace(stage.lanes[0], cores=(4096,))
    foreign = msgspec.structs.replace(plan, stages=(msgspec.structs.replace(stage, lanes=(lane,)),))

    with pytest.raises(InputError, match=r"the plan wants cpu0 with cores \[4096\]"):
        check_plan(foreign, open_network(net))


def test_a_plan_for_a_runtime_that_is_not_used_is_refused(net: str) -> None:
    plan = plan_network(net, stages=1)
    (stage,) = plan.stages
    part = msgspec.structs.replace(stage.lanes[0].parts[0], runtime="rknn")
    lane = msgspec.structs.replace(stage.lanes[0], parts=(part,))
    foreign = msgspec.structs.replace(plan, stages=(msgspec.structs.replace(stage, lanes=(lane,)),))

    with pytest.raises(InputError, match="the plan wants the runtime rknn"):
        check_plan(foreign, open_network(net))


def test_a_plan_file_and_a_number_of_stages_contradict(net: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="already fixes its stages"):
        run_network(net, frames=4, plan=tmp_path / "plan.json", stages=2)


def test_no_frame_is_refused(net: str) -> None:
    with pytest.raises(InputError, match="must be at least 1"):
        run_network(net, frames=0)


def test_a_place_that_cannot_be_written_is_refused_before_the_run(net: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    for place in (tmp_path, tmp_path / "file" / "out.npz"):
        with pytest.raises(InputError, match="cannot write"):
            run_network(net, frames=4, out=place)
    assert not (tmp_path / "cache").exists()


def test_more_credits_than_frames_take_no_more_memory(net: str) -> None:
    result = run_network(net, frames=3, credits=10**9)

    assert result.trace.frames == 3


def gather(write: Callable[[str, bytes], str]) -> str:
    """Write a network that looks up a row of a table of four."""
    node = helper.make_node("Gather", ["table", "at"], ["row"])
    return write(
        "gather.onnx",
        tiny.network(
            [node],
            inputs=[helper.make_tensor_value_info("at", TensorProto.INT64, [1])],
            outputs=[tiny.floats("row", 1, 2)],
            weights={"table": np.arange(8, dtype=np.float32).reshape(4, 2)},
        ),
    )


def test_a_frame_that_the_network_cannot_answer_is_named(
    write: Callable[[str, bytes], str], tmp_path: Path
) -> None:
    np.savez(tmp_path / "in.npz", at=np.array([[0], [3], [5000]]))

    with pytest.raises(InputError, match="frame 2 of .*in.npz cannot be answered"):
        run_network(gather(write), frames=tmp_path / "in.npz")


def test_answers_that_are_no_numbers_are_counted(write: Callable[[str, bytes], str]) -> None:
    net = write(
        "log.onnx",
        tiny.network(
            [
                helper.make_node("Sub", ["x", "x"], ["zero"]),
                helper.make_node("Log", ["zero"], ["y"]),
            ],
            inputs=[tiny.floats("x", 1, 2)],
            outputs=[tiny.floats("y", 1, 2)],
        ),
    )

    assert run_network(net, frames=4).not_finite == (0, 1, 2, 3)


def images(write: Callable[[str, bytes], str]) -> str:
    """Write a network of two blocks for frames of one row, which can grow."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["y"]),
    ]
    weights = {"w": np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)}
    content = tiny.network(
        nodes, inputs=[tiny.floats("x", 1, 8)], outputs=[tiny.floats("y", 1, 8)], weights=weights
    )
    return write("rows.onnx", content)


@pytest.mark.parametrize("transport", ["threads", "processes"])
def test_batches_answer_each_frame_as_the_network_does_alone(
    write: Callable[[str, bytes], str], tmp_path: Path, transport: str
) -> None:
    net = images(write)
    frames = np.stack([frame for (frame,) in tiny.frames(10, shape=(1, 8))])
    np.savez(tmp_path / "in.npz", x=frames)
    given: dict[str, Any] = {"frames": tmp_path / "in.npz", "stages": 1}

    run_network(net, out=tmp_path / "one.npz", **given)
    result = run_network(net, out=tmp_path / "four.npz", batch=4, transport=transport, **given)

    assert (result.trace.frames, result.trace.batch, result.tolerance) == (10, 4, 1e-4)
    assert sum(lane.frames for lane in result.trace.stages) == 3
    assert result.holds
    with np.load(tmp_path / "one.npz") as one, np.load(tmp_path / "four.npz") as four:
        assert four["y"].shape == (10, 1, 8)
        np.testing.assert_allclose(one["y"], four["y"], rtol=1e-5, atol=1e-6)


def test_a_network_that_takes_no_batches_is_refused(net: str) -> None:
    with pytest.raises(InputError, match="its first dimension must be 1; run it without --batch"):
        run_network(net, frames=4, batch=2)


@pytest.mark.usefixtures("two_cores")
def test_stages_in_processes_answer_as_the_whole_to_the_bit(net: str) -> None:
    result = run_network(net, frames=70, stages=2, optimisation="extended", transport="processes")

    assert (result.trace.frames, result.trace.equal) == (70, True)
    assert [lane.cores for lane in result.trace.stages] == [
        lane.cores for stage in result.plan.stages for lane in stage.lanes
    ]


def test_a_source_at_a_rate_keeps_its_numbers_where_frames_are_left_out(net: str) -> None:
    result = run_network(
        net, frames=300, stages=1, credits=1, policy="latest_only", source_rate_hz=1e6
    )

    assert result.trace.frames + result.trace.dropped == 300
    assert result.trace.dropped > 0  # a million frames a second are too many
    assert result.holds


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"out": Path("a.npz"), "policy": "drop_newest"}, "a.npz holds an answer to each frame"),
        ({"batch": 4, "policy": "latest_only"}, "--batch waits for 4 frames, and --policy lat"),
    ],
)
def test_what_cannot_go_together_is_refused(
    net: str, choices: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run_network(net, frames=4, **choices)


@pytest.mark.usefixtures("two_cores")
def test_a_plan_by_the_rule_node_names_its_nodes_and_runs_from_its_file(
    write: Callable[[str, bytes], str], tmp_path: Path
) -> None:
    net = write("unet.onnx", tiny.unet(depth=2))
    rule = {"granularity": "node", "max_live": 3, "runtimes": ["onnxruntime"]}
    plan = plan_by_hand(net, cuts=[2], on=[("cpu0", 1)] * 2, **rule)  # type: ignore[arg-type] # as given
    save(tmp_path / "plan.json", plan)

    result = run_network(net, frames=20, plan=tmp_path / "plan.json", optimisation="extended")

    assert plan.max_live == 3
    assert [stage.outputs for stage in plan.stages] == [("s0", "s1", "bottom"), ("y",)]
    assert [stage.nodes[0] for stage in plan.stages] == ["c_s0", "u1"]
    live = [node.name for node in load_network(net).model.graph]
    assert [name for stage in plan.stages for name in stage.nodes] == live
    assert (result.trace.equal, result.trace.max_error) == (True, 0.0)


@pytest.mark.usefixtures("two_cores")
def test_a_plan_whose_cuts_are_numbered_anew_is_refused(
    write: Callable[[str, bytes], str], tmp_path: Path
) -> None:
    net = write("unet.onnx", tiny.unet(depth=2))
    rule = {"granularity": "node", "max_live": 3, "runtimes": ["onnxruntime"]}
    plan = plan_by_hand(net, cuts=[2], on=[("cpu0", 1)] * 2, **rule)  # type: ignore[arg-type] # as given
    save(tmp_path / "plan.json", msgspec.structs.replace(plan, max_live=2))

    with pytest.raises(InputError, match="lets s0, s1, bottom cross at an end of stage 0, where"):
        run_network(net, frames=1, plan=tmp_path / "plan.json")
