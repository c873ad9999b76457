"""A build runs each step once, and runs again only what a change touches."""

import time
from pathlib import Path

import pytest

from evener.artifacts.card import Card
from evener.artifacts.comparison import Comparison
from evener.artifacts.files import load
from evener.artifacts.plan import Asked
from evener.artifacts.trace import Trace
from evener.errors import InputError
from evener.profile.energy import CountingMeter, Source
from evener.testing.projects import change
from evener.workflow import packages
from evener.workflow.build import BuildResult, build_project
from evener.workflow.steps import open_steps

pytest.importorskip("torch", reason="building trains, which needs the extra 'train'")

WATTS = 5.0
STEPS = ("data", "search", "baselines", "train", "profile", "plan", "run", "compare", "judge")


def test_a_build_goes_from_rows_to_a_judged_plan_and_runs_nothing_twice(
    undisturbed: tuple[Path, BuildResult], built: Path
) -> None:
    first = undisturbed[1]

    assert first.ran == (*STEPS, "report")
    assert first.kept == ()
    assert first.holds
    assert {one.name: one.holds for one in first.verdicts} == {
        "accuracy": True,
        "latency_p99": True,
        "size": False,
    }
    assert first.network.read_bytes()
    assert first.report.read_text().startswith("<!doctype html>")

    again = build_project(built / "evener.toml")

    assert (again.ran, again.kept) == ((), (*STEPS, "report"))
    assert again.verdicts == first.verdicts


def test_the_pipeline_answers_the_test_rows_as_the_trainer_did(built: Path) -> None:
    card = load(built / ".evener" / "card.json", Card).value
    trace = load(built / ".evener" / "trace.json", Trace).value
    assert trace.quality == pytest.approx(card.test, abs=1e-6)
    assert trace.frames == 50
    assert trace.max_error is not None
    assert trace.max_error <= 1e-4


@pytest.mark.parametrize(
    ("old", "new", "ran"),
    [
        ('size = "<= 1 B ?"', 'size = "<= 9 MB ?"', ("judge", "report")),
        ('"<= 1 s"', '"<= 2 s"', ("plan", "run", "compare", "judge", "report")),
        ("generations = 1", "generations = 2", ("search",)),
        ("epochs = 6", "epochs = 7", ("search", "train", "profile", "plan", "run", "compare")),
    ],
)
def test_a_change_runs_what_it_touches(
    built: Path, old: str, new: str, ran: tuple[str, ...]
) -> None:
    change(built, old, new)

    again = build_project(built).ran

    # The report is written anew if what it shows is new; so is the verdict.
    assert set(again) - {"judge", "report"} == set(ran) - {"judge", "report"}
    assert set(ran) <= set(again)


def test_what_the_search_warns_of_is_told_by_builds_that_keep_it_too(
    undisturbed: tuple[Path, BuildResult], built: Path
) -> None:
    assert undisturbed[1].warnings == ()
    change(built, "generations = 1", 'generations = 2\nalgorithm = "paper"')

    first, again = build_project(built), build_project(built)

    [warning] = first.warnings
    assert warning.startswith("drift: a population of 4, of which the best 4 breed, loses a link")
    assert again.ran == ()
    assert again.warnings == first.warnings


def test_a_limit_that_no_plan_keeps_is_missed_not_refused(built: Path) -> None:
    change(built, "<= 1 s", "<= 1 ns")

    result = build_project(built)

    assert not result.holds
    assert [one.name for one in result.verdicts if not one.holds] == ["latency_p99", "size"]


def test_the_energy_of_an_answer_is_what_is_metered_while_the_plan_takes_turns(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bench", "plan", "profile"):
        monkeypatch.setattr(f"evener.workflow.{name}.find_meter", constant_meter)
    change(project, 'size = "<= 1 B ?"', 'energy = "<= 10 J"')

    found = build_project(project)

    comparison = load(project / ".evener" / "comparison.json", Comparison).value
    (row,) = (one for one in comparison.rows if one.kind == "plan")
    (energy,) = (one for one in found.verdicts if one.name == "energy")
    assert comparison.energy_meter == "a lamp"
    assert row.energy_j is not None
    assert row.energy_j > 0
    assert (energy.value, energy.holds) == (row.energy_j, True)
    assert found.plan.asked == Asked(max_latency_s=1.0, max_energy_j=10.0)
    assert ">energy</th>" in found.report.read_text()


def test_a_wish_for_an_energy_that_nothing_meters_is_not_measured(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bench", "plan", "profile"):
        monkeypatch.setattr(f"evener.workflow.{name}.find_meter", lambda: None)
    change(built, 'size = "<= 1 B ?"', 'energy = "<= 10 J ?"')

    found = build_project(built)

    assert found.holds
    assert [(one.value, one.holds) for one in found.verdicts if one.name == "energy"] == [
        (None, False)
    ]


def constant_meter() -> CountingMeter:
    meter = CountingMeter([Source("a lamp", lambda: WATTS * time.monotonic())])
    meter.least_s = 0.0
    return meter


def test_a_network_file_that_was_changed_is_made_again(built: Path) -> None:
    network = built / ".evener" / "network.onnx"
    before = network.read_bytes()
    network.write_bytes(before[:-1])

    again = build_project(built)

    assert again.ran == ("train",)
    assert again.network.read_bytes() == before


def test_rows_that_changed_are_read_again(built: Path) -> None:
    path = built / "rows.csv"
    path.write_text(path.read_text().replace("a,b,c,kind\n", "a,b,c,kind\n9.0,9.0,9.0,red\n"))

    told: list[str] = []

    def stop(message: str, _done: int, _total: int) -> None:
        told.append(message)
        if message.startswith("fitting a linear model"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_project(built, progress=stop)
    assert told[0] == "reading the data"
    assert any(message.startswith("generation 1") for message in told)


def test_a_project_is_the_same_from_any_folder_and_in_another(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(built.parent)

    assert build_project(Path(built.name)).ran == ()


def test_a_build_without_the_packages_says_what_to_install(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "_PACKAGES", {"no_such_package": "none"})

    with pytest.raises(InputError, match=r"pip install 'evener\[train\]'"):
        build_project(project)
    assert not (project / ".evener").exists()


def test_a_processor_that_is_not_here_is_refused_before_the_search(project: Path) -> None:
    with (project / "evener.toml").open("a") as file:
        file.write('\n[plan]\nprocessors = ["cpu9"]\n')

    with pytest.raises(InputError, match="no processor 'cpu9'"):
        build_project(project)
    assert not (project / ".evener").exists()


def test_a_build_beside_another_is_refused(project: Path) -> None:
    with open_steps(project), pytest.raises(InputError, match="another build of"):
        build_project(project)
