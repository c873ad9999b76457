"""What `serve` hands on, and what it says when it is ready."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener import workflow
from evener.artifacts.plan import Plan
from evener.artifacts.tensor import Tensor
from evener.workflow import (
    Cutting,
    Engines,
    Wish,
)

Evener = Callable[..., tuple[int, str, str]]
Calls = dict[str, dict[str, Any]]


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
