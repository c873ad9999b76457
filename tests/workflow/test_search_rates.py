"""How a project's search comes by the rates of its operators: fixed, in a band, or learned."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from evener.artifacts.files import load
from evener.artifacts.networks import Ends
from evener.artifacts.search_section import BANDED, LEARNING, AlgorithmName, SearchSection
from evener.artifacts.search_state import SearchState
from evener.search.algorithm import Memory, memory_of
from evener.search.bandit import LEARNED
from evener.search.drift import lost_by_chance
from evener.search.judged import Judged
from evener.testing.projects import change, write_project
from evener.workflow.search import SearchResult, search_project
from evener.workflow.search_setup import algorithm_of, prices_of, space_of, warnings_of

ENDS = Ends(features=64, outputs=10)
OFF, USUAL = (0.0, 1.0), (0.2, 0.6)
PROGRAM = Path(__file__).parent / "search_program.py"


def memories(section: SearchSection) -> list[Memory]:
    """Return what the algorithm of a project knows to begin with, its own and its islands'."""
    space = space_of(section, ENDS)
    memory = algorithm_of(section, space, prices_of(section, ENDS)).begin()
    return [memory, *memory.islands]


@pytest.mark.parametrize(
    ("algorithm", "band"),
    [
        ("paper", OFF),
        ("regularized", OFF),
        ("screened", OFF),
        ("random", OFF),
        ("nsga2", USUAL),
        ("islands", USUAL),
    ],
)
def test_each_algorithm_has_its_usual_band(
    algorithm: AlgorithmName, band: tuple[float, float]
) -> None:
    control = memories(SearchSection(algorithm=algorithm))[-1].control

    assert (control.low, control.high) == band


@pytest.mark.parametrize("algorithm", BANDED)
def test_a_band_of_a_project_is_that_of_its_search(algorithm: AlgorithmName) -> None:
    kept = memories(SearchSection(algorithm=algorithm, band=(0.3, 0.5)))[-1].control
    off = memories(SearchSection(algorithm=algorithm, band="off"))[-1].control

    assert (kept.low, kept.high) == (0.3, 0.5)
    assert (off.low, off.high) == OFF


def rates_of(section: SearchSection, generations: int, *, fresh: bool) -> list[float]:
    """Return the rate of mutation after each generation, in which all networks are new, or none."""
    space = space_of(section, ENDS)
    algorithm = algorithm_of(section, space, prices_of(section, ENDS))
    memory, rates = algorithm.begin(), []
    for generation in range(generations):
        brood = algorithm.breed(memory, np.random.default_rng(generation))
        count = len(brood.genomes)
        judged = Judged(brood.genomes, np.zeros((count, 2)), np.zeros(count), np.full(count, fresh))
        memory = algorithm.learn(memory, brood, judged)
        rates.append(memory.control.rate)
    return rates


@pytest.mark.parametrize("fresh", [False, True])
def test_the_papers_rate_of_mutation_is_the_projects_to_the_end(fresh: bool) -> None:
    fixed = SearchSection(algorithm="paper", mutation=0.05, population=20)

    assert rates_of(fixed, 6, fresh=fresh) == [0.05] * 6


def test_in_a_band_it_rises_where_nothing_is_new_and_falls_where_all_is() -> None:
    section = SearchSection(algorithm="paper", mutation=0.05, population=20, band=(0.2, 0.6))

    # Of 20 and 19 offspring; from 20 on the share is believed.
    assert rates_of(section, 3, fresh=False) == pytest.approx([0.055, 0.0605, 0.06655])
    assert rates_of(section, 3, fresh=True) == pytest.approx([0.05 / 1.1**n for n in (1, 2, 3)])


@pytest.mark.parametrize("algorithm", LEARNING)
def test_operators_are_learned_where_a_project_says_so(algorithm: AlgorithmName) -> None:
    assert len(memories(SearchSection(algorithm=algorithm))[-1].arms) == 1
    learned = SearchSection(algorithm=algorithm, operators="learned")
    assert memories(learned)[-1].arms == LEARNED


def test_what_is_learned_of_the_paper_is_about_the_projects_crossover() -> None:
    section = SearchSection(algorithm="paper", operators="learned", crossover=0.7)

    [memory] = memories(section)

    assert [one.crossover for one in memory.arms] == [0.7, 0.7, 0.5, 0.0]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SearchResult]:
    """Search a project that learns its rates, and that nobody kills."""
    pytest.importorskip("torch", reason="searching trains, which needs the extra 'train'")
    return searched(tmp_path_factory.mktemp("learned"), "paper")


def searched(folder: Path, algorithm: str) -> tuple[Path, SearchResult]:
    project = write_project(folder / algorithm)
    settings = f'[search]\nalgorithm = "{algorithm}"\noperators = "learned"\n'
    change(project, "[search]\n", settings)
    if algorithm == "paper":
        change(project, "[search]\n", "[search]\nband = [0.2, 0.6]\n")
    return project, search_project(project)


def state_of(project: Path) -> dict[str, Any]:
    return load(project / ".evener" / "search.json", SearchState).value.search


@pytest.mark.usefixtures("simple_models_once")
def test_each_child_teaches_the_arm_that_made_it(learned: tuple[Path, SearchResult]) -> None:
    project, result = learned

    arms = memory_of(state_of(project)["memory"]).arms

    # Three children of each of the generations but the first, older ones counting less.
    bred = len(result.found.generations) - 1
    counted = sum(one.wins + one.losses for one in arms)
    assert counted >= sum(3 * 0.95**age for age in range(bred)) - 1e-9
    assert max(one.losses for one in arms) > 0


@pytest.mark.usefixtures("simple_models_once")
def test_killed_at_random_it_learns_on_and_ends_in_the_same(
    tmp_path: Path, learned: tuple[Path, SearchResult]
) -> None:
    project = write_project(tmp_path / "project")
    (project / "evener.toml").write_text((learned[0] / "evener.toml").read_text())
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), "3", "search.json", str(project)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) > [0]

    found = search_project(project).found

    assert found == learned[1].found
    assert state_of(project) == state_of(learned[0])


@pytest.mark.usefixtures("simple_models_once")
def test_other_rates_are_another_search_that_uses_what_is_known(
    tmp_path: Path, learned: tuple[Path, SearchResult]
) -> None:
    fixed = write_project(tmp_path / "fixed")
    change(fixed, "[search]\n", '[search]\nalgorithm = "paper"\nband = [0.2, 0.6]\n')
    both = load(learned[0] / ".evener" / "search.json", SearchState).made_from

    found = search_project(fixed).found
    alone = load(fixed / ".evener" / "search.json", SearchState).made_from

    assert both["trials"] == alone["trials"]
    assert both["course"] != alone["course"]
    change(fixed, "band = [0.2, 0.6]", 'band = "off"')
    off = search_project(fixed)
    assert not off.kept
    after = load(fixed / ".evener" / "search.json", SearchState).made_from
    assert after["course"] not in (both["course"], alone["course"])
    assert off.found.scored[:4] == found.scored[:4]  # what is drawn first does not depend on it


@pytest.mark.parametrize(
    ("section", "warned"),
    [
        (SearchSection(algorithm="paper", population=10, generations=10), True),
        (SearchSection(algorithm="paper", population=40, parents=16, generations=10), False),
        (SearchSection(algorithm="paper", population=10, generations=1), False),  # nothing is bred
        (SearchSection(algorithm="coevolution", population=6, sets=2), True),
        (SearchSection(algorithm="coevolution", population=40, parents=16), False),
        (SearchSection(population=2), False),
        (SearchSection(algorithm="nsga2", population=2), False),
        (SearchSection(algorithm="islands", population=4), False),
        (SearchSection(algorithm="regularized", population=2), False),
        (SearchSection(algorithm="random", population=2), False),
    ],
)
def test_drift_is_warned_of_where_the_chain_is_that_of_the_algorithm(
    section: SearchSection,
    warned: bool,
) -> None:
    warnings = warnings_of(section, space_of(section, ENDS))

    assert len(warnings) == warned
    assert all(one.startswith(f"drift: a population of {section.population}") for one in warnings)


def test_what_mutation_and_elite_a_project_has_counts() -> None:
    section = SearchSection(algorithm="paper", population=10, generations=10, mutation=0.2)

    assert warnings_of(section, space_of(section, ENDS)) == ()
    little = msgspec.structs.replace(section, mutation=0.02, elite=0)
    [warning] = warnings_of(little, space_of(little, ENDS))
    lost = lost_by_chance(10, 4, mutation=0.02, generations=9)
    assert f"within 9 generations with probability {lost:.2f}" in warning


@pytest.mark.usefixtures("simple_models_once")
def test_drift_is_told_at_the_start_and_kept_with_what_was_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("torch", reason="searching trains, which needs the extra 'train'")
    project = write_project(tmp_path / "project")
    change(project, "[search]\n", '[search]\nalgorithm = "paper"\n')
    change(project, "generations = 5", "generations = 2")
    change(project, "epochs = 3", "epochs = 1")
    said = [""]

    def tell(message: str, _done: int, _of: int) -> None:
        said.append(message if caplog.records else "")

    found = search_project(project, progress=tell).found

    [warning] = found.warnings
    assert warning.startswith("drift: a population of 4, of which the best 4 breed, loses a link")
    assert warning in caplog.messages
    assert any(one.startswith("generation 1") for one in said)  # the warning came before
