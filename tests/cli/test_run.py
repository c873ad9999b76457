"""What `run` hands on, and what it tells of a run."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evener import workflow
from evener.artifacts.plan import Plan
from evener.artifacts.trace import Switch, Trace
from evener.data.pixels import Pixels
from evener.data.sources import Reading
from evener.workflow import (
    Cutting,
    Engines,
    Manner,
    Wish,
    Writing,
    ranks,
)

Evener = Callable[..., tuple[int, str, str]]
Calls = dict[str, dict[str, Any]]


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
