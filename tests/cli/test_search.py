"""What `search` hands on and shows."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evener import workflow
from evener.artifacts.data_edge import Connectivity, DataEdge
from evener.artifacts.files import save
from evener.artifacts.front import SetApart
from evener.artifacts.swept import Interval

Evener = Callable[..., tuple[int, str, str]]
Calls = dict[str, dict[str, Any]]


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


@pytest.mark.usefixtures("workflow_calls")
def test_programs_are_told_what_the_settings_make_likely(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = workflow.search_project(Path("p"))
    warned = msgspec.structs.replace(result.found, warnings=("drift: a link is lost",))
    told = msgspec.structs.replace(result, found=warned)
    assert json.loads(evener("search", "p", "--json")[1])["warnings"] == []
    monkeypatch.setattr(workflow, "search_project", lambda *_, **__: told)

    assert json.loads(evener("search", "p", "--json")[1])["warnings"] == ["drift: a link is lost"]
    assert json.loads(evener("build", "p", "--json")[1])["warnings"] == [
        "drift: a link is lost by chance"
    ]


@pytest.mark.usefixtures("workflow_calls")
def test_trainings_that_failed_for_one_reason_are_told_together(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = workflow.search_project(Path("p"))
    late = [
        one
        for seed in (0, 1)
        for one in (
            SetApart(id="aaaaaa1", of="front", seed=seed, message="no time"),
            SetApart(id="bbbbbb2", of="fixed", seed=seed, message="no time"),
        )
    ]
    other = SetApart(id="cccccc3", of="random", seed=2, message="no memory")
    found = msgspec.structs.replace(result.found, set_apart=(*late, other))
    given = msgspec.structs.replace(result, found=found)
    monkeypatch.setattr(workflow, "search_project", lambda *_args, **_choices: given)

    out = " ".join(evener("search", "p")[1].split())

    assert out.count("set apart: ") == 2
    assert "aaaaaa (front), bbbbbb (fixed), trained in full from seeds 0, 1: no time" in out
    assert "cccccc (random), trained in full from seed 2: no memory" in out


@pytest.mark.usefixtures("workflow_calls")
def test_costs_of_plans_have_columns_beside_those_that_a_score_has(
    evener: Evener, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = workflow.search_project(Path("p"))
    scored, failed = result.found.scored
    known = msgspec.structs.replace(scored, objectives=(0.03, 6570.0, 0.0021, 0.0007))
    found = msgspec.structs.replace(
        result.found,
        scored=(known, msgspec.structs.replace(failed, objectives=())),
        objectives=("error", "weights", "latency", "energy"),
    )
    given = msgspec.structs.replace(result, found=found)
    monkeypatch.setattr(workflow, "search_project", lambda *_args, **_choices: given)
    save(tmp_path / "front.json", found, made_from={}, took_s=0.0)

    searched = " ".join(evener("search", "p")[1].split())
    shown = " ".join(evener("show", tmp_path / "front.json")[1].split())

    assert "MACs weights latency energy" in searched
    assert "6,400 6,570 2.1 ms 700 µJ 0.9700" in searched
    assert "validation MACs weights latency energy" in shown
    assert "0.9700 6,400 6,570 2.1 ms 700 µJ chosen" in shown
    assert " - - " in shown


@pytest.mark.usefixtures("workflow_calls")
def test_a_search_that_probed_shows_both_readings_of_lambda(
    evener: Evener, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = workflow.search_project(Path("p"))
    links = Connectivity(
        activation="relu",
        domain="critical",
        density=0.75,
        weight_variance=8 / 3,
        chi_theory=1.0,
        chi=Interval(1.01, 0.02),
        critical_theory=0.75,
        critical=Interval(0.755, 0.005),
    )
    none = msgspec.structs.replace(links, activation="tanh", critical_theory=1.5, critical=None)
    edge = DataEdge(
        paper={"paper-text": 0.786, "paper-image": 0.881},
        rows=64,
        features=3,
        tables=(),
        critical=Interval(0.9, 0.1),
        connectivity=(links, none),
    )
    found = msgspec.structs.replace(result.found, edge=edge)
    told = msgspec.structs.replace(result, found=found, probe_s=12.0)
    monkeypatch.setattr(workflow, "search_project", lambda *_, **__: told)

    out = " ".join(evener("search", "p")[1].split())

    assert "measuring λ_c took 12 s beside it" in out
    assert (
        "λ_c of hyperparameters on the training rows: 0.9000 ± 0.1000 (paper-image 0.881, "
        "paper-text 0.786)"
    ) in out
    assert (
        "λ_c of links, relu: 0.7550 ± 0.0050, by theory 0.750; at 0.75 χ₁ is 1.0100 ± 0.0200, by "
        "theory 1"
    ) in out
    assert "λ_c of links, tanh: none up to 1, by theory 1.500; at 0.75" in out


def test_search_starts_ranks_of_mpi(evener: Evener, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[int, tuple[str, ...]]] = []

    def start(ranks: int, arguments: tuple[str, ...]) -> int:
        started.append((ranks, arguments))
        return 0

    monkeypatch.setattr(workflow, "search_on_ranks", start)

    evener("search", "p", "--ranks", "3")

    assert started == [(3, ("search", "p", "--ranks", "3"))]
