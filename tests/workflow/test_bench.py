"""A plan is measured beside single, all cores and copies, and the ratio is taken per round."""

from collections.abc import Callable

import msgspec
import pytest
from onnx import helper

from evener.errors import InfeasibleError
from evener.network.frames import random_frames
from evener.plan.decide import make_baseline
from evener.runtime.peer import known_peers
from evener.testing import tiny
from evener.workflow import bench, race
from evener.workflow.bench import bench_networks
from evener.workflow.memory import plan_bytes
from evener.workflow.opening import open_network
from evener.workflow.profile import profile_network
from evener.workflow.race import Entrant


def test_every_network_has_a_row_for_the_plan_and_each_baseline(
    net: str, write: Callable[[str, bytes], str]
) -> None:
    other = write("other.onnx", tiny.dense(layers=2))

    found = bench_networks([net, other], rounds=3)

    kinds = ["plan", "single", "all_cores", "copies", *["peer"] * len(known_peers())]
    assert [(row.network, row.kind) for row in found.rows] == [
        (network, kind) for network in ("dense", "other") for kind in kinds
    ]
    assert {row.name for row in found.rows if row.kind == "peer"} == set(known_peers())
    for row in found.rows:
        assert 0 < row.rate_low_hz <= row.rate_hz <= row.rate_high_hz
        assert 0 < row.latency_p50_s <= row.latency_p99_s
        assert (row.predicted_rate_hz is None) == (row.kind == "peer")
    assert [ratio.network for ratio in found.ratios] == ["dense", "other"]
    assert found.rounds == 3
    assert set(found.ratio_means) == {"single", "all_cores", "copies", *known_peers()}
    assert found.left_out == ()
    assert found.holds


def test_a_shape_goes_to_the_network_that_has_the_input(
    net: str, write: Callable[[str, bytes], str]
) -> None:
    content = tiny.network(
        [helper.make_node("Relu", ["images"], ["y"])],
        inputs=[tiny.floats("images", "batch", 4)],
        outputs=[tiny.floats("y", "batch", 4)],
    )

    found = bench_networks(
        [net, write("images.onnx", content)], rounds=1, shapes={"images": (1, 4)}
    )

    assert [row.network for row in found.rows if row.kind == "plan"] == ["dense", "images"]


def test_plans_that_run_the_same_are_measured_once(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[set[str]] = []
    ran = race.race

    def noted(entrants: dict[str, Entrant], *given: object, **options: object) -> object:
        measured.append(set(entrants))
        return ran(entrants, *given, **options)  # type: ignore[arg-type] # as given

    monkeypatch.setattr(bench, "race", noted)
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


def test_a_baseline_too_big_for_the_memory_is_left_out_and_a_plan_refused(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_network(net)
    profile = profile_network(net).value
    single = make_baseline(profile, "single")
    frames = random_frames(opened.network.inputs, 2, seed=0)
    needed = plan_bytes(opened, single)

    monkeypatch.setattr(race, "free_bytes_now", lambda: round(needed / 0.79))
    found = bench.compare_opened(opened, single, profile, frames, rounds=2)
    if make_baseline(profile, "copies").stages != single.stages:
        assert "copies" in {one.name for one in found.left_out}
        assert "copies" not in {row.kind for row in found.rows}

    monkeypatch.setattr(race, "free_bytes_now", lambda: needed // 2)
    with pytest.raises(InfeasibleError, match="'plan' needs about .* of memory"):
        bench.compare_opened(opened, single, profile, frames, rounds=2)
