"""A network on a board has the table's times, or says what they are instead."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from evener.artifacts.board import load_board
from evener.errors import InputError
from evener.network.model import load_network
from evener.network.split import segment_model
from evener.plan.board import board_profile
from evener.workflow.board import open_on_board
from evener.workflow.cutting import Cutting

BOARD = """
name = "desk"
source = "made up"

[processors.big]
kind = "cpu"
cores = [0, 1]
runtime = "armcl"
precision = "f32"

[networks.net.big]
part_ms = [5.0, 7.0]
"""
PARTS = """
[parts.net]
blocks = [3, 1]
macs = {macs}
"""


@pytest.fixture
def board(tmp_path: Path) -> Callable[[str], str]:
    def write(more: str) -> str:
        path = tmp_path / "desk.toml"
        path.write_text(BOARD + more)
        return str(path)

    return write


@pytest.mark.parametrize(
    ("net", "parts"), [("alexnet", 8), ("googlenet", 11), ("resnet50", 18), ("squeezenet", 10)]
)
def test_a_built_in_network_has_the_parts_of_its_table_and_real_blocks(
    net: str, parts: int
) -> None:
    opened = open_on_board(net, "rk3399pro")

    assert opened.network is not None
    assert opened.blocks is not None
    assert opened.profile.blocks == opened.blocks.blocks
    assert len(opened.profile.blocks) == opened.board.timed(net).parts == parts
    assert opened.profile.network_sha256 == opened.network.sha256
    assert all(block.outputs for block in opened.profile.blocks)
    # What is to be run can be cut out.
    assert segment_model(opened.network, opened.blocks, parts - 1, parts - 1)


def test_a_table_without_a_network_to_go_with_it_has_nameless_parts() -> None:
    opened = open_on_board("inception-v3", "khadas-vim3")

    assert (opened.network, opened.blocks) == (None, None)
    assert [block.name for block in opened.profile.blocks[:2]] == ["part 0", "part 1"]


def test_times_are_those_of_the_table_whoever_names_the_blocks() -> None:
    opened = open_on_board("googlenet", "khadas-vim3")
    costs = load_board("khadas-vim3").timed("googlenet").highest("G")

    times_s = [
        one.median_s
        for one in opened.profile.segments
        if one.processor == "G" and one.first_block == one.last_block
    ]
    assert times_s == [cost.time_s for cost in costs]


@pytest.mark.parametrize(
    ("net", "said"),
    [
        ("googlenet", None),
        ("alexnet", "another variant of alexnet, whose parts do 1 to 1.2 times"),
        ("resnet50", "another variant of resnet50, whose parts do 0.43 to 1 times"),
        ("squeezenet", "another variant of squeezenet, whose parts do 0.96 to 7.9 times"),
    ],
)
def test_a_network_whose_table_is_of_a_variant_says_by_how_much(net: str, said: str | None) -> None:
    profile = open_on_board(net, "rk3399pro").profile

    assert (profile.estimate is None) == (said is None)
    assert said is None or said in str(profile.estimate)
    assert profile.estimate_error is None
    assert all(one.interpolated for one in profile.segments) == (said is not None)


def test_a_file_of_the_same_blocks_and_work_has_the_times_of_the_table(
    net: str, board: Callable[[str], str]
) -> None:
    macs = sums(net, board)

    opened = open_on_board(net, board(PARTS.format(macs=macs)))

    assert opened.profile.network == "dense"
    assert opened.profile.estimate is None
    assert [one.median_s for one in opened.profile.segments] == [0.005, 0.012, 0.007]
    assert opened.blocks is not None
    assert [block.operators["MatMul"] for block in opened.blocks.blocks] == [3, 1]


@pytest.mark.parametrize("factor", [1.04, 1.06])
def test_work_may_differ_by_a_twentieth_at_most(
    net: str, board: Callable[[str], str], factor: float
) -> None:
    macs = [round(factor * one) for one in sums(net, board)]
    written = board(PARTS.format(macs=macs))

    if factor > 1.05:
        with pytest.raises(InputError, match="has no times of dense and no cost model"):
            open_on_board(net, written)
    else:
        assert open_on_board(net, written).profile.estimate is None


def sums(net: str, board: Callable[[str], str]) -> list[int]:
    """Return the work of the first three blocks of a network together, and of the fourth."""
    model = """
[cost_model]
features = ["layers"]
part_error = [0.1, 0.2]
network_error = [0.1, 0.2]
rates.big = { ms = [1.0] }
"""
    macs = [block.macs for block in open_on_board(net, board(model)).profile.blocks]
    return [sum(macs[:3]), macs[3]]


def test_any_other_network_is_estimated_and_says_so() -> None:
    opened = open_on_board("shufflenet", "rk3399pro", transfers=True)

    profile = opened.profile
    model = load_board("rk3399pro").cost_model
    assert model is not None
    assert profile.estimate == "cost model of rk3399pro"
    assert profile.estimate_error == model.part_error == pytest.approx(0.11, abs=0.01)
    assert opened.blocks is not None
    assert profile.blocks == opened.blocks.blocks
    assert {one.processor for one in profile.segments} == {"B", "G", "L"}  # none of the NPU
    assert all(one.interpolated and one.repeats == 0 for one in profile.segments)
    assert all(one.energy_j is not None for one in profile.segments)
    assert profile.hand_off.transfers


@pytest.mark.parametrize(("loaded", "expected_s"), [("", 5e-3), ("input_bytes = 256", 5e-3 / 4)])
def test_loading_is_paid_per_byte_where_the_board_says_of_which_frame(
    net: str, board: Callable[[str], str], loaded: str, expected_s: float
) -> None:
    model = f"""
[cost_model]
features = ["layers"]
part_error = [0.1, 0.2]
network_error = [0.1, 0.2]
{loaded}
rates.big = {{ input_ms = 5.0, ms = [1.0] }}
"""
    profile = open_on_board(net, board(model)).profile

    whole = max(profile.segments, key=lambda one: one.last_block - one.first_block)
    assert [tensor.size_bytes for tensor in profile.blocks[0].inputs] == [64]
    assert whole.median_s == pytest.approx(expected_s + len(profile.blocks) * 1e-3)


def test_a_board_without_a_cost_model_cannot_estimate(
    net: str, board: Callable[[str], str]
) -> None:
    with pytest.raises(InputError, match=r"desk has no times of dense and no cost model .* net\."):
        open_on_board(net, board(""))


def test_what_is_neither_in_the_table_nor_a_network_is_refused_with_what_there_is() -> None:
    with pytest.raises(
        InputError,
        match=r"khadas-vim3 has no times of 'vgg20', .* Its table has alexnet, .*; built in are "
        r"alexnet, .*; or give the path of an ONNX file",
    ):
        open_on_board("vgg20", "khadas-vim3")


def test_shapes_are_for_networks_and_not_for_tables() -> None:
    with pytest.raises(InputError, match="measured with shapes of its own of mobilenet: leave"):
        open_on_board("mobilenet", "rk3399pro", Cutting(shapes={"x": (1, 3, 8, 8)}))


def test_parts_that_are_not_made_of_the_networks_blocks_are_refused() -> None:
    board = load_board("khadas-vim3")
    wrong = msgspec.structs.replace(board.timed("alexnet"), blocks=(2,) * 8)
    board = msgspec.structs.replace(board, networks={"alexnet": wrong})

    with pytest.raises(InputError, match="parts of 2, 2, .* do not make up 8 blocks"):
        board_profile(board, load_network("alexnet"), transfers=False, table="alexnet")
