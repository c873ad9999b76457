"""Planning here is measuring and trying; planning for elsewhere is predicting."""

from pathlib import Path

import msgspec
import pytest

from evener.artifacts.files import save
from evener.artifacts.plan import Measured, Plan
from evener.artifacts.trace import Trace
from evener.errors import InfeasibleError
from evener.testing import plans
from evener.workflow import plan as under_test
from evener.workflow.board import open_on_board
from evener.workflow.live import best_measured, summarise
from evener.workflow.plan import plan_network
from evener.workflow.profile import profile_network
from evener.workflow.wish import Wish, best_plans, decide


def test_a_plan_for_this_machine_was_tried_on_it(net: str) -> None:
    plan = plan_network(net)

    assert plan.what == "plan"
    assert plan.measured is not None
    assert plan.measured.rivals >= 1
    assert plan.stages[0].first_block == 0
    assert plan.stages[-1].last_block == plan.cut_points == 3


def test_a_plan_by_a_profile_file_is_a_prediction(net: str, tmp_path: Path) -> None:
    save(tmp_path / "p.json", profile_network(net).value)

    plan = plan_network(net, profile=tmp_path / "p.json")

    assert plan.measured is None
    assert plan.elapsed_s > 0


def test_a_plan_is_kept(net: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = plan_network(net)
    monkeypatch.setattr(under_test, "choose_live", None)  # trying again would fail

    assert plan_network(net) == first


@pytest.mark.usefixtures("two_cores")
def test_other_wishes_are_other_plans(net: str) -> None:
    one, two = plan_network(net, stages=1), plan_network(net, stages=2)

    assert (len(one.stages), len(two.stages)) == (1, 2)


@pytest.mark.usefixtures("two_cores")
def test_a_forced_number_of_stages_is_not_tried_against_others(net: str) -> None:
    assert plan_network(net, stages=2).measured is None


def test_a_limit_that_nothing_keeps_says_what_is_possible(net: str) -> None:
    with pytest.raises(InfeasibleError, match="no plan keeps a latency of") as caught:
        plan_network(net, max_latency_s=1e-9)

    assert caught.value.needed == 1e-9
    assert caught.value.available is not None


def test_a_plan_for_a_board_is_a_prediction() -> None:
    plan = plan_network("resnet50", board="khadas-vim3", space="paper")

    assert plan.measured is None
    assert plan.elapsed_s > 0
    assert round(plan.rate_hz, 1) == 10.2


def test_the_space_of_the_paper_is_refused_before_anything_is_measured(
    net: str, tmp_path: Path
) -> None:
    with pytest.raises(InfeasibleError, match="dense has 3 cut points, which make 18 such plans"):
        plan_network(net, space="paper", processors=["cpu0"])

    assert not (tmp_path / "cache").exists()


def reached(rate_hz: float, latency_s: float, *, stages: int = 1) -> Plan:
    plan = plans.chain(*[(1, [(0,)])] * stages)
    measured = Measured(
        rate_hz=rate_hz,
        rate_low_hz=rate_hz,
        rate_high_hz=rate_hz,
        latency_p50_s=latency_s,
        latency_p99_s=latency_s,
        rounds=3,
        rivals=1,
    )
    return msgspec.structs.replace(plan, measured=measured)


def test_the_quickest_plan_wins() -> None:
    slow, quick = reached(100, 0.1), reached(120, 0.3)

    assert best_measured([slow, quick]) == quick


def test_of_plans_as_quick_within_the_noise_the_one_that_answers_sooner_wins() -> None:
    quick, sooner = reached(100.0, 0.3), reached(99.5, 0.2)

    assert best_measured([quick, sooner]) == sooner


def test_of_plans_equal_in_both_the_one_of_fewest_stages_wins() -> None:
    split, whole = reached(100, 0.1, stages=2), reached(100, 0.1)

    assert best_measured([split, whole]) == whole


def test_for_latency_the_soonest_answer_wins() -> None:
    quick, sooner = (
        msgspec.structs.replace(plan, objective="latency")
        for plan in (reached(200, 0.3), reached(100, 0.2))
    )

    assert best_measured([quick, sooner]) == sooner


def test_a_plan_that_kept_the_latency_limit_beats_a_quicker_one_that_missed_it() -> None:
    missed, kept, slow = reached(200, 0.3), reached(120, 0.2), reached(100, 0.1)

    assert best_measured([missed, kept, slow], max_latency_s=0.25) == kept


def test_where_none_kept_the_limit_the_one_that_came_nearest_is_the_best() -> None:
    quick, nearest = reached(200, 0.3), reached(100, 0.2)

    assert best_measured([quick, nearest], max_latency_s=0.15) == nearest


def test_with_a_latency_limit_plans_that_keep_it_with_reserve_are_tried_too() -> None:
    profile = open_on_board("alexnet", "khadas-vim3").profile
    quickest = decide(profile, Wish())
    limit_s = 1.05 * quickest.latency_s

    found = best_plans(profile, Wish(max_latency_s=limit_s))

    assert found[0].stages == quickest.stages
    assert len({plan.stages for plan in found}) == len(found)
    with_reserve = decide(profile, Wish(max_latency_s=0.7 * limit_s))
    assert with_reserve.stages in {plan.stages for plan in found}
    assert all(plan.latency_s <= limit_s for plan in found)


def test_rounds_are_put_together_by_median_and_quartiles() -> None:
    traces = [
        Trace(
            frames=2,
            dropped=0,
            elapsed_s=1,
            rate_hz=rate,
            latency_p50_s=1 / rate,
            latency_p99_s=2 / rate,
            wait_p50_s=0,
            stages=(),
        )
        for rate in (1.0, 2.0, 3.0, 4.0, 100.0)
    ]
    found = summarise(traces, rivals=2)

    assert (found.rate_low_hz, found.rate_hz, found.rate_high_hz) == (2.0, 3.0, 4.0)
    assert found.latency_p50_s == pytest.approx(1 / 3)
    assert (found.rounds, found.rivals) == (5, 2)
    assert summarise(traces[:1], rivals=0).rate_low_hz == 1.0
