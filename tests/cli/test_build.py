"""How `build` ends, and what it says of a board."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from evener import workflow

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
