"""λ_c of a project's own data: measured once, before its search, and shown beside the paper's."""

from pathlib import Path
from xml.etree.ElementTree import tostring

import numpy as np
import pytest

from evener.artifacts.data_edge import DataEdge
from evener.artifacts.dataset import Task
from evener.artifacts.files import load
from evener.artifacts.search_section import SearchSection
from evener.data.dataset import Dataset, make_dataset
from evener.data.split import split_at_random
from evener.errors import InputError
from evener.report.search import search
from evener.search.chaos.table import PAPER, Axis, Grid
from evener.testing.projects import change, write_project
from evener.workflow.search import search_project
from evener.workflow.searching import Searching

pytest.importorskip("torch", reason="searching trains, which needs the extra 'train'")
from evener.workflow import data_edge  # needs it too

pytestmark = pytest.mark.usefixtures("simple_models_once")
FEW = Grid(tuple(Axis(axis.name, axis.levels[::2]) for axis in PAPER.axes))
SECTION = SearchSection(activations=("relu",))
RELU = '\n[search]\nprobe = true\nactivations = ["relu"]'


def dataset(task: Task = "classes", *, rows: int = 300, features: int = 4) -> Dataset:
    drawn = np.random.default_rng(0).normal(size=(rows, features)).astype(np.float32)
    sides = drawn[:, :2] > 0
    answers = {
        "classes": sides[:, 0].astype(int),
        "labels": sides.astype(np.float32),
        "numbers": 1000 + 50 * drawn[:, :2],
    }
    split = split_at_random(rows, validation_share=0.2, test_share=0.2, seed=0)
    names = tuple(f"f{at}" for at in range(features))
    return make_dataset(
        "sides",
        drawn,
        answers[task],
        classes=("a", "b"),
        feature_names=names,
        split=split,
        task=task,
    )


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_edge, "SEEDS", 3)
    monkeypatch.setattr(data_edge, "_WIDTH", 200)


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("task", ["classes", "labels", "numbers"])
def test_every_task_has_its_table(task: Task) -> None:
    found = data_edge.measure_data_edge(dataset(task), SECTION, grid=FEW)

    assert found == data_edge.measure_data_edge(dataset(task), SECTION, grid=FEW)
    assert (found.rows, found.features) == (180, 4)
    assert found.paper == {"paper-text": 0.786, "paper-image": 0.881}
    assert len(found.tables) == 3
    for table in found.tables:
        assert table.quiescent + table.active + table.divergent == 81
        assert table.active > 0
        # λ of the box that learned most; of equal ones the smallest.
        assert table.critical == max(table.boxes, key=lambda box: box[1])[0]
        assert table.best[0] > 1e-4  # at the least rate nothing is learned
    assert found.critical.mean == pytest.approx(np.mean([one.critical for one in found.tables]))
    assert found.critical.half_width is not None


@pytest.mark.parametrize(
    ("start", "density", "chi", "critical"),
    [("critical", 0.75, 1.0, 0.75), ("chaotic", 0.75, 2.0, 0.375), ("random", 0.6, 1.0, 0.6)],
)
def test_links_are_critical_where_theory_says(
    start: str, density: float, chi: float, critical: float
) -> None:
    section = SearchSection(activations=("relu",), start=start, density=density)  # type: ignore[arg-type] # one of its values

    (found,) = data_edge.measure_data_edge(dataset(), section, grid=FEW).connectivity

    assert found.chi_theory == chi
    assert found.chi.mean == pytest.approx(chi, rel=0.03)
    assert found.critical_theory == pytest.approx(critical)
    assert found.critical is not None
    assert found.critical.mean == pytest.approx(critical, abs=0.02)


@pytest.mark.usefixtures("_short")
def test_ordered_networks_are_critical_at_no_density() -> None:
    section = SearchSection(activations=("tanh",), start="ordered")

    (found,) = data_edge.measure_data_edge(dataset(), section, grid=FEW).connectivity

    assert found.chi.mean == pytest.approx(0.5, rel=0.03)
    assert found.critical_theory > 1
    assert found.critical is None


@pytest.mark.usefixtures("_short")
def test_many_features_are_mixed_and_of_many_rows_some_are_drawn() -> None:
    found = data_edge.measure_data_edge(dataset(rows=4000, features=300), SECTION, grid=FEW)

    assert (found.rows, found.features) == (2048, 256)
    assert all(table.active > 0 for table in found.tables)


@pytest.mark.parametrize(("what", "task"), [("feature", "classes"), ("target", "numbers")])
def test_rows_that_nothing_can_be_learned_from_are_refused(what: str, task: Task) -> None:
    split = split_at_random(100, validation_share=0.2, test_share=0.2, seed=0)
    same = np.ones((100, 2), np.float32)
    rows = same if what == "feature" else np.random.default_rng(0).normal(size=(100, 2))
    answers = np.arange(100) % 2 if task == "classes" else same
    made = make_dataset(
        "same",
        rows.astype(np.float32),
        answers,
        classes=("a", "b"),
        feature_names=("x", "y"),
        split=split,
        task=task,
    )

    with pytest.raises(InputError, match=rf"search.probe: no {what} differs between the 60 train"):
        data_edge.measure_data_edge(made, SECTION, grid=FEW)


@pytest.mark.usefixtures("_short")
def test_a_search_records_it_and_one_that_goes_on_does_not_measure_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path / "project")
    change(project, "\n[search]", RELU)
    run = Searching.run

    def stopped(_self: Searching) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Searching, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        search_project(project)
    monkeypatch.setattr(Searching, "run", run)
    kept = load(project / ".evener" / "data_edge.json", DataEdge)
    monkeypatch.setattr(data_edge, "measure_data_edge", pytest.fail)

    result = search_project(project)

    assert result.found.edge == kept.value
    assert result.probe_s == kept.made.took_s > 0
    page = "".join(tostring(one, encoding="unicode") for one in search(result.found))
    assert f">{kept.value.critical}</td>" in page
    assert ">0.786</td>" in page
    assert ">0.881</td>" in page
    (links,) = kept.value.connectivity
    assert f">{links.chi}</td>" in page
    assert f">{links.critical}</td>" in page
    assert search_project(project).found == result.found

    trained = [len(result.found.scored), 0]
    monkeypatch.setattr("evener.workflow.trial_batches.TrialBatches.__call__", _only_fixed(trained))
    change(project, "probe = true", "probe = false")
    without = search_project(project)

    assert without.found.edge is None
    assert without.probe_s == 0
    assert without.found.scored == result.found.scored
    assert trained[1] == 1  # the fixed network, whose trial nothing keeps


def _only_fixed(counted: list[int]) -> object:
    from evener.workflow.trial_batches import TrialBatches

    call = TrialBatches.__call__

    def count(self: TrialBatches, batch: object, **terms: object) -> object:
        counted[1] += len(batch)  # type: ignore[arg-type] # a list of networks
        return call(self, batch, **terms)  # type: ignore[arg-type] # as they are

    return count
