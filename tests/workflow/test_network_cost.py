"""What networks cost where they are to run, before any is trained."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx_ir as ir
import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends, Network
from evener.artifacts.plan import Objective
from evener.artifacts.project import DataSection, TrainSection
from evener.artifacts.requirements import parse_requirement
from evener.data.load import load_dataset
from evener.network.blocks import cut_into_blocks
from evener.network.draft import draft_network, file_bytes
from evener.network.features import block_features
from evener.network.model import parse_network
from evener.train.export import export_onnx
from evener.train.fit import train_network
from evener.workflow.network_cost import cost_on_board
from evener.workflow.plan import plan_network

TABLE = Ends(features=64, outputs=10)
PICTURES = Ends(features=784, outputs=10, picture=(1, 28, 28))
PICTURE = (1, 8, 8)
BOARD = "khadas-vim3"
SMALL = LayerGraph(widths=(32,), links=((0, 1), (1, 2)))
WIDE = LayerGraph(widths=(2048, 2048), links=((0, 1), (1, 2), (2, 3)))
STACK = ConvStack(
    blocks=tuple(Block(kind="conv3x3", channels=16, stride=1) for _ in range(4)), hidden=32
)
TINY_BOARD = """
name = "desk"
source = "made up"

[processors.big]
kind = "cpu"
cores = [0]
runtime = "armcl"
precision = "f32"
memory = "1 kB"

[networks.net.big]
part_ms = [5.0, 7.0]

[cost_model]
features = ["layers"]
part_error = [0.1, 0.2]
network_error = [0.1, 0.2]
rates.big = { ms = [1.0] }
"""


def test_it_is_what_the_plan_of_the_file_comes_to(tmp_path: Path) -> None:
    path = tmp_path / "stack.onnx"
    path.write_bytes(ir.to_proto(draft_network(STACK, PICTURES).model).SerializeToString())
    plan = plan_network(str(path), board=BOARD)

    (cost,) = cost_on_board(BOARD, PICTURES)([STACK])

    assert cost["period_s"] == pytest.approx(1 / plan.rate_hz)
    assert cost["latency_s"] == pytest.approx(plan.latency_s)
    assert cost["energy_j"] == pytest.approx(plan.energy_j)
    assert cost["size_bytes"] == pytest.approx(path.stat().st_size, rel=0.05)


@pytest.mark.parametrize(
    "found",
    [
        Architecture(hidden=(32, 16)),
        LayerGraph(widths=(32, 16), links=((0, 1), (0, 2), (1, 2), (1, 3), (2, 3))),
        ConvStack(
            blocks=(
                Block(kind="conv3x3", channels=8, stride=2),
                Block(kind="conv3x3", channels=8, residual=True),
                Block(kind="depthwise3x3", channels=16),
                Block(kind="pool3x3", channels=16, stride=2),
                Block(kind="conv1x1", channels=12),
            ),
            hidden=24,
        ),
    ],
    ids=["chain", "graph", "blocks"],
)
def test_training_writes_the_blocks_that_were_planned(found: Network, tmp_path: Path) -> None:
    digits = load_dataset(DataSection(source="digits"), tmp_path)
    digits = replace(digits, picture=PICTURE)
    content = export_onnx(train_network(found, digits, TrainSection(epochs=1)))
    trained = parse_network(content, name="trained", shapes={"features": (1, 64)})

    draft = draft_network(found, Ends(features=64, outputs=10, picture=PICTURE))

    planned, written = cut_into_blocks(draft, "paper"), cut_into_blocks(trained, "paper")
    assert [one.macs for one in planned.blocks] == [one.macs for one in written.blocks]
    np.testing.assert_allclose(block_features(draft, planned), block_features(trained, written))
    assert file_bytes(draft) == pytest.approx(len(content), rel=0.1)


def test_costs_come_in_the_order_of_the_networks_however_often_they_are_asked_for() -> None:
    cost = cost_on_board(BOARD, TABLE)

    small, wide = cost([SMALL, WIDE])

    assert small["period_s"] < wide["period_s"]
    assert cost([WIDE, SMALL, WIDE]) == [wide, small, wide]
    assert cost([WIDE])[0] is wide


def test_a_plan_within_a_latency_is_not_the_quickest() -> None:
    quickest = cost_on_board(BOARD, TABLE)([WIDE])[0]
    limit = f"<= {quickest['latency_s'] * 0.8 * 1e3} ms"
    within = cost_on_board(BOARD, TABLE, requirements=[parse_requirement("latency_p99", limit)])(
        [WIDE]
    )[0]

    assert within["latency_s"] <= quickest["latency_s"] * 0.8
    assert within["period_s"] > quickest["period_s"]


@pytest.mark.parametrize(
    ("name", "share", "figure"),
    [
        ("throughput", 1.25, "period_s"),
        ("latency_p99", 0.8, "latency_s"),
        ("size", 0.8, "size_bytes"),
    ],
)
def test_a_hard_requirement_is_missed_by_the_share_it_is_missed_by(
    name: str, share: float, figure: str
) -> None:
    objective: Objective = "throughput" if name == "throughput" else "latency"
    reached = cost_on_board(BOARD, TABLE, objective=objective)([WIDE])[0][figure]
    limit = f">= {share / reached} /s" if name == "throughput" else f"<= {share * reached}"
    units = {"latency_p99": " s", "size": " B", "throughput": ""}
    hard = parse_requirement(name, limit + units[name])
    soft = parse_requirement(name, limit + units[name] + " ?")

    missed = cost_on_board(BOARD, TABLE, requirements=[hard], objective=objective)
    assert missed.violation(WIDE) == pytest.approx(0.25, rel=0.01)
    assert missed.violation(SMALL) == 0
    wished = cost_on_board(BOARD, TABLE, requirements=[soft], objective=objective)
    assert wished.violation(WIDE) == 0


def test_what_fits_into_no_memory_costs_infinitely_much(tmp_path: Path) -> None:
    board = tmp_path / "desk.toml"
    board.write_text(TINY_BOARD)
    cost = cost_on_board(
        str(board), TABLE, requirements=[parse_requirement("throughput", ">= 1 /s")]
    )

    assert cost([WIDE])[0]["period_s"] == math.inf
    assert cost.violation(WIDE) == math.inf


def test_energies_that_a_board_does_not_know_are_left_out(tmp_path: Path) -> None:
    board = tmp_path / "desk.toml"
    board.write_text(TINY_BOARD.replace('memory = "1 kB"', ""))

    (cost,) = cost_on_board(str(board), TABLE)([SMALL])

    assert sorted(cost) == ["latency_s", "period_s", "size_bytes"]
    assert cost["period_s"] == pytest.approx(2e-3)


def test_an_energy_that_a_board_does_not_know_limits_no_plan(tmp_path: Path) -> None:
    board = tmp_path / "desk.toml"
    board.write_text(TINY_BOARD.replace('memory = "1 kB"', ""))
    limits = [
        parse_requirement("energy", "<= 1 uJ"),
        parse_requirement("throughput", ">= 1000 /s"),
        parse_requirement("size", "<= 1 MB ?"),
        parse_requirement("accuracy", ">= 0.9"),
    ]

    known = cost_on_board(BOARD, TABLE, requirements=limits)
    unknown = cost_on_board(str(board), TABLE, requirements=limits)

    assert [one.name for one in known.limited] == ["energy", "throughput"]
    assert [one.name for one in unknown.limited] == ["throughput"]
    assert unknown.violation(SMALL) == pytest.approx(1.0)  # 500 in place of 1000 a second


def test_an_energy_is_missed_by_the_share_it_is_missed_by() -> None:
    (least,) = cost_on_board(BOARD, TABLE, objective="energy")([WIDE])
    limit = parse_requirement("energy", f"<= {0.8 * least['energy_j']} J")

    missed = cost_on_board(BOARD, TABLE, objective="energy", requirements=[limit])

    assert missed.violation(WIDE) == pytest.approx(0.25)
    assert missed.violation(SMALL) == 0
    assert missed.most("energy_j") == limit.limit
