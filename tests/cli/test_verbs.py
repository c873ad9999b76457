"""Each verb hands its options to the workflow, and prints what a person wants to know."""

import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import msgspec
import pytest

from evener import workflow
from evener.artifacts.architecture import Architecture
from evener.artifacts.card import Card
from evener.artifacts.comparison import Comparison, LeftOut, Limit
from evener.artifacts.files import Artifact, Kept, load, save
from evener.artifacts.plan import Lane, Part, Plan
from evener.artifacts.plans import Plans
from evener.artifacts.profile import Execution, Profile
from evener.artifacts.recommended import Recommended
from evener.artifacts.tensor import Tensor
from evener.artifacts.timeline import HEAD
from evener.artifacts.trace import Switch, Trace
from evener.cli.main import VERBS, cli
from evener.cli.run_tables import runtimes
from evener.cli.verb import Verb
from evener.data.pixels import Pixels
from evener.data.sources import Reading
from evener.network.explain import Explanation
from evener.workflow import (
    Basis,
    Contest,
    Cutting,
    Engines,
    Manner,
    Wish,
    Writing,
    ranks,
)
from evener.workflow.dominant import Dominant

Evener = Callable[..., tuple[int, str, str]]
Calls = dict[str, dict[str, Any]]
EXECUTIONS: tuple[Execution, ...] = ("sequential", "parallel")
# A new option is added here on purpose, or the setting belongs into evener.toml.
OPTIONS = {
    "init": ["--data", "--target"],
    "build": ["--json"],
    "search": ["--algorithm", "--budget", "--workers", "--ranks", "--json"],
    "data": ["-o", "--size", "--colours", "--fit", "--target", "--json"],
    "train": [
        "--shape",
        "--shards",
        "--halo",
        "--shuffle",
        "--coarse",
        "--input",
        "--layout",
        "--activation",
        "--data",
        "--batch",
        "--iterations",
        "--epochs",
        "--optimiser",
        "--learning-rate",
        "--precision",
        "--seed",
        "--sweep",
        "--seeds",
        "--equal-weights",
        "--auto",
        "--within",
        "--ranks",
        "--replicas",
        "--timeout",
        "--checkpoint",
        "--resume",
        "--on-failure",
        "--log",
        "-o",
        "--json",
    ],
    "verify": ["--ranks", "--timeout", "--json"],
    "processors": ["--json"],
    "profile": [
        "--granularity",
        "--max-live",
        "--processors",
        "--runtimes",
        "--shape",
        "--fix",
        "--state",
        "--precision",
        "--calibration",
        "--max-error",
        "--min-accuracy",
        "-o",
        "--fresh",
        "--json",
    ],
    "plan": [
        "--granularity",
        "--max-live",
        "--method",
        "--objective",
        "--space",
        "--max-latency",
        "--min-rate",
        "--max-energy",
        "--memory",
        "--stages",
        "--cuts",
        "--on",
        "--explain",
        "--profile",
        "--board",
        "--transfers",
        "--processors",
        "--runtimes",
        "--shape",
        "--fix",
        "--state",
        "--precision",
        "--calibration",
        "--max-error",
        "--min-accuracy",
        "-o",
        "--json",
    ],
    "split": [
        "--cuts",
        "-o",
        "--granularity",
        "--max-live",
        "--shape",
        "--fix",
        "--state",
        "--json",
    ],
    "run": [
        "--frames",
        "--limit",
        "--columns",
        "--id",
        "--preset",
        "--scale",
        "--mean",
        "--std",
        "--fit",
        "--out",
        "--labels",
        "--trace",
        "--annotate",
        "--plan",
        "--stages",
        "--max-latency",
        "--min-rate",
        "--profile",
        "--optimisation",
        "--credits",
        "--transport",
        "--ranks",
        "--policy",
        "--source-rate",
        "--batch",
        "--supervise",
        "--standby",
        "--board",
        "--transfers",
        "--no-compute",
        "--slowdown",
        "--processors",
        "--runtimes",
        "--shape",
        "--fix",
        "--state",
        "--precision",
        "--calibration",
        "--max-error",
        "--min-accuracy",
        "--json",
    ],
    "serve": [
        "--plan",
        "--stages",
        "--max-latency",
        "--min-rate",
        "--profile",
        "--host",
        "--port",
        "--queue",
        "--optimisation",
        "--credits",
        "--transport",
        "--supervise",
        "--standby",
        "--board",
        "--transfers",
        "--no-compute",
        "--slowdown",
        "--processors",
        "--runtimes",
        "--shape",
        "--fix",
        "--json",
    ],
    "bench": [
        "--rounds",
        "--max-latency",
        "--little",
        "--optimisation",
        "--processors",
        "--runtimes",
        "--shape",
        "--fix",
        "--state",
        "--precision",
        "--calibration",
        "--max-error",
        "--min-accuracy",
        "--board",
        "--transfers",
        "--no-compute",
        "--slowdown",
        "--json",
    ],
    "show": ["--from", "--frames", "--svg", "--torch", "--json"],
    "selfcheck": ["--mpi", "--ranks", "--json"],
}


def verb_named(name: str) -> Verb:
    found = cli.get_command(click.Context(cli), name)
    assert isinstance(found, Verb)
    return found


@pytest.mark.parametrize("name", VERBS)
def test_the_options_are_the_agreed_ones(name: str) -> None:
    options = [one.opts[-1] for one in verb_named(name).params if isinstance(one, click.Option)]

    assert options == [*OPTIONS[name], "--debug"]


@pytest.mark.parametrize("name", VERBS)
def test_every_option_has_a_help_text(name: str) -> None:
    for option in verb_named(name).params:
        if isinstance(option, click.Option):
            assert option.help, option.name


@pytest.mark.parametrize("name", VERBS)
def test_the_first_sentence_fits_into_the_list_of_verbs(name: str) -> None:
    assert not verb_named(name).get_short_help_str().endswith("...")


@pytest.mark.parametrize("name", VERBS)
def test_the_examples_are_command_lines_of_this_verb(name: str) -> None:
    import shlex

    verb = verb_named(name)

    assert verb.examples
    for example in verb.examples:
        program, called, *arguments = shlex.split(example)
        assert (program, called) == ("evener", name)
        verb.make_context(name, arguments)


@pytest.mark.parametrize("name", VERBS)
def test_the_help_shows_the_examples_and_what_comes_next(name: str, evener: Evener) -> None:
    out = evener(name, "-h")[1]

    assert all(f"\n  {example}\n" in out for example in verb_named(name).examples)
    assert "\nWhat next:\n" in out


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


def test_an_explanation_plans_nothing(evener: Evener, workflow_calls: Calls) -> None:
    rule = ("--granularity", "node", "--max-live", "3")
    out = evener("plan", "tiny", "--explain", *rule, "--shape", "a=1")[1]

    assert workflow_calls == {
        "explain_network": {
            "given": ("tiny",),
            "cutting": Cutting(granularity="node", max_live=3, shapes={"a": (1,)}),
            "board": None,
        }
    }
    assert "tiny in 2 blocks by the rule 'paper'" in out
    assert "x (16 B)" in out
    assert "conv1   conv2    p (2 kB), q (-)" in out
    assert "2 tensors would cross" in out


def test_where_every_layer_can_be_parted_that_is_said(
    evener: Evener, monkeypatch: pytest.MonkeyPatch, explanation: Explanation
) -> None:
    all_parted = msgspec.structs.replace(explanation, no_cuts=())
    monkeypatch.setattr(workflow, "explain_network", lambda *_, **__: all_parted, raising=False)

    assert "every two neighbouring main layers can be parted" in evener("plan", "x", "--explain")[1]


def test_an_explanation_by_the_rule_node_shows_what_was_opened_and_why_not_more(
    evener: Evener,
) -> None:
    out = evener("plan", "googlenet", "--explain", "--granularity", "node", "--max-live", "3")[1]

    assert "googlenet in 13 blocks by the rule 'paper', opened where up to 3 tensors may" in out
    opened = next(line for line in out.splitlines() if " n10, n12, " in line)
    assert opened.split()[-6:] == ["M", "8.3%", "4", "13", "10", "3,4,5,6,7,8,9,10,11,12"]
    assert "99 cuts in the order of the work before them" in out
    assert "left out, as the network has more than 100 places" in out


def test_an_explanation_for_a_board_lists_its_parts_with_their_times(evener: Evener) -> None:
    out = evener("plan", "googlenet", "--board", "khadas-vim3", "--explain")[1]

    assert "googlenet in 11 blocks, the parts that khadas-vim3 was timed in; a cut is" in out
    assert "main layers that no cut can part, by its blocks, and what would cross" in out
    assert "both were timed as one part" in out
    assert "googlenet in 11 blocks on khadas-vim3" in out
    assert "L x2" in out


def test_a_network_that_a_board_knows_by_name_only_is_said_to_be(evener: Evener) -> None:
    out = evener("plan", "mobilenet", "--board", "rk3399pro", "--explain")[1]

    assert (
        "rk3399pro knows mobilenet by name only, in 14 parts with a cut after each but the last; "
        "give the path of its ONNX file to see what they are"
    ) in " ".join(out.split())
    assert "mobilenet in 14 blocks on rk3399pro" in out


def test_the_explanation_of_a_board_is_for_programs_too(evener: Evener) -> None:
    printed = json.loads(
        evener("plan", "googlenet", "--board", "khadas-vim3", "--explain", "--json")[1]
    )

    assert (printed["board"], len(printed["blocks"]), len(printed["cuts"])) == (
        "khadas-vim3",
        11,
        10,
    )
    assert {one["reason"] for one in printed["no_cuts"]} >= {"both were timed as one part"}


def test_a_cut_that_a_board_does_not_have_says_how_to_see_those_it_has(evener: Evener) -> None:
    code, _, err = evener(
        *("plan", "alexnet", "--board", "khadas-vim3", "--cuts", "19", "--on", "G,B")
    )

    assert code == 2
    assert "has the cuts 0 to 6; see them with evener plan NET --board BOARD --explain" in err


def test_where_every_layer_is_apart_at_some_place_that_is_said(evener: Evener) -> None:
    out = evener("plan", "squeezenet", "--explain", "--granularity", "node")[1]

    assert "every two neighbouring main layers can be parted" in out


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


def test_split_hands_on_every_choice(evener: Evener, workflow_calls: Calls) -> None:
    code, out, err = evener(
        *("split", "tiny", "--cuts", "1", "-o", "parts", "--granularity", "strict"),
        *("--shape", "a=1"),
    )

    call = workflow_calls["split_network"]
    assert callable(call.pop("progress"))
    assert call == {
        "given": ("tiny",),
        "cuts": (1,),
        "folder": Path("parts"),
        "cutting": Cutting(granularity="strict", shapes={"a": (1,)}),
    }
    assert (code, err) == (0, "wrote parts\n")
    assert "tiny.0.onnx      0-1   x (16 B)   x (16 B)" in out


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


def test_run_hands_on_every_choice(evener: Evener, workflow_calls: Calls, tmp_path: Path) -> None:
    out = tmp_path / "answers.npz"

    evener(
        *("run", "tiny", "--frames", "f.npz", "--plan", "p.json", "--stages", "2"),
        *("--profile", "q.json", "--out", str(out), "--optimisation", "extended"),
        *("--credits", "3", "--processors", "cpu0", "--shape", "a=1"),
        *("--runtimes", "onnxruntime", "--transport", "processes"),
        *("--policy", "drop_oldest", "--source-rate", "12.5", "--batch", "4", "--supervise"),
        "--no-standby",
        *("--max-latency", "80 ms", "--min-rate", "5 /s"),
    )

    call = workflow_calls["run_network"]
    del call["progress"]
    assert call == {
        "given": ("tiny",),
        "frames": Path("f.npz"),
        "plan": Path("p.json"),
        "profile": Path("q.json"),
        "credits": 3,
        "reading": Reading(),
        "cutting": Cutting(shapes={"a": (1,)}),
        "engines": Engines(
            processors=("cpu0",), runtimes=("onnxruntime",), optimisation="extended"
        ),
        "wish": Wish(stages=2, max_latency_s=0.08, min_rate_hz=5.0),
        "manner": Manner(
            transport="processes",
            policy="drop_oldest",
            source_rate_hz=12.5,
            batch=4,
            supervise=True,
            standby=False,
        ),
        "writing": Writing(out=out),
        "watch": None,
    }


def test_run_hands_on_how_a_table_is_read(evener: Evener, workflow_calls: Calls) -> None:
    evener(
        *("run", "tiny", "--frames", "rows.csv", "--columns", "b,a", "--id", "name"),
        *("--limit", "5", "--labels", "l.txt", "--out", "scores.parquet"),
    )

    call = workflow_calls["run_network"]
    assert call["frames"] == Path("rows.csv")
    assert call["reading"] == Reading(columns=("b", "a"), id_column="name", limit=5)
    assert call["writing"] == Writing(out=Path("scores.parquet"), labels=Path("l.txt"))


def test_run_hands_on_how_pictures_are_read(evener: Evener, workflow_calls: Calls) -> None:
    code, _, err = evener(
        *("run", "tiny", "--frames", "a.png", "--preset", "signed", "--scale", "0.5"),
        *("--mean", "1,2,3", "--std", "4", "--fit", "pad", "--annotate", "seen"),
        *("--trace", "t.json"),
    )

    call = workflow_calls["run_network"]
    pixels = Pixels(preset="signed", scale=0.5, mean=(1.0, 2.0, 3.0), std=(4.0,), fit="pad")
    assert call["reading"] == Reading(pixels=pixels)
    assert call["writing"] == Writing(annotate=Path("seen"), timeline=Path("t.json"))
    assert (code, err) == (0, "wrote seen\nwrote t.json\n")


def test_run_on_a_board_hands_on_every_choice(evener: Evener, workflow_calls: Calls) -> None:
    evener(
        *("run", "resnet50", "--frames", "40", "--board", "khadas-vim3", "--transfers"),
        *("--no-compute", "--slowdown", "2.5", "--stages", "3", "--processors", "B,G"),
        *("--max-latency", "80 ms", "--min-rate", "5 /s"),
    )

    call = workflow_calls["run_on_board"]
    del call["progress"]
    assert call == {
        "given": ("resnet50",),
        "frames": 40,
        "board": "khadas-vim3",
        "transfers": True,
        "compute": False,
        "slowdown": 2.5,
        "plan": None,
        "credits": None,
        "reading": Reading(),
        "cutting": Cutting(),
        "engines": Engines(processors=("B", "G")),
        "wish": Wish(stages=3, max_latency_s=0.08, min_rate_hz=5.0),
        "writing": Writing(),
        "watch": None,
    }
    assert "run_network" not in workflow_calls


def test_ranks_are_started_with_the_same_command_line(
    evener: Evener, workflow_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def start(count: int, arguments: Sequence[str]) -> int:
        started.append((count, tuple(arguments)))
        return 1

    monkeypatch.setattr(ranks, "start_ranks", start)
    line = ("run", "tiny", "--frames", "4", "--ranks", "3", "--json")

    assert evener(*line) == (1, "", "")
    assert started == [(3, line)]
    assert evener("run", "tiny", "--frames", "4", "--ranks", "1")[0] == 0
    assert workflow_calls["run_network"]["manner"] == Manner()


@pytest.mark.parametrize(("rank", "runs"), [(0, True), (1, False)])
def test_among_ranks_the_first_runs_and_the_others_serve(
    evener: Evener, workflow_calls: Calls, monkeypatch: pytest.MonkeyPatch, rank: int, runs: bool
) -> None:
    @contextmanager
    def all_ranks(asked: int | None) -> Iterator[bool]:
        assert asked is None
        yield rank == 0

    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setattr(ranks, "all_ranks", all_ranks)

    code, out, _ = evener("run", "tiny", "--frames", "4")

    assert (code, bool(out), "run_network" in workflow_calls) == (0, runs, runs)
    if runs:
        assert workflow_calls["run_network"]["manner"] == Manner(transport="ranks")


@pytest.mark.usefixtures("workflow_calls")
def test_changes_of_plan_are_told(evener: Evener, monkeypatch: pytest.MonkeyPatch) -> None:
    told = workflow.run_network("tiny", frames=4)
    switch = Switch(
        frame=7,
        at_s=1.25,
        cause="failed",
        reason="stage 1 on cpu0 failed at frame 7: device gone",
        before="2 stages: cpu0[0] > cpu0[1]",
        after="one session: cpu0[0]",
        replayed=2,
        pause_s=0.5,
    )
    trace = msgspec.structs.replace(told.trace, switches=(switch,), replayed=2)
    result = msgspec.structs.replace(told, trace=trace)
    monkeypatch.setattr(workflow, "run_network", lambda *_, **__: result)
    asked = ("run", "tiny", "--frames", "25", "--supervise")

    out = " ".join(evener(*asked)[1].split())
    printed = json.loads(evener(*asked, "--json")[1])

    assert (
        "after 1.25 s, from frame 7 on: 2 stages: cpu0[0] > cpu0[1] gave way to one session: "
        "cpu0[0], failed: stage 1 on cpu0 failed at frame 7: device gone (2 frames run again, "
        "500 ms without an answer)"
    ) in out
    assert printed["switches"] == [json.loads(msgspec.json.encode(switch))]
    assert printed["replayed"] == 2


@pytest.mark.usefixtures("workflow_calls")
def test_what_noticing_took_and_what_no_plan_keeps_any_more_are_told(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = workflow.run_network("tiny", frames=4)
    switch = Switch(
        frame=7,
        at_s=6.25,
        cause="hung",
        reason="stage 1 on cpu0 hangs",
        before="2 stages: cpu0[0] > cpu0[1]",
        after="one session: cpu0[0]",
        replayed=2,
        pause_s=5.5,
        noticing_s=5.25,
        ready=True,
        misses=("the latency of 40 ms that was asked for: it is to take 60 ms",),
    )
    trace = msgspec.structs.replace(told.trace, switches=(switch,), replayed=2)
    result = msgspec.structs.replace(told, trace=trace)
    monkeypatch.setattr(workflow, "run_network", lambda *_, **__: result)

    out = " ".join(evener("run", "tiny", "--frames", "25", "--supervise")[1].split())

    assert "cpu0[0], which was held ready, hung: stage 1 on cpu0 hangs (2 frames" in out
    assert "5.5 s, of which 5.25 s until it was noticed, without an answer)" in out
    assert "; no plan that is left keeps the latency of 40 ms that was asked for: it is to" in out


@pytest.mark.usefixtures("workflow_calls")
def test_what_was_left_out_and_batches_are_told(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = workflow.run_network("tiny", frames=4)
    trace = msgspec.structs.replace(told.trace, dropped=7, batch=4)
    result = msgspec.structs.replace(told, trace=trace)
    monkeypatch.setattr(workflow, "run_network", lambda *_, **__: result)

    out = " ".join(evener("run", "tiny", "--frames", "25")[1].split())

    assert "7 frames came while there was no room and were left out" in out
    assert "stages and plan count batches of 4 frames" in out


@pytest.mark.usefixtures("workflow_calls")
def test_a_run_on_a_board_says_that_its_processors_are_simulated(evener: Evener) -> None:
    asked = ("run", "resnet50", "--frames", "40", "--board", "khadas-vim3")

    out = " ".join(evener(*asked)[1].split())
    printed = json.loads(evener(*asked, "--json")[1])

    assert (
        "simulated processors of khadas-vim3, 2 times slowed down: run on this machine by the "
        "board's times, answers not computed (zeros); 1 computation took longer here than there"
    ) in out
    assert "times the best single processor (100 /s predicted)" in out
    expected = {
        "simulated": True,
        "overruns": 1,
        "board": "khadas-vim3",
        "slowdown": 2.0,
        "computed": False,
    }
    assert {name: printed[name] for name in expected} == expected


@pytest.mark.usefixtures("workflow_calls")
def test_a_run_here_is_not_called_simulated(evener: Evener) -> None:
    printed = json.loads(evener("run", "tiny", "--frames", "4", "--json")[1])

    assert (printed["simulated"], printed["board"]) == (False, None)
    assert "simulated processors" not in evener("run", "tiny", "--frames", "4")[1]


def test_a_count_of_frames_is_a_number(evener: Evener, workflow_calls: Calls) -> None:
    evener("run", "tiny", "--frames", "25")

    assert workflow_calls["run_network"]["frames"] == 25


def test_serve_hands_on_every_choice(evener: Evener, workflow_calls: Calls) -> None:
    evener(
        *("serve", "tiny", "--plan", "t.plan.json", "--stages", "2", "--profile", "p.json"),
        *("--host", "0.0.0.0", "--port", "0", "--queue", "0", "--optimisation", "extended"),  # noqa: S104 - handed on
        *("--credits", "3", "--transport", "processes", "--processors", "cpu0"),
        *("--runtimes", "onnxruntime", "--shape", "a=1,3", "--fix", "c=2.5", "--json"),
        *("--max-latency", "80 ms", "--min-rate", "5 /s", "--supervise", "--no-standby"),
    )

    call = workflow_calls["serve_network"]
    assert callable(call.pop("progress"))
    assert callable(call.pop("ready"))
    assert call == {
        "given": ("tiny",),
        "plan": Path("t.plan.json"),
        "profile": Path("p.json"),
        "host": "0.0.0.0",  # noqa: S104 - handed on
        "port": 0,
        "queue": 0,
        "credits": 3,
        "transport": "processes",
        "supervise": True,
        "standby": False,
        "simulation": None,
        "cutting": Cutting(shapes={"a": (1, 3)}, fixed={"c": 2.5}),
        "engines": Engines(
            processors=("cpu0",), runtimes=("onnxruntime",), optimisation="extended"
        ),
        "wish": Wish(stages=2, max_latency_s=0.08, min_rate_hz=5.0),
    }


def test_serve_leaves_to_the_project_what_was_not_said(
    evener: Evener, workflow_calls: Calls
) -> None:
    evener("serve", "tiny")

    call = workflow_calls["serve_network"]
    unasked = (None, Cutting(), Engines(), Wish())
    asked = {name for name, value in call.items() if value not in unasked}
    assert asked == {"given", "ready", "progress", "transport", "supervise", "standby"}
    assert (call["supervise"], call["standby"]) == (False, True)


def test_serve_on_a_board_hands_on_how_it_is_simulated(
    evener: Evener, workflow_calls: Calls
) -> None:
    evener(
        *("serve", "tiny", "--board", "khadas-vim3", "--transfers", "--no-compute"),
        *("--slowdown", "2.5"),
    )

    assert workflow_calls["serve_network"]["simulation"] == workflow.Simulation(
        board="khadas-vim3", transfers=True, compute=False, slowdown=2.5
    )


def ready_at_once(monkeypatch: pytest.MonkeyPatch, plan: Plan, *, board: str | None = None) -> None:
    tensor = Tensor(name="x", shape=(1, 4), dtype="float32")

    def serve(_: str, *, ready: Callable[[workflow.Serving], None], **_options: object) -> None:
        ready(
            workflow.Serving(
                url="http://127.0.0.1:8080",
                model="tiny",
                inputs=(tensor,),
                outputs=(tensor,),
                plan=plan,
                example="printf x | curl -s http://127.0.0.1:8080/v2/models/tiny/infer",
                board=board,
            )
        )

    monkeypatch.setattr(workflow, "serve_network", serve, raising=False)


@pytest.mark.parametrize(
    ("option", "computed", "said"),
    [((), True, "answers computed"), (("--no-compute",), False, "answers not computed (zeros)")],
)
def test_serve_on_a_board_says_whether_answers_are_computed(
    evener: Evener,
    monkeypatch: pytest.MonkeyPatch,
    plan: Plan,
    option: tuple[str, ...],
    computed: bool,
    said: str,
) -> None:
    ready_at_once(monkeypatch, plan, board="khadas-vim3")
    asked = ("serve", "tiny", "--board", "khadas-vim3", *option)

    out = " ".join(evener(*asked)[1].split())
    printed = json.loads(evener(*asked, "--json")[1])

    by_its_times = "simulated processors of khadas-vim3: run on this machine by the board's times"
    assert f"{by_its_times}, {said} serving tiny" in out
    assert (printed["board"], printed["computed"]) == ("khadas-vim3", computed)


def test_serve_says_where_it_is_and_how_to_ask_it(
    evener: Evener, monkeypatch: pytest.MonkeyPatch, plan: Plan
) -> None:
    ready_at_once(monkeypatch, plan)

    code, out, _ = evener("serve", "tiny")

    assert code == 0
    assert "plan of tiny for throughput" in out
    assert out.splitlines()[-2:] == [
        "serving tiny at http://127.0.0.1:8080",
        "try: printf x | curl -s http://127.0.0.1:8080/v2/models/tiny/infer",
    ]


def test_programs_are_told_once_that_it_is_ready(
    evener: Evener, monkeypatch: pytest.MonkeyPatch, plan: Plan
) -> None:
    ready_at_once(monkeypatch, plan)

    said = json.loads(evener("serve", "tiny", "--json")[1])

    assert (said["url"], said["model"]) == ("http://127.0.0.1:8080", "tiny")
    assert said["inputs"] == [{"name": "x", "shape": [1, 4], "dtype": "float32"}]
    assert said["outputs"] == said["inputs"]
    assert len(said["stages"]) == 1


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
    missed = Limit(network="a", max_latency_s=0.02, latency_p99_s=0.03, copies_p99_s=0.05)
    left_out = LeftOut(network="a", name="openvino AUTO", reason="no room")
    comparison = msgspec.structs.replace(tiny_comparison, limits=(missed,), left_out=(left_out,))
    monkeypatch.setattr(workflow, "bench_networks", lambda *_, **__: comparison)

    code, out, _ = evener("bench", "a", "--max-latency", "20ms")

    assert code == 1
    assert "99 took at most 30 ms, the limit of 20 ms is missed" in " ".join(out.split())
    assert "a: without openvino AUTO: no room" in " ".join(out.split())


def test_profile_measures_again_if_asked(evener: Evener, workflow_calls: Calls) -> None:
    evener("profile", "tiny", "--fresh")

    assert workflow_calls["profile_network"]["fresh"] is True


def test_search_hands_on_every_choice(evener: Evener, workflow_calls: Calls) -> None:
    evener("search", "p", "--algorithm", "paper", "--budget", "5 min", "--workers", "3", "--json")

    call = workflow_calls["search_project"]
    assert callable(call.pop("progress"))
    assert call.pop("pool").args == (3,)
    assert call == {"given": (Path("p"),), "algorithm": "paper", "budget": "5 min"}


@pytest.mark.usefixtures("workflow_calls")
def test_a_search_shows_its_front_and_what_it_is_held_against(evener: Evener) -> None:
    out = " ".join(evener("search", "p")[1].split())

    assert "the front of 2 networks, cheapest first; trained in full" in out
    assert "mlp 64-32 relu 6,400 6,570 0.9700 0.9650 ± 0.0071 0.9600 ± 0.0141 chosen" in out
    assert "the chosen network 0.9600 random search 0.9500 linear 0.9000" in out
    assert "2 evaluations in 1.5 s" in out
    assert "0.9700, by random search with as many evaluations 0.9600" in out
    assert out.endswith("next: evener build p")


def test_search_starts_ranks_of_mpi(evener: Evener, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[int, tuple[str, ...]]] = []

    def start(ranks: int, arguments: tuple[str, ...]) -> int:
        started.append((ranks, arguments))
        return 0

    monkeypatch.setattr(workflow, "search_on_ranks", start)

    evener("search", "p", "--ranks", "3")

    assert started == [(3, ("search", "p", "--ranks", "3"))]


@pytest.mark.usefixtures("workflow_calls")
def test_build_ends_with_1_if_a_hard_requirement_is_missed(evener: Evener) -> None:
    code, out, _ = evener("build", "p")

    assert code == 1
    assert "0.981" in out
    assert "missed (a wish)" in out
    assert "not measured" in out
    assert "ran: data, search; kept: train" in out
    assert out.endswith(
        "next: evener run p/.evener/network.onnx --shape features=1,64 --frames 100\n"
    )


@pytest.mark.usefixtures("workflow_calls")
def test_a_build_says_which_model_would_have_been_better(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = workflow.build_project(Path("p"))
    best = Recommended(family="boosting", validation=0.995, test=0.98)
    card = msgspec.structs.replace(here.card, recommended=best)
    trees = msgspec.structs.replace(card, architecture=Architecture(family="boosting"), epochs=0)

    def build(of: Card) -> tuple[str, dict[str, Any]]:
        found = SimpleNamespace(**vars(here) | {"card": of})
        monkeypatch.setattr(workflow, "build_project", lambda *_, **__: found)
        return evener("build", "p")[1], json.loads(evener("build", "p", "--json")[1])

    out, printed = build(card)
    assert (
        "the model 'boosting' is recommended: its accuracy on the validation rows is 0.9950, the "
        "network's 0.9900."
    ) in " ".join(out.split())
    assert 'write deliver = "recommended" in [train] of evener.toml' in " ".join(out.split())
    assert (printed["delivered"], printed["recommended"]["family"]) == ("network", "boosting")

    out, printed = build(trees)
    assert "delivered: the model 'boosting', the best on the validation rows" in out
    assert printed["delivered"] == "boosting"


@pytest.mark.usefixtures("workflow_calls")
def test_a_build_for_a_board_says_that_nothing_was_measured_there(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = workflow.build_project(Path("p"))
    there = {"estimate": "cost model of khadas-vim3", "estimate_error": 0.15}
    plan = msgspec.structs.replace(here.plan, **there)
    found = SimpleNamespace(**vars(here) | {"board": "khadas-vim3", "plan": plan})
    monkeypatch.setattr(workflow, "build_project", lambda *_, **__: found)

    out = evener("build", "p")[1]

    assert "simulated for khadas-vim3; nothing was measured there" in out
    assert "estimated: cost model of khadas-vim3, cross-validated error 15% a block" in out
    assert json.loads(evener("build", "p", "--json")[1])["board"] == "khadas-vim3"


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


@pytest.mark.parametrize(
    ("error", "tolerance", "code", "says"),
    [
        (0.0, 0.0, 0, "equal the unsplit network's to the bit"),
        (2e-7, 1e-6, 0, "within 2e-07 of the unsplit network's"),
        (2e-6, 1e-6, 1, "more than the 1e-06 that splitting may cause; with --optimisation ext"),
        (2e-7, 0.0, 1, "more than the 0 that splitting may cause\n"),
    ],
)
def test_run_ends_with_1_if_an_answer_differs_by_more_than_rounding(
    error: float,
    tolerance: float,
    code: int,
    says: str,
    evener: Evener,
    trace: Trace,
    plan: Plan,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = msgspec.structs.replace(trace, equal=error == 0, max_error=error)
    result = workflow.RunResult(
        trace=found, plan=plan, tolerance=tolerance, unsplit_rate_hz=found.rate_hz / 2
    )
    monkeypatch.setattr(workflow, "run_network", lambda *_, **__: result, raising=False)

    ended, out, _ = evener("run", "tiny", "--frames", "20")

    assert ended == code
    assert says in out
    assert "that is 2.00 times the unsplit network on one core" in out


@pytest.mark.usefixtures("workflow_calls")
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    evener: Evener, workflow_calls: Calls, tmp_path: Path
) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("in the way")

    refused = [(blocker / "x.json", "is no place"), (tmp_path, "it is a folder")]
    refused += [(Path("/dev/null"), "it is a device or a pipe")]
    refused += [(tmp_path / ("n" * 300), "File name too long")]
    for target, why in refused:
        code, out, err = evener("plan", "tiny", "-o", target)

        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"cannot write {target}: " in err
        assert why in err
    assert not workflow_calls
    assert list(tmp_path.iterdir()) == [blocker]


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "tiny", "-o"),
        ("profile", "tiny", "-o"),
        ("split", "tiny", "--cuts", "0", "-o"),
        ("run", "tiny", "--frames", "4", "--out"),
        ("run", "tiny", "--frames", "4", "--trace"),
        ("run", "tiny", "--frames", "4", "--annotate"),
        ("show", "trace", "t.json", "--svg"),
    ],
    ids=" ".join,
)
def test_no_verb_makes_the_folder_of_what_it_writes(
    command: tuple[str, ...], evener: Evener, workflow_calls: Calls, tmp_path: Path
) -> None:
    target = tmp_path / "missing" / "deep" / "answers.npz"

    code, out, err = evener(*command, target)

    assert (code, out) == (2, "")
    assert f"cannot write {target}: there is no folder {target.parent}; make it first" in err
    assert not workflow_calls
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_noticed_before_the_work(
    evener: Evener, workflow_calls: Calls, tmp_path: Path, plan: Plan
) -> None:
    target = tmp_path / "old.json"
    save(target, plan)
    tmp_path.chmod(0o500)  # writing renames, which the folder must allow

    code, _, err = evener("plan", "tiny", "-o", target)

    tmp_path.chmod(0o700)
    assert code == 2
    assert f"cannot write {target}: {tmp_path} is no place you may write to" in err
    assert not workflow_calls


@pytest.mark.parametrize(
    ("verb", "message"),
    [
        (("plan", "rel.onnx", "-o"), "rel.onnx is already there, holds no plan made by Evener"),
        (("profile", "x", "-o"), "rel.onnx is already there, holds no profile made by Evener"),
        (("run", "x", "--frames", "9", "--out"), "'rel.onnx' does not end in .npz"),
    ],
)
def test_what_evener_did_not_write_is_not_overwritten(
    verb: tuple[str, ...],
    message: str,
    evener: Evener,
    workflow_calls: Calls,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rel.onnx").write_bytes(b"a network")

    code, out, err = evener(*verb, "rel.onnx")

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not workflow_calls
    assert Path("rel.onnx").read_bytes() == b"a network"


@pytest.mark.parametrize("kind", ["npz", "jsonl", "csv", "parquet"])
def test_answers_overwrite_no_other_file_of_that_name(
    kind: str, evener: Evener, workflow_calls: Calls, tmp_path: Path
) -> None:
    target = tmp_path / f"notes.{kind}"
    target.write_text("notes")

    code, _, err = evener("run", "x", "--frames", "9", "--out", target)

    assert code == 2
    assert f"{target} is already there, holds no answers as .{kind}, and is not overwritten" in err
    assert not workflow_calls


@pytest.mark.parametrize(
    "command",
    [
        "run x --frames f.npz --out f.npz",
        "run t.json --frames 3 --trace t.json",
        "run x --frames f.npz --out ./link.npz",
        "run x --frames 9 --plan f.npz --out f.npz",
        "run x --frames 9 --profile f.npz --out f.npz",
        "run f.npz --frames 9 --out f.npz",
        "plan plan.json -o plan.json",
        "plan x --profile plan.json -o plan.json",
        "profile profile.json -o profile.json",
    ],
)
def test_what_a_command_reads_is_not_where_it_writes(
    command: str,
    evener: Evener,
    workflow_calls: Calls,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plan: Plan,
    kept_profile: Kept[Profile],
) -> None:
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("f.npz", "w") as archive:
        archive.writestr("x.npy", b"")
    Path("link.npz").symlink_to("f.npz")
    Path("t.json").write_bytes(HEAD)
    save(Path("plan.json"), plan)
    save(Path("profile.json"), kept_profile.value)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    code, out, err = evener(*command.split())

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "which this command reads; choose another name" in err
    assert not workflow_calls
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.usefixtures("workflow_calls")
def test_a_plan_overwrites_a_plan_and_an_empty_file(
    evener: Evener, tmp_path: Path, plan: Plan
) -> None:
    target = tmp_path / "p.json"
    target.touch()

    for _ in range(2):
        assert evener("plan", "tiny", "-o", target)[0] == 0
        assert load(target, Plan).value == plan


@pytest.mark.usefixtures("workflow_calls")
def test_tables_hold_no_colour_codes_in_a_file(evener: Evener) -> None:
    assert "\x1b" not in evener("plan", "tiny")[1]


@pytest.mark.usefixtures("workflow_calls")
def test_markup_in_names_is_shown_as_it_is(evener: Evener) -> None:
    assert "Fast [rev 2]" in evener("processors")[1]
    assert (
        "not used: openvino: it needs the extra 'openvino': pip install 'evener[openvino]'"
        in (evener("processors")[1])
    )
    assert "openvino" in json.loads(evener("processors", "--json")[1])["absent"]
    assert json.loads(evener("processors", "--json")[1])["processors"][0]["model"] == "Fast [rev 2]"


@pytest.mark.parametrize("name", VERBS)
def test_a_help_text_names_only_options_of_its_verb(name: str) -> None:
    options = [one for one in verb_named(name).params if isinstance(one, click.Option)]
    known = {opt for one in options for opt in one.opts}

    named = {word for one in options for word in re.findall(r"--[a-z-]+", one.help or "")}
    assert named <= known
