"""The paper's fitness, as meant and as printed."""

from collections.abc import Callable

import numpy as np
import pytest

from evener.search.fitness import paper_abs, paper_literal, paper_score

RIGHT = np.array([[1.0, 0.0], [0.0, 1.0]])
WRONG = 1 - RIGHT
Fitness = Callable[..., float]


def error(fitness: Fitness, answers: np.ndarray) -> float:
    return fitness(answers, RIGHT, alpha=0, complexity=0, mu=0, pruned=0)


def test_right_answers_cost_nothing_and_wrong_ones_everything() -> None:
    assert error(paper_abs, RIGHT) == 0
    assert error(paper_abs, WRONG) == 1
    assert error(paper_abs, np.full((2, 2), 0.5)) == 0.5


def test_as_printed_wrong_answers_cost_as_little_as_right_ones() -> None:
    assert error(paper_literal, WRONG) == error(paper_literal, RIGHT) == 0


def test_as_printed_it_is_without_bound_for_answers_that_overshoot() -> None:
    assert error(paper_literal, RIGHT + 100) == -100
    assert error(paper_abs, RIGHT + 100) == 100


@pytest.mark.parametrize(("fitness", "sign"), [(paper_abs, -1), (paper_literal, 1)])
def test_pruning_pays_as_meant_and_costs_as_printed(fitness: Fitness, sign: int) -> None:
    dense, sparse = (
        fitness(RIGHT, RIGHT, alpha=0, complexity=0, mu=0.2, pruned=pruned) for pruned in (0, 0.7)
    )

    assert sparse - dense == pytest.approx(sign * 0.14)


@pytest.mark.parametrize("fitness", [paper_abs, paper_literal])
def test_complexity_costs_by_its_weight(fitness: Fitness) -> None:
    assert fitness(RIGHT, RIGHT, alpha=0.3, complexity=0.5, mu=0, pruned=0) == 0.15


def test_the_score_of_the_papers_table_is_what_is_left_of_100() -> None:
    assert paper_score(0.0) == 100
    assert paper_score(0.125) == 87.5
