"""A plan is measured beside single, all cores and copies, and the ratio is taken per round."""

from collections.abc import Callable

import msgspec
import pytest

from evener.artifacts.comparison import Comparison, Ratio
from evener.artifacts.plan import Plan
from evener.network.frames import random_frames
from evener.plan.decide import make_baseline
from evener.testing import plans, tiny
from evener.workflow import bench, live
from evener.workflow.bench import bench_networks, describe, together
from evener.workflow.opened import Opened, open_network
from evener.workflow.profile import profile_network


def test_every_network_has_a_row_for_the_plan_and_each_baseline(
    net: str, write: Callable[[str, bytes], str]
) -> None:
    other = write("other.onnx", tiny.dense(layers=2))

    found = bench_networks([net, other], rounds=3)

    assert [(row.network, row.kind) for row in found.rows] == [
        (network, kind)
        for network in ("dense", "other")
        for kind in ("plan", "single", "all_cores", "copies")
    ]
    for row in found.rows:
        assert 0 < row.rate_low_hz <= row.rate_hz <= row.rate_high_hz
        assert 0 < row.latency_p50_s <= row.latency_p99_s
        assert row.predicted_rate_hz is not None
    assert [ratio.network for ratio in found.ratios] == ["dense", "other"]
    assert found.rounds == 3


def ratio(network: str, median: float) -> Comparison:
    one = Ratio(network=network, over="copies", median=median, low=median, high=median)
    return Comparison(rows=(), ratios=(one,), ratio_best=median, rounds=3)


def test_ratios_of_networks_are_put_together_by_geometric_mean() -> None:
    found = together([ratio("a", 0.5), ratio("b", 2.0), ratio("c", 8.0)])

    assert found.ratio_best == pytest.approx(2.0)
    assert [one.network for one in found.ratios] == ["a", "b", "c"]


def test_a_plan_is_named_by_its_shape() -> None:
    one = plans.chain((2, [(0, 1)]))
    copies = plans.chain((2, [(0,), (1,)]))
    split = plans.chain((1, [(0,)]), (1, [(1,)]))

    assert describe(one) == "one session: p0a[0, 1]"
    assert describe(copies) == "2 copies: p0a[0] | p0b[1]"
    assert describe(split) == "2 stages: p0a[0] > p1a[1]"


def test_plans_that_run_the_same_are_measured_once(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[set[str]] = []
    measure = live.measure_plans

    def noted(opened: Opened, plans: dict[str, Plan], *given: object, **options: object) -> object:
        measured.append(set(plans))
        return measure(opened, plans, *given, **options)  # type: ignore[arg-type] # as given

    monkeypatch.setattr(bench, "measure_plans", noted)
    opened = open_network(net)
    profile = profile_network(net).value
    copies = make_baseline(profile, "copies")

    found = bench.compare_opened(
        opened, copies, profile, random_frames(opened.network.inputs, 2, seed=0), rounds=2
    )

    rows = {row.kind: row for row in found.rows}
    assert "copies" not in measured[0]
    assert msgspec.structs.replace(rows["plan"], kind="copies") == rows["copies"]
    if found.ratios[0].over == "copies":
        assert found.ratio_best == 1
