"""What `bench` hands on, and how it shows a contest."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from evener import workflow
from evener.artifacts.comparison import Comparison, LeftOut, Limit, Ratio
from evener.workflow import (
    Contest,
    Cutting,
    Engines,
)

Evener = Callable[..., tuple[int, str, str]]
Calls = dict[str, dict[str, Any]]


def test_bench_hands_on_every_choice(evener: Evener, workflow_calls: Calls) -> None:
    evener("bench", "a", "b", "--rounds", "2", "--max-latency", "80ms", "--processors", "cpu0")

    call = workflow_calls["bench_networks"]
    del call["progress"]
    assert call == {
        "given": (("a", "b"),),
        "little": None,
        "contest": Contest(rounds=2, max_latency_s=0.08),
        "cutting": Cutting(),
        "engines": Engines(processors=("cpu0",)),
    }


def test_bench_on_a_board_hands_on_every_choice_and_says_that_it_is_simulated(
    evener: Evener, workflow_calls: Calls
) -> None:
    asked = ("bench", "a", "--board", "khadas-vim3", "--transfers", "--slowdown", "2")

    printed = json.loads(evener(*asked, "--json")[1])
    code, out, _ = evener(*asked, "--no-compute", "--processors", "B,G", "--runtimes", "openvino")

    call = workflow_calls["bench_on_board"]
    assert callable(call.pop("progress"))
    assert call == {
        "given": (("a",),),
        "board": "khadas-vim3",
        "transfers": True,
        "compute": False,
        "slowdown": 2.0,
        "contest": Contest(),
        "cutting": Cutting(),
        "engines": Engines(processors=("B", "G"), runtimes=("openvino",)),
    }
    assert code == 0
    assert (
        "simulated processors of khadas-vim3, 2 times slowed down and told as without that: run on "
        "this machine by the board's times, answers computed"
    ) in " ".join(out.split())
    assert (printed["board"], printed["slowdown"], printed["simulated"]) == (
        "khadas-vim3",
        2.0,
        False,
    )
    assert "bench_networks" not in workflow_calls


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--board", "khadas-vim3", "--little", "0.4"), "leave out --little or --board"),
        (("--transfers",), "--transfers, --no-compute and --slowdown need a --board"),
        (("--slowdown", "2"), "--transfers, --no-compute and --slowdown need a --board"),
    ],
)
def test_bench_refuses_what_does_not_go_with_a_board_or_without_one(
    options: tuple[str, ...], message: str, evener: Evener, workflow_calls: Calls
) -> None:
    code, _, err = evener("bench", "a", *options)

    assert (code, workflow_calls) == (2, {})
    assert message in err


def test_bench_takes_a_limit_relative_to_the_copies_and_a_little_core(
    evener: Evener, workflow_calls: Calls
) -> None:
    code, _, _ = evener("bench", "a", "--little", "0.4", "--max-latency", "0.65x")

    call = workflow_calls["bench_networks"]
    assert (call["contest"], call["little"]) == (Contest(max_latency_share=0.65), 0.4)
    assert code == 0


def test_bench_shows_energies_where_something_meters_them(
    evener: Evener, monkeypatch: pytest.MonkeyPatch, tiny_comparison: Comparison
) -> None:
    rows = (msgspec.structs.replace(tiny_comparison.rows[0], energy_j=0.25),)
    comparison = msgspec.structs.replace(tiny_comparison, rows=rows, energy_meter="RAPL psys")
    monkeypatch.setattr(workflow, "bench_networks", lambda *_, **__: comparison)

    _, out, _ = evener("bench", "a")

    assert "energy" in out
    assert "250 mJ" in out
    assert "energy per frame, that of the idle machine included, by RAPL psys" in " ".join(
        out.split()
    )


def test_bench_ends_with_1_where_a_plan_misses_its_latency_limit(
    evener: Evener, monkeypatch: pytest.MonkeyPatch, tiny_comparison: Comparison
) -> None:
    over = Ratio(network="a", over="single", median=1.3, low=1.2, high=1.4)
    missed = Limit(
        network="a", max_latency_s=0.02, latency_p99_s=0.03, copies_p99_s=0.05, over_best=over
    )
    left_out = LeftOut(network="a", name="openvino AUTO", reason="no room")
    comparison = msgspec.structs.replace(tiny_comparison, limits=(missed,), left_out=(left_out,))
    monkeypatch.setattr(workflow, "bench_networks", lambda *_, **__: comparison)

    code, out, _ = evener("bench", "a", "--max-latency", "20ms")

    assert code == 1
    assert "99 took at most 30 ms, the limit of 20 ms is missed" in " ".join(out.split())
    assert (
        "of the others that keep it single is the quickest, and the plan reaches 1.300"
        in " ".join(out.split())
    )
    assert "a: without openvino AUTO: no room" in " ".join(out.split())
