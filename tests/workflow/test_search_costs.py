"""A search that makes several costs small at once, each beside the error."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.files import load
from evener.artifacts.front import Front, Scored
from evener.artifacts.networks import Ends, macs, weights
from evener.artifacts.networks import Network as Found
from evener.artifacts.search_section import AlgorithmName, CostName, SearchName, SearchSection
from evener.artifacts.search_state import SearchState
from evener.search.fronts import first_front
from evener.search.genes import Genomes
from evener.search.judged import Judged, Objectives
from evener.workflow import search_setup
from evener.workflow.network_cost import Cost, NetworkCost, cost_on_board
from evener.workflow.search import SearchResult, search_project
from evener.workflow.search_setup import (
    algorithm_of,
    price_seconds,
    prices_of,
    reference_of,
    space_of,
)

pytestmark = pytest.mark.usefixtures("simple_models_once")
pytest.importorskip("torch", reason="searching trains, which needs the extra 'train'")

PROGRAM = Path(__file__).with_name("search_program.py")
ENDS = Ends(features=64, outputs=10)
COSTS: tuple[CostName, ...] = ("latency", "weights", "energy")
PROJECT = """
[data]
source = "digits"
[search]
cost = ["latency", "weights", "energy"]
algorithm = "{algorithm}"
population = 4
generations = 3
epochs = 1
rows = 300
depth = 2
widths = [8, 64, 256]
finalists = 2
[train]
epochs = 1
[plan]
board = "khadas-vim3"
"""


def write_project(folder: Path, algorithm: SearchName) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "evener.toml").write_text(PROJECT.format(algorithm=algorithm))
    return folder


def scored_of(front: Front) -> dict[str, Scored]:
    return {one.score.id: one for one in front.scored if one.objectives}


@pytest.mark.parametrize("algorithm", ["nsga2", "screened", "coevolution"])
def test_all_costs_are_objectives_and_the_front_is_in_order_of_the_first(
    algorithm: SearchName, tmp_path: Path
) -> None:
    result = search_project(write_project(tmp_path, algorithm))
    found, by_id = result.found, scored_of(result.found)

    planned = cost_on_board("khadas-vim3", ENDS)
    assert found.objectives == ("error", *COSTS)
    for one in by_id.values():
        (cost,) = planned([one.architecture])
        wanted = (cost["latency_s"], one.score.weights, cost["energy_j"])
        assert one.objectives == (1 - (one.score.quality or 0), *wanted)
    # Of equals a front keeps one.
    table = np.array([one.objectives for one in by_id.values()])
    best = {tuple(row) for row in table[first_front(table)].tolist()}
    assert {by_id[id_].objectives for id_ in found.front} == best
    assert len(found.front) == len(best)
    latencies = [by_id[id_].objectives[1] for id_ in found.front]
    assert latencies == sorted(latencies)
    check_members(result, by_id)


def check_members(result: SearchResult, by_id: dict[str, Scored]) -> None:
    for one in result.front:
        assert tuple(one.costs) == COSTS
        assert tuple(one.costs.values()) == by_id[one.id].objectives[1:]


def test_killed_at_random_it_goes_on_and_ends_in_the_same(tmp_path: Path) -> None:
    whole = search_project(write_project(tmp_path / "whole", "screened"))
    project = write_project(tmp_path / "killed", "screened")
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), "2", "search.json", str(project)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) > [0]

    assert search_project(project).found == whole.found


@pytest.mark.parametrize("name", ["nsga2", "screened", "islands", "paper", "regularized", "random"])
def test_every_algorithm_is_told_of_all_costs(name: AlgorithmName) -> None:
    section = SearchSection(algorithm=name, cost=COSTS, population=6)
    space = space_of(section, ENDS)
    prices = prices_of(section, ENDS, cost_on_board("khadas-vim3", ENDS))
    rng = np.random.default_rng(3)
    algorithm = algorithm_of(section, space, prices)

    memory = algorithm.begin()
    for _ in range(4):
        brood = algorithm.breed(memory, rng)
        networks = space.decode(brood.genomes)
        errors = [1 / (1 + weights(one, ENDS)) for one in networks]
        table = np.column_stack([errors, np.array(prices(networks))])
        memory = algorithm.learn(memory, brood, judged_of(brood.genomes, table))

    assert np.array(prices(networks)).shape == (len(networks), 3)


def judged_of(genomes: Genomes, objectives: Objectives) -> Judged:
    count = len(genomes)
    return Judged(genomes, objectives, np.zeros(count), np.ones(count, bool))


def test_each_cost_has_the_limit_of_its_own_requirement() -> None:
    section = SearchSection(cost=("macs", "weights", "latency"))

    assert reference_of(section, 0.75, 44_096) == (0.25, None, 10_000.0, None)
    assert reference_of(section, None, 44_096) == (None, None, 10_000.0, None)
    assert reference_of(section, None, None) == ()


def test_prices_come_in_the_order_of_the_costs() -> None:
    cost = cost_on_board("khadas-vim3", ENDS)
    section = SearchSection(cost=("energy", "macs", "period"))
    networks = space_of(section, ENDS).decode(
        space_of(section, ENDS).draw(5, np.random.default_rng(0))
    )

    prices = prices_of(section, ENDS, cost)(networks)

    planned = cost(networks)
    assert [one[0] for one in prices] == [of["energy_j"] for of in planned]
    assert [one[1] for one in prices] == [macs(one, ENDS) for one in networks]
    assert [one[2] for one in prices] == [of["period_s"] for of in planned]


def test_where_prices_take_long_few_candidates_are_priced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()
    cost = NetworkCost._cost

    def note(self: NetworkCost, one: Found) -> Cost:
        asked.add(one.id)
        return cost(self, one)

    def priced(name: str, each_s: float) -> tuple[int, int | None]:
        asked.clear()
        monkeypatch.setattr(search_setup, "price_seconds", lambda *_: each_s)
        project = write_project(tmp_path / name, "screened")
        search_project(project)
        return len(asked), load(project / ".evener" / "search.json", SearchState).value.pool

    monkeypatch.setattr(NetworkCost, "_cost", note)

    # Of three generations: what is trained, its neighbours and children, and random search's.
    slow, among_few = priced("slow", 60.0)
    quick, among_many = priced("quick", 0.0)
    assert (among_few, among_many) == (15, 500)
    assert slow < 70 < quick


def test_a_price_takes_time_where_it_is_of_a_plan() -> None:
    cost = cost_on_board("khadas-vim3", ENDS)
    taken = [
        price_seconds(one, space_of(one, ENDS), prices_of(one, ENDS, cost))
        for one in (SearchSection(cost=COSTS), SearchSection(cost=("macs", "weights")))
    ]

    assert taken[0] is not None
    assert taken[0] > 0
    assert taken[1] is None


def test_one_cost_alone_is_the_same_search_as_a_list_of_it(tmp_path: Path) -> None:
    project = write_project(tmp_path / "one", "nsga2")
    path = project / "evener.toml"
    path.write_text(path.read_text().replace('["latency", "weights", "energy"]', '"weights"'))
    first = search_project(project)
    path.write_text(path.read_text().replace('"weights"', '["weights"]'))

    again = search_project(project)

    assert again.kept
    assert again.found == first.found
