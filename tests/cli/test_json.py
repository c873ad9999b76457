"""What programs may rely on: one JSON object on stdout, with keys that stay."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evener.artifacts.files import Kept, load, save
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile

Evener = Callable[..., tuple[int, str, str]]
GOLDEN: dict[str, dict[str, tuple[str, ...]]] = {
    "processors": {"processors": ("name", "kind", "cores", "runtimes", "capacity")},
    "profile": {"kind": (), "schema": (), "made_from": (), "content": (), "sha256": (), "made": ()},
    "plan": {
        "cut_points": (),
        "configurations": (),
        "stages": (
            "processor",
            "cores",
            "runtime",
            "precision",
            "execution",
            "first_block",
            "last_block",
            "inputs",
            "outputs",
            "replicas",
        ),
        "rate_hz": (),
        "latency_s": (),
        "energy_j": (),
        "bound_rate_hz": (),
        "elapsed_s": (),
        "simulated": (),
    },
    "split": {
        "network": (),
        "parts": ("file", "sha256", "first_block", "last_block", "inputs", "outputs"),
    },
    "run": {
        "frames": (),
        "rate_hz": (),
        "latency_p50_s": (),
        "latency_p99_s": (),
        "equal": (),
        "max_error": (),
        "checked": (),
        "dropped": (),
        "stages": ("stage", "processor", "cores", "frames", "median_s", "busy", "planned_s"),
    },
    "bench": {
        "rows": (
            "network",
            "name",
            "kind",
            "rate_hz",
            "rate_low_hz",
            "rate_high_hz",
            "latency_p50_s",
            "latency_p99_s",
        ),
        "ratio_best": (),
    },
    "search": {
        "metric": (),
        "best": (),
        "test": (),
        "baselines": (),
        "evaluations": (),
        "elapsed_s": (),
        "full_s": (),
        "simple_s": (),
        "probe_s": (),
        "front": ("id", "network", "validation", "retrained", "test", "macs", "weights", "chosen"),
        "set_apart": ("id", "of", "seed", "message"),
        "edge": (),
        "warnings": (),
    },
    "build": {
        "requirements": ("name", "limit", "value", "holds"),
        "network": (),
        "report": (),
        "ran": (),
        "kept": (),
        "board": (),
        "delivered": (),
        "recommended": (),
        "warnings": (),
    },
}
ARGUMENTS = {
    "processors": (),
    "profile": ("tiny",),
    "plan": ("tiny",),
    "split": ("tiny", "--cuts", "0", "-o", "parts"),
    "run": ("tiny", "--frames", "20"),
    "bench": ("tiny",),
    "build": ("p",),
    "search": ("p",),
}


@pytest.mark.usefixtures("workflow_calls")
@pytest.mark.parametrize("verb", GOLDEN)
def test_the_promised_keys_are_there(verb: str, evener: Evener) -> None:
    printed = json.loads(evener(verb, *ARGUMENTS[verb], "--json")[1])

    assert set(GOLDEN[verb]) <= set(printed)
    for key, inner in GOLDEN[verb].items():
        for entry in printed[key] if inner else ():
            assert set(inner) <= set(entry)


@pytest.mark.usefixtures("workflow_calls")
@pytest.mark.parametrize("verb", GOLDEN)
def test_nothing_else_is_on_stdout_and_nothing_on_stderr(verb: str, evener: Evener) -> None:
    _, out, err = evener(verb, *ARGUMENTS[verb], "--json")

    assert isinstance(json.loads(out), dict)
    assert err == ""


def test_a_plan_says_what_it_came_to_in_simulated_time(evener: Evener) -> None:
    printed = json.loads(evener("plan", "alexnet", "--board", "khadas-vim3", "--json")[1])

    keys = {"rate_hz", "latency_p50_s", "latency_p95_s", "latency_p99_s"}
    assert keys <= set(printed["simulated"])
    assert printed["simulated"]["rate_hz"] == pytest.approx(printed["rate_hz"], rel=0.01)


@pytest.mark.usefixtures("workflow_calls")
def test_a_stage_of_a_plan_shows_its_first_lane_and_how_often_it_is_replicated(
    evener: Evener,
) -> None:
    (stage,) = json.loads(evener("plan", "tiny", "--json")[1])["stages"]

    assert (stage["processor"], stage["cores"], stage["replicas"]) == ("cpu0", [0], 2)
    assert (stage["runtime"], stage["precision"]) == ("onnxruntime", "f32")
    assert stage["execution"] == "sequential"
    assert [lane["cores"] for lane in stage["lanes"]] == [[0], [1]]


@pytest.mark.usefixtures("workflow_calls")
def test_an_explanation_is_printed_for_programs(evener: Evener) -> None:
    found = json.loads(evener("plan", "tiny", "--explain", "--json")[1])

    assert [cut["after_block"] for cut in found["cuts"]] == [0]
    assert found["cuts"][0]["tensors"] == [{"name": "x", "bytes": 16}]
    assert len(found["blocks"]) == 2
    assert found["no_cuts"][0]["reason"] == "2 tensors would cross"


@pytest.mark.usefixtures("workflow_calls")
def test_a_printed_profile_is_a_profile_file(
    evener: Evener, tmp_path: Path, kept_profile: Kept[Profile]
) -> None:
    original = tmp_path / "original.json"
    save(original, kept_profile.value, made_from=kept_profile.made_from)
    kept = load(original, Profile)
    printed = json.loads(evener("profile", "tiny", "--json")[1])

    assert printed["content"] == json.loads(original.read_text())["content"]
    assert set(printed) == set(json.loads(original.read_text()))
    assert kept.value == kept_profile.value


@pytest.mark.usefixtures("workflow_calls")
def test_a_plan_is_written_as_the_artifact_that_it_is(
    evener: Evener, tmp_path: Path, plan: Plan
) -> None:
    path = tmp_path / "tiny.plan.json"

    code, _, err = evener("plan", "tiny", "-o", path)

    assert (code, err) == (0, f"wrote {path}\n")
    assert load(path, Plan).value == plan
    assert load(path, Plan).made.took_s == plan.elapsed_s


@pytest.mark.usefixtures("workflow_calls")
def test_a_profile_is_written_with_what_it_was_made_from(
    evener: Evener, tmp_path: Path, kept_profile: Kept[Profile]
) -> None:
    path = tmp_path / "tiny.profile.json"

    evener("profile", "tiny", "-o", path)

    assert load(path, Profile).made_from == kept_profile.made_from


def test_a_plan_for_a_board_needs_no_measuring_and_has_the_promised_keys(evener: Evener) -> None:
    code, out, err = evener(
        *("plan", "alexnet", "--board", "rk3399pro", "--transfers", "--space", "paper", "--json")
    )

    found = json.loads(out)
    assert (code, err) == (0, "")
    assert GOLDEN["plan"].keys() <= found.keys()
    assert (found["cut_points"], found["configurations"]) == (7, 126)
    assert {stage["runtime"] for stage in found["stages"]} == {"armcl"}
    assert [stage["processor"] for stage in found["stages"]] == ["G", "L", "B"]


def test_a_plan_by_a_cost_model_says_so_to_programs_and_to_people(evener: Evener) -> None:
    measured = json.loads(evener("plan", "googlenet", "--board", "rk3399pro", "--json")[1])
    estimated = json.loads(evener("plan", "shufflenet", "--board", "rk3399pro", "--json")[1])
    _, out, _ = evener("plan", "shufflenet", "--board", "rk3399pro")

    assert (measured["estimate"], measured["estimate_error"]) == (None, None)
    assert estimated["estimate"] == "cost model of rk3399pro"
    percent = f"{estimated['estimate_error']:.0%}"
    assert re.search(r"L at \d+ MHz", out)
    assert f"estimated: cost model of rk3399pro, cross-validated error {percent} a block" in out


def test_the_plans_on_a_board_are_counted_even_where_none_fits(evener: Evener) -> None:
    code, out, _ = evener(
        *("plan", "mobilenet", "--board", "khadas-vim3", "--space", "paper"),
        *("--processors", "B,G", "--json"),
    )

    found = json.loads(out)
    assert code == 1
    assert (found["cut_points"], found["configurations"], found["stages"]) == (13, 468, [])


def test_the_space_of_the_paper_is_counted_even_where_no_plan_fits(evener: Evener) -> None:
    code, out, err = evener(
        "plan", "squeezenet", "--space", "paper", "--processors", "cpu0", "--json"
    )

    found = json.loads(out)
    assert code == 1
    assert (found["cut_points"], found["configurations"], found["stages"]) == (18, 918, [])
    assert GOLDEN["plan"].keys() <= found.keys()
    assert "squeezenet has 18 cut points, which make 918 such plans" in err
