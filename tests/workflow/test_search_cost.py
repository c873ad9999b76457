"""A search that makes small what the plans of networks cost, and keeps the limits on them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.networks import Ends
from evener.artifacts.project import parse_project
from evener.artifacts.requirements import parse_requirement
from evener.artifacts.search_section import SearchSection
from evener.errors import InputError, InvalidProjectError
from evener.profile.energy import CountingMeter
from evener.workflow import search_cost
from evener.workflow.build import build_project
from evener.workflow.energy_asked import check_energy_asked
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
cost = {cost}
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
    cost = cost if cost.startswith("[") else f'"{cost}"'
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
    with pytest.raises(InputError, match="one breaks the hard requirement throughput >= 1000000 /"):
        searched(tmp_path, requirements='throughput = ">= 1000000 /s"')


@pytest.mark.parametrize(
    ("cost", "name", "figure", "unit"),
    [
        ("macs", "throughput", "period_s", "/s"),
        ("weights", "latency_p99", "latency_s", "s"),
        ("macs", "energy", "energy_j", "J"),
    ],
)
def test_a_hard_limit_on_the_plan_for_a_board_counts_whatever_is_to_be_small(
    cost: str, name: str, figure: str, unit: str, tmp_path: Path
) -> None:
    for folder in ("free", "wished", "held"):
        (tmp_path / folder).mkdir()
    free = searched(tmp_path / "free", cost=cost).found
    planned = cost_on_board("khadas-vim3", ENDS)
    figures = sorted(of[figure] for of in planned([one.architecture for one in free.scored]))
    most = figures[len(figures) // 2]
    assert figures[-1] > most
    limit = f">= {1 / most} {unit}" if name == "throughput" else f"<= {most} {unit}"

    wished = searched(tmp_path / "wished", cost=cost, requirements=f'{name} = "{limit} ?"').found
    held = searched(tmp_path / "held", cost=cost, requirements=f'{name} = "{limit}"').found

    assert wished == free
    assert held.objectives == ("error", cost)
    assert len(held.scored) > 1
    within = cost_on_board("khadas-vim3", ENDS, requirements=[parse_requirement(name, limit)])
    reached = [of[figure] for of in within([one.architecture for one in held.scored])]
    assert max(reached) <= most * (1 + 1e-9)


def test_every_requirement_that_no_network_keeps_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evener.search.evolution._PATIENCE", 20)
    limits = 'accuracy = ">= 0.5"\nsize = "<= 9 MB"\nenergy = "<= 1 uJ"\nlatency_p50 = "<= 1 s ?"'

    with pytest.raises(InputError, match="one of the hard requirements size <= 9 MB, energy <= 1 "):
        searched(tmp_path, cost="macs", requirements=limits)


def test_a_size_that_no_network_keeps_is_named_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evener.search.evolution._PATIENCE", 20)
    with pytest.raises(InputError, match=r"breaks the hard requirement size <= 5 kB, or the time"):
        searched(tmp_path, cost="macs", requirements='size = "<= 5 kB"', plan="")


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


def planned(
    cost: str, plan: dict[str, str], requirement: tuple[str, str] = ("throughput", ">= 10 /s")
) -> NetworkCost | None:
    project = parse_project(
        {
            "data": {"source": "digits"},
            "search": {"cost": cost},
            "requirements": dict([requirement]),
            "plan": plan,
        }
    )
    return planned_cost(project, Path(), ENDS, None)


def test_nothing_is_planned_beforehand_unless_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def here(*_args: object, **_choices: object) -> NetworkCost:
        return cost_on_board("khadas-vim3", ENDS)

    monkeypatch.setattr(search_cost, "cost_here", here)

    assert planned("macs", {}) is None
    assert planned("macs", {"board": "khadas-vim3"}, ("throughput", ">= 10 /s ?")) is None
    assert planned("macs", {"board": "khadas-vim3"}, ("size", "<= 10 kB")) is None
    assert planned("weights", {"board": "khadas-vim3"}) is not None
    assert planned("macs", {"board": "khadas-vim3"}, ("energy", "<= 10 J")) is not None
    assert planned("macs", {"board": "khadas-vim3"}, ("latency_p50", "<= 1 s")) is not None
    assert planned("period", {"board": "khadas-vim3"}) is not None
    assert planned("period", {}) is not None


@pytest.fixture
def unpowered(board: str) -> str:
    """Return the file of a board that has a cost model and no powers."""
    model = """
[cost_model]
features = ["layers"]
part_error = [0.1, 0.2]
network_error = [0.1, 0.2]
rates.big = { ms = [1.0] }
"""
    path = Path(board)
    path.write_text(path.read_text() + model)
    return path.name


HERE = "nobody knows what a network draws on this machine before it runs: plan for a board whose "
THERE = (
    r"the cost model of toy has no powers of big at some clock: give them in its file \(block_mw, "
    r"input_mw\), leave these processors out, or "
)


@pytest.mark.usefixtures("nothing_timed")
@pytest.mark.parametrize(
    ("cost", "written", "instead"),
    [
        ("energy", "'energy'", "write 'period' in place of 'energy'"),
        ('["macs", "energy"]', r'\["macs", "energy"\]', "write 'period' in place of 'energy'"),
        ('["period", "energy"]', r'\["period", "energy"\]', "leave 'energy' out"),
    ],
)
def test_energies_that_nobody_knows_cannot_be_made_small(
    cost: str, written: str, instead: str, tmp_path: Path, unpowered: str
) -> None:
    for plan, why in (("", HERE), (f'board = "{unpowered}"', THERE)):
        with pytest.raises(InputError, match=f"search.cost = {written}, and {why}.*{instead}$"):
            searched(tmp_path, cost=cost, plan=plan)
    assert not (tmp_path / ".evener").exists()


@pytest.mark.usefixtures("nothing_timed")
@pytest.mark.parametrize("begin", [search_project, build_project])
def test_energies_that_nobody_will_know_cannot_be_required(
    begin: Callable[[Path], object], tmp_path: Path, unpowered: str
) -> None:
    here = "nothing here measures energy: plan for a board whose file has powers .plan.board., or"
    for plan, why in (("", here), (f'board = "{unpowered}"', THERE)):
        limit = 'energy = "<= 5 mJ"'
        (tmp_path / "evener.toml").write_text(
            PROJECT.format(cost='"macs"', algorithm="nsga2", requirements=limit, plan=plan)
        )
        wanted = f"requirements.energy = '<= 5 mJ', and {why}.*make it a wish, '<= 5 mJ .'"
        with pytest.raises(InvalidProjectError, match=wanted) as caught:
            begin(tmp_path)
        assert caught.value.key == "requirements.energy"
    assert not (tmp_path / ".evener").exists()


def test_energies_that_a_plan_turns_out_not_to_have_are_told(
    tmp_path: Path, unpowered: str
) -> None:
    cost = cost_on_board(str(tmp_path / unpowered), ENDS)
    with pytest.raises(InputError, match="search.cost asks for 'energy', and nobody knows what"):
        prices_of(SearchSection(cost="energy"), ENDS, cost)([LayerGraph()])


@pytest.mark.usefixtures("nothing_timed")
def test_a_plan_of_least_energy_needs_powers_before_the_search(
    tmp_path: Path, unpowered: str
) -> None:
    with pytest.raises(InputError, match=f"plan.objective = 'energy', and {THERE}write 'through"):
        searched(tmp_path, cost="macs", plan=f'board = "{unpowered}"\nobjective = "energy"')


def test_a_meter_is_enough_to_require_an_energy_of_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evener.workflow.plan.find_meter", lambda: CountingMeter([]))
    project = {"data": {"source": "digits"}, "requirements": {"energy": "<= 5 mJ"}}

    check_energy_asked(parse_project(project), Path())
    with pytest.raises(InputError, match=f"search.cost = 'energy', and {HERE}"):
        check_energy_asked(parse_project(project | {"search": {"cost": "energy"}}), Path())


def test_powers_of_the_processors_that_are_used_are_enough(tmp_path: Path, unpowered: str) -> None:
    path = tmp_path / unpowered
    powers = "rates.gpu = { ms = [1.0], block_mw = 3000.0 }\n"
    path.write_text(path.read_text().replace('"toy"\n', '"toy"\nidle_mw = 1000\n') + powers)

    found = searched(
        tmp_path, cost="energy", plan=f'board = "{unpowered}"\nprocessors = ["gpu"]'
    ).found

    prices = [one.objectives[1] for one in found.scored if one.objectives]
    # A millisecond for each of two or three layers: of 2 W beyond the idle board, and of its 1 W.
    assert {round(price / 3e-3, 9) for price in prices} <= {1.0, 2.0, 3.0}
    assert prices


@pytest.fixture
def nothing_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no meter, and fail where anything is timed or trained."""

    def never(*_args: object, **_choices: object) -> None:
        raise AssertionError("something was timed before the refusal")

    monkeypatch.setattr("evener.workflow.plan.find_meter", lambda: None)
    monkeypatch.setattr("evener.workflow.network_cost.machine_costs", never)
    monkeypatch.setattr("evener.workflow.learn.probe_data", never)
