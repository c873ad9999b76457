"""Keys of Algorithm 1 are refused where they mean nothing; Table I is what its preset comes to."""

from math import inf, nan
from typing import Any

import pytest

from evener.artifacts.project import Project, parse_project
from evener.artifacts.table1 import TABLE_1
from evener.errors import InvalidProjectError
from evener.search.layer_space import LayerSpace


def project_of(search: dict[str, Any], train: dict[str, Any] | None = None) -> Project:
    return parse_project({"data": {"source": "digits"}, "search": search, "train": train or {}})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"error_threshold": 0.1}, 'error_threshold = 0.1 is of algorithm = "coevolution"'),
        ({"fitness_threshold": 0.1}, '"screened" does not: leave it out, or change the alg'),
        ({"certainty": 0.9}, "search.certainty = 0.9 is of algorithm"),
        ({"cycles": 3}, "search.cycles = 3 is of algorithm"),
        ({"credit": "mean"}, 'credit = "mean" judges layers that compete.*write compete = true'),
        ({"batch": 0}, "search.batch = 0 must be at least 1"),
    ],
)
def test_other_algorithms_have_none_of_it(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidProjectError, match=told):
        project_of(given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"error_threshold": 0.0}, "error_threshold = 0.0 must be a number above 0"),
        ({"error_threshold": nan}, "error_threshold = nan must be a number above 0"),
        ({"fitness_threshold": -1.0}, "fitness_threshold = -1.0 must be a number above 0"),
        ({"fitness_threshold": inf}, "fitness_threshold = inf must be a number above 0"),
        ({"certainty": 1.5}, "certainty = 1.5 is a probability: write one from 0 to 1"),
        ({"certainty": nan}, "certainty = nan is a probability"),
        ({"cycles": 0}, "search.cycles = 0 must be at least 1"),
        (
            {"base_models": ["32", "64", "32-32"], "population": 2, "parents": 2},
            "base_models = 3 networks are more than the population, 2",
        ),
    ],
)
def test_values_that_cannot_be_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidProjectError, match=told):
        project_of({"algorithm": "coevolution"} | given)


def test_the_preset_holds_each_row_of_table_1() -> None:
    """But for the replacement, which leaves out the best: elitism and it exclude each other."""
    search = project_of({"preset": "table1"}).search
    space = LayerSpace(
        depth=search.depth,
        widths=search.widths,
        max_nodes=search.max_nodes,
        activations=search.activations,
    )

    assert (search.algorithm, search.recipes, search.links) == ("paper", True, "any")
    assert search.passes_after_cut(search.epochs) == TABLE_1.back_propagation_cycles < 50
    assert (space.length, search.depth, search.max_nodes) == (31, 5, 1024)
    assert (search.population, search.generations, search.epochs) == (10, 10, 10)
    assert (search.parents < search.population, search.elite) == (True, 1)
    low, high = TABLE_1.mutation_rate
    assert low <= 1 / space.length <= high
    low, high = TABLE_1.crossover_rate
    assert low <= search.crossover <= high
    assert search.batch == TABLE_1.rows_per_update == 1


@pytest.mark.parametrize(
    ("search", "train", "batch"), [({}, {"batch": 16}, None), ({"batch": 8}, {}, 8)]
)
def test_a_users_own_batch_wins(
    search: dict[str, Any], train: dict[str, Any], batch: int | None
) -> None:
    assert project_of({"preset": "table1"} | search, train).search.batch == batch


def test_a_users_own_cycles_win() -> None:
    given = {"preset": "table1", "algorithm": "coevolution", "cycles": 5}

    assert project_of(given).search.passes_after_cut(10) == 5
