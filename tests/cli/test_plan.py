"""What `plan` and `profile` hand on, and how a plan is shown."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evener import workflow
from evener.artifacts.files import Artifact, save
from evener.artifacts.plan import Lane, Part, Plan
from evener.artifacts.plans import Plans
from evener.artifacts.profile import Execution
from evener.cli.run_tables import runtimes
from evener.workflow import (
    Basis,
    Cutting,
    Engines,
    Wish,
)
from evener.workflow.dominant import Dominant

Evener = Callable[..., tuple[int, str, str]]
Calls = dict[str, dict[str, Any]]
EXECUTIONS: tuple[Execution, ...] = ("sequential", "parallel")


def test_plan_hands_on_every_choice(evener: Evener, workflow_calls: Calls) -> None:
    evener(
        *("plan", "tiny", "--granularity", "node", "--max-live", "3", "--method", "exhaustive"),
        *("--objective", "latency", "--space", "paper", "--max-latency", "40 ms"),
        *("--min-rate", "5 /s", "--max-energy", "0.5 J", "--memory", "cpu0=2MB,gpu0=1GB"),
        *("--stages", "2", "--profile", "p.json", "--processors", "cpu0,gpu0"),
        *("--runtimes", "onnxruntime", "--board", "own.toml", "--transfers"),
        *("--shape", "a=1,3", "--shape", "b=7", "--json"),
        *("--fix", "c=2.5", "--state", "hn=h", "--state", "cn=c"),
    )

    call = workflow_calls["plan_network"]
    assert callable(call.pop("progress"))
    assert call == {
        "given": ("tiny",),
        "cutting": Cutting(
            granularity="node",
            max_live=3,
            shapes={"a": (1, 3), "b": (7,)},
            fixed={"c": 2.5},
            states={"hn": "h", "cn": "c"},
        ),
        "engines": Engines(processors=("cpu0", "gpu0"), runtimes=("onnxruntime",)),
        "wish": Wish(
            method="exhaustive",
            objective="latency",
            space="paper",
            max_latency_s=0.04,
            min_rate_hz=5.0,
            max_energy_j=0.5,
            memory={"cpu0": 2_000_000, "gpu0": 1_000_000_000},
            stages=2,
        ),
        "basis": Basis(profile=Path("p.json"), board="own.toml", transfers=True),
    }


def test_plan_asks_for_nothing_that_was_not_said(evener: Evener, workflow_calls: Calls) -> None:
    evener("plan", "tiny")

    call = workflow_calls["plan_network"]
    del call["progress"]
    assert call == {
        "given": ("tiny",),
        "cutting": Cutting(),
        "engines": Engines(),
        "wish": Wish(),
        "basis": Basis(),
    }


def test_the_front_is_asked_for_with_every_choice_of_a_plan(
    evener: Evener, workflow_calls: Calls
) -> None:
    evener("plan", "tiny", "--objective", "pareto", "--min-rate", "5 /s", "--memory", "cpu0=1kB")

    call = workflow_calls["plan_front"]
    assert call["given"] == ("tiny",)
    assert call["wish"] == Wish(objective="pareto", min_rate_hz=5.0, memory={"cpu0": 1000})
    assert "plan_network" not in workflow_calls


@pytest.mark.usefixtures("workflow_calls")
def test_the_front_is_a_table_of_rates_latencies_energies_and_stages(evener: Evener) -> None:
    lines = evener("plan", "tiny", "--objective", "pareto")[1].splitlines()

    assert "2 plans of tiny; no other beats one of them in rate, latency and energy" in lines[0]
    assert [" ".join(line.split()) for line in lines if "cpu0" in line] == [
        "150 /s 13.3 ms - 2 0 cpu0 x1 + cpu0 x1",
        "100 /s 10 ms 250 mJ 1 0 cpu0 x1 at 1200 MHz",
    ]


@pytest.mark.usefixtures("workflow_calls")
def test_programs_get_the_quickest_plan_and_the_front_beside_it(
    evener: Evener, tmp_path: Path
) -> None:
    target = tmp_path / "tiny.plans.json"

    out = evener("plan", "tiny", "--objective", "pareto", "--json", "-o", target)[1]

    found = json.loads(out)
    assert found["rate_hz"] == 150.0
    assert found["elapsed_s"] == 0.75
    assert [plan["rate_hz"] for plan in found["front"]] == [150.0, 100.0]
    assert [plan["energy_j"] for plan in found["front"]] == [None, 0.25]
    assert set(found["front"][0]) == set(found) - {"front"}
    assert json.loads(target.read_text())["kind"] == "plans"


def test_a_clock_is_shown_where_a_plan_sets_one(
    evener: Evener, tmp_path: Path, artifacts: tuple[Artifact, ...]
) -> None:
    (plans,) = (one for one in artifacts if isinstance(one, Plans))
    quick, thrifty = plans.plans
    save(tmp_path / "quick.json", quick)
    save(tmp_path / "thrifty.json", thrifty)

    assert "MHz" not in evener("show", tmp_path / "quick.json")[1]
    shown = evener("show", tmp_path / "thrifty.json")[1]
    assert "1200 MHz" in shown
    assert "with 1 frame in flight, 250 mJ per frame" in " ".join(shown.split())


def test_a_plan_by_hand_hands_on_its_cuts_and_processors(
    evener: Evener, workflow_calls: Calls
) -> None:
    evener(
        *(
            "plan",
            "tiny",
            "--cuts",
            "4, 6",
            "--on",
            "cpu0:1,cpu0:1, gpu0",
            "--runtimes",
            "openvino",
        ),
        *("--granularity", "node", "--max-live", "4", "--profile", "p.json", "--shape", "a=1"),
        "--json",
    )

    call = workflow_calls["plan_by_hand"]
    assert callable(call.pop("progress"))
    assert call == {
        "given": ("tiny",),
        "cuts": (4, 6),
        "on": (("cpu0", 1), ("cpu0", 1), ("gpu0", None)),
        "cutting": Cutting(granularity="node", max_live=4, shapes={"a": (1,)}),
        "engines": Engines(runtimes=("openvino",)),
        "basis": Basis(profile=Path("p.json")),
    }
    assert "plan_network" not in workflow_calls


def test_a_plan_by_hand_may_be_for_a_board(evener: Evener, workflow_calls: Calls) -> None:
    evener("plan", "tiny", "--on", "G", "--board", "rk3399pro", "--transfers", "--json")

    call = workflow_calls["plan_by_hand"]
    assert call["basis"] == Basis(board="rk3399pro", transfers=True)


def test_a_processor_alone_takes_the_whole_network(evener: Evener, workflow_calls: Calls) -> None:
    evener("plan", "tiny", "--on", "cpu0")

    assert workflow_calls["plan_by_hand"]["cuts"] == ()


def test_a_plan_by_the_rule_node_names_nodes_and_no_blocks(
    evener: Evener, plan: Plan, monkeypatch: pytest.MonkeyPatch, workflow_calls: Calls
) -> None:
    assert workflow_calls == {}
    stage = msgspec.structs.replace(plan.stages[0], nodes=("conv1", "relu1"))
    by_nodes = msgspec.structs.replace(plan, granularity="node", max_live=2, stages=(stage,))
    monkeypatch.setattr(workflow, "plan_network", lambda *_, **__: by_nodes)

    (shown,) = json.loads(evener("plan", "tiny", "--json")[1])["stages"]
    out = evener("plan", "tiny")[1]

    assert (shown["first_block"], shown["last_block"]) == (None, None)
    assert (shown["nodes"], shown["inputs"]) == (["conv1", "relu1"], ["x"])
    assert "2 nodes: conv1 to relu1" in out


def test_where_one_block_holds_all_others_up_the_rule_node_is_named(
    evener: Evener, monkeypatch: pytest.MonkeyPatch, workflow_calls: Calls
) -> None:
    found = Dominant(block=3, name="conv9", processor="cpu0", share=0.62, places=5)
    monkeypatch.setattr(workflow, "find_dominant", lambda *_, **__: found)

    assert workflow_calls == {}
    assert (
        "block 3 (conv9) alone takes 62% of the network's time on cpu0, and the other stages wait "
        "for it; it has 5 places where two tensors cross: try --granularity node"
    ) in " ".join(evener("plan", "tiny")[1].split())


def test_a_block_that_holds_others_up_is_looked_for_in_the_network_as_it_was_opened(
    evener: Evener, workflow_calls: Calls
) -> None:
    evener("plan", "tiny", "--shape", "a=1", "--fix", "sr=16000", "--state", "new=old")

    cutting = Cutting(shapes={"a": (1,)}, fixed={"sr": 16000}, states={"new": "old"})
    assert workflow_calls["find_dominant"]["given"][-1] == cutting


def test_the_table_of_a_plan_says_how_far_it_is_from_the_bound(
    evener: Evener, workflow_calls: Calls, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert workflow_calls == {}
    assert "predicted: 150 /s (any plan: at most 160 /s; gap 6.2%)" in evener("plan", "tiny")[1]

    estimated = msgspec.structs.replace(plan, bound_estimated=True)
    monkeypatch.setattr(workflow, "plan_network", lambda *_, **__: estimated)
    assert "(any plan: at most 160 /s, by estimated times; gap" in evener("plan", "tiny")[1]

    unknown = msgspec.structs.replace(plan, bound_rate_hz=None)
    monkeypatch.setattr(workflow, "plan_network", lambda *_, **__: unknown)
    assert "predicted: 150 /s, latency" in evener("plan", "tiny")[1]


def test_a_plan_for_a_board_says_what_it_came_to_in_simulated_time(evener: Evener) -> None:
    out = evener("plan", "alexnet", "--board", "khadas-vim3", "--space", "paper")[1]

    assert "simulated: 21.2 /s, latency 141 ms (median), 141 ms (p99); an estimate, by" in out


def test_profile_measures_again_if_asked(evener: Evener, workflow_calls: Calls) -> None:
    evener("profile", "tiny", "--fresh")

    assert workflow_calls["profile_network"]["fresh"] is True


@pytest.mark.usefixtures("workflow_calls")
def test_the_table_of_a_plan_has_a_line_per_lane_and_the_figures(evener: Evener) -> None:
    out = evener("plan", "tiny")[1]

    assert "10 ms" in out
    assert "20 ms" in out
    assert "150 /s" in out
    assert "13.3 ms" in out
    assert "measured: 140 /s (138 /s - 141 /s; 8 rounds, 1 rival), latency 12.1 ms" in out
    assert "that is 1.50 times the best single processor (99.8 /s predicted)" in out


def test_the_table_says_where_branches_are_computed_at_once() -> None:
    parts = tuple(
        Part(first_block=block, last_block=block, runtime="onnxruntime", execution=execution)
        for block, execution in enumerate(EXECUTIONS)
    )

    named = runtimes(Lane(processor="cpu0", cores=(0, 1, 2), parts=parts, time_s=1.0))

    assert named == "onnxruntime+onnxruntime, branches at once"
