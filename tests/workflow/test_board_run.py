"""A run on simulated processors answers as the real network, in the time of the board's table."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evener.artifacts.files import load, save
from evener.artifacts.plan import Plan
from evener.errors import InfeasibleError, InputError
from evener.testing import tiny
from evener.workflow.board_run import run_on_board
from evener.workflow.plan import plan_network


@pytest.mark.usefixtures("patient")
def test_a_network_runs_on_processors_that_are_not_here(net: str, board: str) -> None:
    result = run_on_board(net, board=board, frames=12, stages=2, optimisation="extended")

    assert (result.board, result.trace.simulated) == ("toy", True)
    assert (result.trace.equal, result.trace.max_error, result.tolerance) == (True, 0.0, 0.0)
    assert {lane.processor for stage in result.plan.stages for lane in stage.lanes} == {
        "big",
        "gpu",
    }
    assert [one.cores for one in result.trace.stages] == [(), ()]
    assert [one.planned_s for one in result.trace.stages] == pytest.approx([0.02, 0.02])
    assert all(one.median_s >= 0.02 for one in result.trace.stages)  # never quicker than the board
    assert result.unsplit_rate_hz == pytest.approx(25)
    assert result.plan.simulated is not None
    assert result.plan.simulated.rate_hz == pytest.approx(50)


@pytest.mark.usefixtures("patient")
def test_answers_can_be_written(net: str, board: str, tmp_path: Path) -> None:
    frames = np.stack([frame for (frame,) in tiny.frames(5)])
    np.savez(tmp_path / "in.npz", x=frames)

    run_on_board(net, board=board, frames=tmp_path / "in.npz", out=tmp_path / "out.npz")

    with np.load(tmp_path / "out.npz") as answers:
        assert answers["y"].shape == (5, 2, tiny.WIDTH)
        assert len(np.unique(answers["y"][:, 0, 0])) == 5


def test_without_computing_nothing_is_compared(net: str, board: str) -> None:
    result = run_on_board(net, board=board, frames=6, compute=False)

    assert (result.trace.equal, result.trace.max_error) == (None, None)
    assert result.holds
    assert not result.computed
    assert result.trace.overruns == 0


def test_without_computing_no_runtime_is_named(net: str, board: str) -> None:
    refusal = "nothing for onnxruntime to do: leave --runtimes out, or --no-compute"

    with pytest.raises(InputError, match=refusal):
        run_on_board(net, board=board, frames=6, compute=False, runtimes=("onnxruntime",))


@pytest.mark.usefixtures("patient")
def test_slowed_down_everything_takes_longer(net: str, board: str) -> None:
    result = run_on_board(net, board=board, frames=6, stages=2, slowdown=2.0)

    assert result.computed
    assert result.plan.rate_hz == pytest.approx(25)
    assert result.unsplit_rate_hz == pytest.approx(12.5)
    assert all(one.median_s >= 0.04 for one in result.trace.stages)


@pytest.mark.usefixtures("patient")
def test_a_plan_for_the_board_is_followed(net: str, board: str, tmp_path: Path) -> None:
    found = run_on_board(net, board=board, frames=4, stages=2)
    save(tmp_path / "plan.json", found.plan)

    again = run_on_board(net, board=board, frames=4, plan=tmp_path / "plan.json")

    assert again.plan == load(tmp_path / "plan.json", Plan).value


def test_a_plan_keeps_to_the_processors_that_may_be_used(
    net: str, board: str, tmp_path: Path
) -> None:
    found = run_on_board(net, board=board, frames=4, stages=2, compute=False)
    save(tmp_path / "plan.json", found.plan)
    first, second = (stage.lanes[0].processor for stage in found.plan.stages)

    with pytest.raises(InputError, match=f"the plan wants {second}, and only {first} may be used"):
        run_on_board(net, board=board, frames=4, plan=tmp_path / "plan.json", processors=[first])


def test_a_machine_that_is_slower_than_the_board_says_so(
    net: str, board: str, tmp_path: Path
) -> None:
    quick = tmp_path / "quick.toml"
    quick.write_text(Path(board).read_text().replace("10.0", "0.00001"))

    with pytest.raises(InfeasibleError, match="this machine computed longer than it would"):
        run_on_board(net, board=str(quick), frames=20)


def test_a_plan_for_this_machine_is_refused(net: str, board: str, tmp_path: Path) -> None:
    save(tmp_path / "plan.json", plan_network(net, stages=1))

    with pytest.raises(InputError, match=r"the plan .* with --board|plan with this --board"):
        run_on_board(net, board=board, frames=4, plan=tmp_path / "plan.json")


@pytest.mark.parametrize("wish", [{"stages": 2}, {"max_latency_s": 1.0}, {"min_rate_hz": 1.0}])
def test_a_plan_file_and_what_a_plan_is_to_keep_contradict(
    net: str, board: str, wish: dict[str, Any]
) -> None:
    with pytest.raises(
        InputError, match="fixes its stages: give --plan, or --stages, --max-latency, --min-rate"
    ):
        run_on_board(net, board=board, frames=4, plan=Path("plan.json"), **wish)


def test_a_limit_of_latency_is_kept_by_the_plan_of_the_board(net: str, board: str) -> None:
    free = run_on_board(net, board=board, frames=4, stages=2, compute=False).plan

    plan = run_on_board(
        net, board=board, frames=4, max_latency_s=free.latency_s, compute=False
    ).plan

    assert plan.latency_s <= free.latency_s
    assert plan.asked is not None
    assert plan.asked.max_latency_s == free.latency_s


def test_answers_that_are_not_computed_cannot_be_written(
    net: str, board: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="there are no answers to write: leave --out out"):
        run_on_board(net, board=board, frames=4, out=tmp_path / "out.npz", compute=False)


@pytest.mark.parametrize("slowdown", [0.5, 1e7, float("inf"), float("nan")])
def test_a_slowdown_that_is_none_is_refused(net: str, board: str, slowdown: float) -> None:
    with pytest.raises(InputError, match="give a factor from 1 to 1000000"):
        run_on_board(net, board=board, frames=4, slowdown=slowdown)
