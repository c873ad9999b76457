"""Predicting what a plan of one's own cuts and processors reaches."""

from pathlib import Path

import msgspec
import pytest

from evener.artifacts.files import save
from evener.errors import InputError
from evener.profile.refine import estimated_segments
from evener.workflow import by_hand as under_test
from evener.workflow.by_hand import plan_by_hand
from evener.workflow.plan import plan_network
from evener.workflow.profile import profile_network
from evener.workflow.run import run_network


@pytest.mark.usefixtures("two_cores")
def test_the_stages_are_those_that_were_asked_for_and_run(net: str, tmp_path: Path) -> None:
    plan = plan_by_hand(net, cuts=[2], on=[("cpu0", 1), ("cpu0", 1)])
    save(tmp_path / "plan.json", plan)

    result = run_network(net, frames=5, plan=tmp_path / "plan.json")

    assert [(stage.first_block, stage.last_block) for stage in plan.stages] == [(0, 2), (3, 3)]
    assert (plan.method, plan.measured) == ("by hand", None)
    assert plan.elapsed_s > 0
    assert plan.bound_rate_hz is not None
    assert plan.bound_rate_hz >= plan.rate_hz
    assert result.holds


def test_what_was_only_estimated_is_measured_first(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = profile_network(net)
    guesses = tuple(
        msgspec.structs.replace(one, interpolated=True, repeats=0) for one in kept.value.segments
    )
    guessed = msgspec.structs.replace(
        kept, value=msgspec.structs.replace(kept.value, segments=guesses)
    )
    monkeypatch.setattr(under_test, "profile_opened", lambda *_, **__: guessed)

    plan = plan_by_hand(net, cuts=[], on=[("cpu0", 1)])

    assert estimated_segments(guessed.value, plan) != ()
    assert estimated_segments(profile_network(net).value, plan) == ()


def test_with_a_profile_file_nothing_is_measured(
    net: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "p.json", profile_network(net).value)
    monkeypatch.setattr(under_test, "profile_opened", None)  # measuring would fail

    plan = plan_by_hand(net, cuts=[], on=[("cpu0", 1)], profile=tmp_path / "p.json")

    assert len(plan.stages) == 1
    assert plan.elapsed_s > 0


@pytest.mark.parametrize("transfers", [False, True])
def test_the_cuts_and_processors_of_the_best_plan_of_a_board_reach_what_it_does(
    transfers: bool,
) -> None:
    best = plan_network("resnet50", board="rk3399pro", transfers=transfers, space="paper")
    cuts = [stage.last_block for stage in best.stages[:-1]]
    on = [(stage.lanes[0].processor, None) for stage in best.stages]

    plan = plan_by_hand("resnet50", board="rk3399pro", transfers=transfers, cuts=cuts, on=on)

    assert plan.rate_hz == pytest.approx(best.rate_hz)
    assert [stage.lanes[0].processor for stage in plan.stages] == [name for name, _ in on]


def test_a_board_in_whose_table_alone_a_network_is_can_be_planned_by_hand() -> None:
    plan = plan_by_hand("yolov3", board="rk3399pro", cuts=[40], on=[("B", None), ("N", None)])

    assert [(stage.first_block, stage.last_block) for stage in plan.stages] == [(0, 40), (41, 74)]


@pytest.mark.parametrize(
    ("cuts", "on", "message"),
    [
        ([8], [("B", None)] * 2, "there is no cut 8: alexnet in 8 blocks has the cuts 0 to 6"),
        ([4], [("B", 1), ("G", None)], "B:1 cannot be planned: B is given out in 4 of its 4 cores"),
        ([4], [("B", None), ("B", None)], "the stages take 8 cores of B, which has 4"),
        ([], [("cpu0", None)], "there is no processor 'cpu0' for cpu0; there are B, G, L; name"),
    ],
)
def test_what_a_board_does_not_have_is_refused(
    cuts: list[int], on: list[tuple[str, int | None]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        plan_by_hand("alexnet", board="khadas-vim3", cuts=cuts, on=on)


@pytest.mark.parametrize(
    ("cuts", "on", "message"),
    [
        ([3], [("cpu0", 1)] * 2, "there is no cut 3: dense in 4 blocks has the cuts 0 to 2"),
        ([2, 1], [("cpu0", 1)] * 3, "the cuts 2, 1 do not ascend"),
        ([1], [("cpu0", 1)], "stages by the cuts: 2, processors named: 1"),
        ([], [("npu7", None)], "there is no processor 'npu7'"),
        ([], [("cpu0", 4096)], "cpu0:4096 cannot be planned"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(
    net: str, tmp_path: Path, cuts: list[int], on: list[tuple[str, int | None]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        plan_by_hand(net, cuts=cuts, on=on)

    assert not (tmp_path / "cache").exists()


def test_cuts_in_different_branches_are_refused() -> None:
    with pytest.raises(InputError, match="the cuts 9 and 10 of googlenet do not follow each other"):
        plan_by_hand("googlenet", cuts=[9, 10], on=[("cpu0", 1)] * 3, granularity="node")
