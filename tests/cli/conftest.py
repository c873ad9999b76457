"""A small value of every artifact that the command line shows, and a way to call it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from evener import workflow
from evener.artifacts.card import Baselines
from evener.artifacts.comparison import Comparison
from evener.artifacts.data_edge import DataEdge
from evener.artifacts.edge_of_chaos import Table
from evener.artifacts.files import Artifact, Kept
from evener.artifacts.page import Page
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.requirements import Verdicts
from evener.artifacts.swept import Interval
from evener.artifacts.trace import Trace
from evener.cli.main import execute
from evener.network.explain import Explanation
from evener.testing.samples import (
    ABSENT,
    ARCHITECTURE,
    CALIBRATION,
    CARD,
    COMPARISON,
    DATASET,
    EXPLANATION,
    FRONT,
    KEPT,
    MACHINE,
    MACHINE_COSTS,
    PLAN,
    PLANS,
    PROFILE,
    SCORED,
    SEARCHED,
    SPLIT,
    TRACE,
    VERDICTS,
)
from evener.workflow.recommend import Recommended
from evener.workflow.search import Member


@pytest.fixture
def plan() -> Plan:
    """Two copies of a network of one block."""
    return PLAN


@pytest.fixture
def explanation() -> Explanation:
    """Two blocks with a cut between them, and two layers that cannot be parted."""
    return EXPLANATION


@pytest.fixture
def trace() -> Trace:
    """A run whose answers were equal."""
    return TRACE


@pytest.fixture
def kept_profile() -> Kept[Profile]:
    """A profile with one measured and one interpolated segment."""
    return KEPT


@pytest.fixture
def verdicts() -> Verdicts:
    """One that holds, a wish that is missed, and one that was not measured."""
    return VERDICTS


DATA_EDGE = DataEdge(
    paper={"paper-image": 0.881},
    rows=60,
    features=3,
    tables=(
        Table(
            data="rows",
            hyperparameters=("learning rate",),
            steps=50,
            quiescent=1,
            active=3,
            divergent=1,
            boxes=((0.0, 0.0), (0.8, 0.5)),
            critical=0.8,
            best=(0.1,),
        ),
    ),
    critical=Interval(0.8, 0.1),
    connectivity=(),
)


@pytest.fixture
def artifacts() -> tuple[Artifact, ...]:
    """One value of each kind of artifact."""
    return (
        ARCHITECTURE,
        Baselines(models=CARD.baselines),
        CALIBRATION,
        CARD,
        COMPARISON,
        DATA_EDGE,
        DATASET,
        FRONT,
        MACHINE,
        MACHINE_COSTS,
        Page(path="report.html", sha256="ab" * 32),
        PLAN,
        PLANS,
        PROFILE,
        SCORED,
        SEARCHED,
        SPLIT,
        TRACE,
        VERDICTS,
    )


@pytest.fixture
def evener(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command line in this process; returns exit code, stdout and stderr."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        capfd.readouterr()
        code = execute([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return call


@pytest.fixture
def unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Work in an empty folder that also holds the cache; the returned function notes its state.

    After the test nothing may be there that was not when it was called last.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("evener.workflow.plan.find_meter", lambda: None)  # whatever is here
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before: dict[Path, bytes] = {}

    def note() -> None:
        before.clear()
        before.update(files())

    def files() -> dict[Path, bytes]:
        # ONNX Runtime keeps an id of the machine in the cache, below Microsoft/; it is not ours.
        ours = [path for path in tmp_path.rglob("*") if "Microsoft" not in path.parts]
        return {path: path.read_bytes() for path in ours if path.is_file()}

    yield note

    assert files() == before


@pytest.fixture
def tiny_comparison() -> Comparison:
    """Return what `bench` would find."""
    return COMPARISON


@pytest.fixture
def workflow_calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Replace the workflow by one that notes what it was called with, and answers at once."""
    calls: dict[str, dict[str, Any]] = {}
    answers: dict[str, object] = {
        "find_processors": MACHINE,
        "find_absent": ABSENT,
        "profile_network": KEPT,
        "plan_front": PLANS,
        "plan_network": PLAN,
        "plan_by_hand": PLAN,
        "explain_network": EXPLANATION,
        "find_dominant": None,
        "split_network": SPLIT,
        "run_network": workflow.RunResult(
            trace=TRACE, plan=PLAN, tolerance=1e-6, unsplit_rate_hz=100.0
        ),
        "run_on_board": workflow.RunResult(
            trace=msgspec.structs.replace(TRACE, simulated=True, overruns=1),
            plan=PLAN,
            tolerance=1e-6,
            unsplit_rate_hz=100.0,
            board="khadas-vim3",
            slowdown=2.0,
            computed=False,
        ),
        "serve_network": None,
        "bench_networks": COMPARISON,
        "bench_on_board": msgspec.structs.replace(COMPARISON, board="khadas-vim3", slowdown=2.0),
        "search_project": workflow.SearchResult(
            metric="accuracy",
            best=0.97,
            test=0.96,
            baselines={"random search": 0.95, "linear": 0.9},
            recommended=Recommended(family="network", validation=0.965, test=0.96, network=0.965),
            evaluations=2,
            elapsed_s=1.5,
            full_s=0.5,
            simple_s=0.25,
            front=(
                Member(
                    id=ARCHITECTURE.id,
                    network=str(ARCHITECTURE),
                    validation=0.97,
                    retrained=0.965,
                    test=0.96,
                    macs=6_400,
                    weights=6_570,
                    costs={"macs": 6_400.0},
                    chosen=True,
                ),
            ),
            found=FRONT,
            kept=False,
        ),
        "build_project": SimpleNamespace(
            verdicts=VERDICTS.verdicts,
            network=Path("p/.evener/network.onnx"),
            report=Path("p/report.html"),
            ran=("data", "search"),
            kept=("train",),
            holds=VERDICTS.holds,
            card=CARD,
            plan=PLAN,
            board=None,
            warnings=("drift: a link is lost by chance",),
        ),
    }

    def standing_in_for(name: str) -> Callable[..., object]:
        def answer(*given: object, **options: object) -> object:
            calls[name] = {"given": given} | options
            return answers[name]

        return answer

    for name in answers:
        monkeypatch.setattr(workflow, name, standing_in_for(name), raising=False)
    return calls
