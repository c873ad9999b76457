"""What took turns becomes rows, ratios and means over networks."""

from typing import Literal

import msgspec
import pytest

from evener.artifacts.comparison import Comparison, Ratio
from evener.artifacts.plan import Plan
from evener.artifacts.trace import Trace
from evener.testing import plans
from evener.workflow.compared import compared, each_once, together, with_limit


def trace(rate_hz: float, latency_s: float = 0.1) -> Trace:
    return Trace(
        frames=10,
        dropped=0,
        elapsed_s=10 / rate_hz,
        rate_hz=rate_hz,
        latency_p50_s=latency_s,
        latency_p99_s=2 * latency_s,
        wait_p50_s=0.0,
        stages=(),
    )


def chain(
    what: Literal["plan", "single", "copies"], *stages: tuple[int, list[tuple[int, ...]]]
) -> Plan:
    return msgspec.structs.replace(plans.chain(*stages), what=what)


SPLIT = chain("plan", (1, [(0,)]), (1, [(1,)]))
SINGLE = chain("single", (2, [(0,)]))
COPIES = chain("copies", (2, [(0,), (1,)]))


def test_the_ratio_is_over_the_best_other_and_paired_round_by_round() -> None:
    found = compared(
        "net",
        {
            "plan": (SPLIT, [trace(10.0), trace(30.0), trace(20.0)]),
            "single": (SINGLE, [trace(5.0), trace(5.0), trace(5.0)]),
            "copies": (COPIES, [trace(10.0), trace(20.0), trace(10.0)]),
        },
        peers={"other": [trace(1.0), trace(1.0), trace(1.0)]},
        left_out={"absent": "no room"},
    )

    assert [(row.kind, row.rate_hz) for row in found.rows] == [
        ("plan", 20.0),
        ("single", 5.0),
        ("copies", 10.0),
        ("peer", 1.0),
    ]
    assert [(one.over, one.median) for one in found.ratios] == [("copies", 1.5)]
    assert found.ratio_best == 1.5
    assert found.ratio_means == {"single": 4.0, "copies": 1.5, "other": 20.0}
    assert (found.rounds, found.left_out[0].reason) == (3, "no room")


def test_rows_are_told_as_without_the_slowdown_and_ratios_as_they_were() -> None:
    found = compared(
        "net",
        {"plan": (SPLIT, [trace(10.0, 0.4)]), "single": (SINGLE, [trace(5.0, 0.2)])},
        slowdown=4.0,
    )

    plan = found.rows[0]
    assert (plan.rate_hz, plan.latency_p50_s, plan.latency_p99_s) == (40.0, 0.1, 0.2)
    assert plan.predicted_rate_hz == SPLIT.rate_hz
    assert (found.ratio_best, found.slowdown) == (2.0, 4.0)


def test_plans_that_run_the_same_are_told_by_the_first() -> None:
    same = msgspec.structs.replace(SINGLE, what="plan", objective="latency")

    assert each_once({"plan": same, "single": SINGLE, "copies": COPIES}) == {
        "plan": "plan",
        "single": "plan",
        "copies": "copies",
    }


@pytest.mark.parametrize(("limit_s", "holds"), [(0.2, True), (0.1, False)])
def test_a_limit_is_kept_by_the_99th_percentile_of_the_plan(limit_s: float, holds: bool) -> None:
    found = compared("net", {"plan": (SPLIT, [trace(2.0)]), "single": (SINGLE, [trace(1.0)])})

    (limit,) = with_limit(found, limit_s, copies_p99_s=0.3).limits
    assert (limit.latency_p99_s, limit.copies_p99_s, limit.holds) == (0.2, 0.3, holds)
    assert with_limit(found, None) == found


def test_the_best_within_a_limit_is_the_quickest_other_that_keeps_it() -> None:
    late = msgspec.structs.replace(trace(4.0), latency_p99_s=0.5)
    found = compared(
        "net",
        {
            "plan": (SPLIT, [trace(2.0)]),
            "single": (SINGLE, [trace(1.0)]),
            "copies": (COPIES, [late]),
        },
        peers={"late": [late], "quick": [trace(1.6)], "slow": [trace(0.5)]},
    )

    (limit,) = with_limit(found, 0.2).limits
    assert limit.over_best is not None
    assert limit.over_best.over == "quick"
    assert limit.over_best.median == pytest.approx(1.25)
    (hopeless,) = with_limit(found, 0.1).limits
    assert hopeless.over_best is None


def ratio(network: str, median: float) -> Comparison:
    one = Ratio(network=network, over="copies", median=median, low=median, high=median)
    return Comparison(
        rows=(),
        ratios=(one,),
        ratio_best=median,
        rounds=3,
        ratios_each=(one,),
        ratio_means={"copies": median} | ({network: median} if network != "c" else {}),
    )


def test_ratios_of_networks_are_put_together_by_geometric_mean() -> None:
    found = together([ratio("a", 0.5), ratio("b", 2.0), ratio("c", 8.0)])

    assert found.ratio_best == pytest.approx(2.0)
    assert found.ratio_means == {"copies": pytest.approx(2.0)}  # the one that all have
    assert len(found.ratios_each) == 3
    assert [one.network for one in found.ratios] == ["a", "b", "c"]
