"""Searches by each algorithm, of each kind of network, and within limits."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.networks import Ends, weights
from evener.artifacts.project import DataSection
from evener.artifacts.search_section import SearchSection
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.data.split import Split
from evener.errors import InputError
from evener.testing.projects import change, write_project
from evener.workflow.search import search_project

pytest.importorskip("torch", reason="searching trains, which needs the extra 'train'")
pytestmark = pytest.mark.usefixtures("simple_models_once")

ENDS = Ends(features=3, outputs=2)


@pytest.mark.parametrize("algorithm", ["paper", "regularized", "islands", "nsga2", "random"])
def test_every_algorithm_searches(tmp_path: Path, algorithm: Any) -> None:  # noqa: ANN401 - a name
    project = write_project(tmp_path / "project")
    change(project, "generations = 5", "generations = 3")
    change(project, "epochs = 4", "epochs = 1")

    result = search_project(project, algorithm=algorithm)

    assert 4 <= result.evaluations <= 12
    assert result.test is not None


def test_a_network_above_the_limit_on_the_size_is_never_trained(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", '\n[requirements]\nsize = "<= 5 kB"\n')

    found = search_project(project).found

    largest = max(weights(one.architecture, ENDS) for one in (*found.scored, *found.random))
    assert 4096 + 4 * largest <= 5000


def test_a_limit_that_no_network_keeps_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evener.search.evolution._PATIENCE", 20)
    project = write_project(tmp_path / "project", '\n[requirements]\nsize = "<= 1 B"\n')
    change(project, "depth = 3", "depth = 1")

    message = (
        "no network was tried in 10 min: every one breaks the hard requirement size <= 1 B, or "
    )
    with pytest.raises(InputError, match=message):
        search_project(project)


def test_recipes_and_halving_and_the_papers_preset_go_together(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    change(project, "[search]\n", '[search]\npreset = "table1"\nhalving = true\n')
    change(project, "epochs = 3", "epochs = 9")

    found = search_project(project).found

    statuses = {one.score.status for one in found.scored}
    assert "stopped" in statuses
    assert "ok" in statuses
    assert all(one.architecture.recipe is not None for one in found.scored)  # type: ignore[union-attr] # graphs
    assert [one.chi for one in found.beginnings] == [1.0]


def test_convolutions_are_searched_over_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load_pictures(section: DataSection, folder: Path) -> Dataset:
        whole = load_dataset(section, folder)
        few = (rows[:150] for rows in (whole.split.train, whole.split.validation, whole.split.test))
        return dataclasses.replace(whole, picture=(1, 8, 8), split=Split(*few))

    monkeypatch.setattr("evener.data.load.load_dataset", load_pictures)
    project = write_project(tmp_path / "project")
    change(project, 'source = "rows.csv"\ntarget = "kind"', 'source = "digits"')
    change(project, "[search]\n", '[search]\nnetworks = "blocks"\nstages = 2\nchannels = [4, 8]\n')
    change(project, "generations = 5", "generations = 1")
    change(project, "epochs = 4", "epochs = 1")

    found = search_project(project).found

    assert {type(one.architecture) for one in (*found.scored, *found.random)} == {ConvStack}
    assert {one.score.status for one in found.scored} == {"ok"}
    assert {one.of for one in found.retrained} == {"front", "random", "fixed"}


def test_what_a_plan_will_come_to_is_made_small_and_limited(tmp_path: Path) -> None:
    project = write_project(
        tmp_path / "project",
        """
[requirements]
latency_p99 = "<= 1 ms"

[plan]
board = "khadas-vim3"
objective = "latency"
""",
    )
    change(project, "[search]\n", '[search]\ncost = "latency"\n')

    found = search_project(project).found

    assert found.objectives == ("error", "latency")
    assert {0.0 < one.objectives[1] <= 1e-3 for one in found.scored} == {True}


def test_the_preset_is_the_papers_table_and_single_settings_may_differ(tmp_path: Path) -> None:
    from evener.artifacts.project import load_project

    project = write_project(tmp_path / "project")
    change(project, "[search]\n", '[search]\npreset = "table1"\n')

    section = load_project(project).search

    assert (section.algorithm, section.density, section.recipes) == ("paper", 0.786, True)
    assert (section.population, section.epochs) == (4, 3)
    assert SearchSection().algorithm == "screened"


def test_blocks_of_convolutions_inherit_nothing() -> None:
    from evener.workflow.search_setup import space_of

    section = SearchSection(inherit=True, networks="blocks")

    with pytest.raises(InputError, match=r"search\.inherit = true passes on what layers have lea"):
        space_of(section, Ends(features=784, outputs=10, picture=(1, 28, 28)))
