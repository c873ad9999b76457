"""A search that makes small what the plans of networks cost, and keeps the limits on them."""

from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends
from evener.artifacts.project import parse_project
from evener.artifacts.search_section import SearchSection
from evener.errors import InputError
from evener.workflow import search_cost
from evener.workflow.network_cost import NetworkCost, cost_on_board
from evener.workflow.search import SearchResult, search_project
from evener.workflow.search_cost import planned_cost
from evener.workflow.search_setup import prices_of, space_of

pytestmark = pytest.mark.usefixtures("simple_models_once")
PROJECT = """
[data]
source = "digits"
[requirements]
{requirements}
[search]
cost = "{cost}"
population = 4
generations = 2
epochs = 1
depth = 2
widths = [8, 256]
finalists = 1
algorithm = "{algorithm}"
[train]
epochs = 1
[plan]
{plan}
"""
BOARD = 'board = "khadas-vim3"'
ENDS = Ends(features=64, outputs=10)


def searched(
    folder: Path,
    *,
    cost: str = "period",
    requirements: str = "",
    plan: str = BOARD,
    algorithm: str = "nsga2",
) -> SearchResult:
    text = PROJECT.format(cost=cost, requirements=requirements, plan=plan, algorithm=algorithm)
    (folder / "evener.toml").write_text(text)
    return search_project(folder)


@pytest.mark.parametrize(
    ("cost", "figure", "algorithm"),
    [
        ("period", "period_s", "screened"),
        ("latency", "latency_s", "nsga2"),
        ("energy", "energy_j", "nsga2"),
    ],
)
def test_the_second_objective_is_what_the_plan_costs(
    cost: str, figure: str, algorithm: str, tmp_path: Path
) -> None:
    found = searched(tmp_path, cost=cost, algorithm=algorithm).found

    planned = cost_on_board("khadas-vim3", ENDS)
    assert found.objectives == ("error", cost)
    good = [one for one in found.scored if one.objectives]
    assert [one.objectives[1] for one in good] == [
        of[figure] for of in planned([one.architecture for one in good])
    ]
    assert len(good) > 1


def test_what_breaks_a_hard_limit_on_its_plan_is_not_trained(tmp_path: Path) -> None:
    planned = cost_on_board("khadas-vim3", ENDS)

    found = searched(tmp_path, requirements='throughput = ">= 1500 /s"').found

    rates = [1 / of["period_s"] for of in planned([one.architecture for one in found.scored])]
    assert min(rates) >= 1500


def test_a_limit_that_no_network_keeps_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evener.search.evolution._PATIENCE", 20)
    with pytest.raises(InputError, match="every one breaks a limit"):
        searched(tmp_path, requirements='throughput = ">= 1000000 /s"')


def test_another_board_is_another_search(tmp_path: Path) -> None:
    first = searched(tmp_path)
    again = searched(tmp_path)
    other = searched(tmp_path, plan='board = "rk3399pro"')

    assert (first.kept, again.kept, other.kept) == (False, True, False)
    assert again.found == first.found


def test_blocks_of_convolutions_have_plans_too() -> None:
    ends = Ends(features=196, outputs=10, picture=(1, 14, 14))
    section = SearchSection(networks="blocks", cost="period")
    space = space_of(section, ends)
    networks = space.decode(space.draw(6, np.random.default_rng(0)))
    cost = cost_on_board("khadas-vim3", ends)

    prices = prices_of(section, ends, cost)(networks)

    assert prices == [(of["period_s"],) for of in cost(networks)]
    assert len(set(prices)) > 1


def test_a_search_that_knows_of_no_plans_cannot_make_them_cheap() -> None:
    with pytest.raises(InputError, match="search.cost = 'period' is of a plan, and this search"):
        prices_of(SearchSection(cost="period"), ENDS)


def test_a_network_whose_output_nothing_leads_to_costs_nothing() -> None:
    prices = prices_of(SearchSection(cost="period"), ENDS, cost_on_board("khadas-vim3", ENDS))

    (unconnected, connected) = prices([LayerGraph(links=()), LayerGraph()])

    assert unconnected == (0.0,)
    assert connected > (0.0,)


def planned(cost: str, plan: dict[str, str]) -> NetworkCost | None:
    project = parse_project(
        {
            "data": {"source": "digits"},
            "search": {"cost": cost},
            "requirements": {"throughput": ">= 10 /s"},
            "plan": plan,
        }
    )
    return planned_cost(project, Path(), ENDS, None)


def test_nothing_is_planned_beforehand_unless_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def here(*_args: object, **_choices: object) -> NetworkCost:
        return cost_on_board("khadas-vim3", ENDS)

    monkeypatch.setattr(search_cost, "cost_here", here)

    assert planned("macs", {}) is None
    assert planned("macs", {"board": "khadas-vim3"}) is None
    assert planned("period", {"board": "khadas-vim3"}) is not None
    assert planned("period", {}) is not None


def test_energies_that_nobody_knows_cannot_be_made_small(tmp_path: Path, board: str) -> None:
    model = """
[cost_model]
features = ["layers"]
part_error = [0.1, 0.2]
network_error = [0.1, 0.2]
rates.big = { ms = [1.0] }
"""
    path = Path(board)
    path.write_text(path.read_text() + model)

    with pytest.raises(InputError, match="search.cost = 'energy': nobody knows what processors"):
        searched(tmp_path, cost="energy", plan=f'board = "{path.name}"')
