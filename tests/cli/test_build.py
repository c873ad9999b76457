"""How `build` ends, and what it says of a board."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from evener import workflow
from evener.artifacts.architecture import Architecture
from evener.artifacts.card import Card
from evener.artifacts.recommended import Recommended

Evener = Callable[..., tuple[int, str, str]]


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
    best = Recommended(family="boosting", validation=0.995, test=0.98, network=0.975)
    card = msgspec.structs.replace(here.card, recommended=best)
    trees = msgspec.structs.replace(card, architecture=Architecture(family="boosting"), epochs=0)

    def build(of: Card, board: str | None = None) -> tuple[str, dict[str, Any]]:
        found = SimpleNamespace(**vars(here) | {"card": of, "board": board})
        monkeypatch.setattr(workflow, "build_project", lambda *_, **__: found)
        return evener("build", "p")[1], json.loads(evener("build", "p", "--json")[1])

    out, printed = build(card)
    assert (
        "the model 'boosting' is recommended: its accuracy on the validation rows is 0.9950, the "
        "network's 0.9750; the network was delivered; to deliver the model, write deliver = "
        '"recommended" in [train] of evener.toml, and build again'
    ) in " ".join(out.split())
    assert (printed["delivered"], printed["recommended"]["family"]) == ("network", "boosting")

    out, _ = build(card, board="khadas-vim3")
    assert (
        "the network was delivered; to deliver the model, take plan.board, which has times of "
        "networks alone, out of evener.toml, write deliver ="
    ) in " ".join(out.split())

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
