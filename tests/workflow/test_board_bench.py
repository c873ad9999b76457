"""Plans for a board run over its simulated processors, against what needs no planner there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evener.errors import InputError
from evener.plan.decide import make_baseline
from evener.testing import tiny
from evener.workflow.board import open_on_board
from evener.workflow.board_bench import bench_on_board

BOARD = """
name = "desk"
source = "made up"
[processors.big]
kind = "cpu"
cores = [0, 1]
runtime = "armcl"
precision = "f32"
[processors.gpu]
kind = "gpu"
runtime = "armcl"
precision = "f32"
[networks.four.big]
part_ms = [2.0, 2.0, 4.0, 4.0]
[networks.four.gpu]
part_ms = [4.0, 4.0, 2.0, 2.0]
[parts.four]
blocks = [1, 1, 1, 1]
macs = [128, 128, 128, 128]
"""


@pytest.fixture
def board(tmp_path: Path) -> str:
    """Return the path of a board on which the halves of a network of four blocks go apart."""
    path = tmp_path / "desk.toml"
    path.write_text(BOARD)
    return str(path)


def test_the_plan_beats_what_needs_no_planner_by_what_is_predicted(net: str, board: str) -> None:
    found = bench_on_board([net], board=board, rounds=2, compute=False)

    rows = {row.kind: row for row in found.rows}
    assert list(rows) == ["plan", "single", "all_cores", "copies"]
    assert (found.board, found.slowdown, found.simulated, found.rounds) == ("desk", 1.0, False, 2)
    assert not found.computed
    # 4 ms a stage; 12 ms on either processor alone; two copies of 12 ms each.
    assert {kind: row.predicted_rate_hz for kind, row in rows.items()} == {
        "plan": pytest.approx(1 / 0.004),
        "single": pytest.approx(1 / 0.012),
        "all_cores": pytest.approx(1 / 0.012),
        "copies": pytest.approx(2 / 0.012),
    }
    assert all(0 < row.rate_low_hz <= row.rate_hz <= row.rate_high_hz for row in found.rows)
    assert rows["single"].rate_hz == rows["all_cores"].rate_hz  # they run the same


def test_the_slowdown_is_taken_out_of_what_is_told(net: str, board: str) -> None:
    found = bench_on_board([net], board=board, rounds=1, slowdown=3.0, compute=False)

    plan = found.rows[0]
    assert found.slowdown == 3.0
    assert plan.predicted_rate_hz == pytest.approx(1 / 0.004)
    assert plan.latency_p50_s >= 0.008  # never quicker than the board; as it ran, thrice as long


def test_a_share_of_the_copies_latency_limits_the_plan(net: str, board: str) -> None:
    profile = open_on_board(net, board).profile

    found = bench_on_board([net], board=board, rounds=1, max_latency_share=0.9, compute=False)

    (limit,) = found.limits
    assert limit.copies_p99_s is not None
    assert limit.copies_p99_s >= make_baseline(profile, "copies").latency_s
    assert limit.max_latency_s == pytest.approx(0.9 * limit.copies_p99_s)


def test_processors_may_be_chosen(net: str, board: str) -> None:
    found = bench_on_board([net], board=board, rounds=1, processors=["gpu"], compute=False)

    assert {row.name for row in found.rows} == {"one session: gpu[]"}
    assert found.ratio_best == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slowdown": 0.5}, "a slowdown of 0.5 is none: give a factor from 1"),
        ({"granularity": "node"}, "give --board, or --granularity"),
    ],
)
def test_what_a_board_does_not_leave_open_is_refused(
    options: dict[str, object], message: str, net: str, board: str
) -> None:
    with pytest.raises(InputError, match=message):
        bench_on_board([net], board=board, **options)  # type: ignore[arg-type] # any of them


def test_a_network_that_the_board_knows_by_name_only_cannot_be_run() -> None:
    with pytest.raises(InputError, match="there is no network of that name here to be run"):
        bench_on_board(["mobilenet"], board="rk3399pro")


@pytest.mark.usefixtures("patient")
def test_each_of_several_networks_is_compared(
    net: str, board: str, write: Callable[[str, bytes], str]
) -> None:
    other = write("other.onnx", tiny.dense(layers=4, seed=1))

    found = bench_on_board([net, other], board=board, rounds=1, slowdown=2.0)

    assert [ratio.network for ratio in found.ratios] == ["dense", "other"]
    assert found.board == "desk"
    assert found.computed
