"""Algorithms by their names."""

import numpy as np
import pytest

from evener.artifacts.search_section import ALGORITHMS, AlgorithmName, SearchSection
from evener.errors import InputError
from evener.search.algorithms import make_algorithm
from evener.search.bandit import LEARNED
from evener.search.evolution import Evolution
from evener.search.layer_space import LayerSpace
from evener.search.space import costs_of

SPACE = LayerSpace(depth=3)


@pytest.mark.parametrize("objectives", [1, 2])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_searches_with_as_many_children_as_wanted(
    name: AlgorithmName, objectives: int
) -> None:
    costs = costs_of(SPACE, lambda networks: [[one.weights(8, 3)] for one in networks])
    algorithm = make_algorithm(name, SPACE, children=8, objectives=objectives, costs=costs)
    evolution = Evolution(SPACE, algorithm, seed=1, objectives=objectives)

    asked = []
    for _ in range(5):
        networks = evolution.ask()
        asked.append(len(networks))
        results = {one.id: (len(one.links), one.weights(8, 3))[:objectives] for one in networks}
        evolution.tell(results)

    assert len(algorithm.breed(algorithm.begin(), np.random.default_rng(0)).genomes) >= 8
    assert max(asked[1:]) <= 10
    assert evolution.front()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_begins_with_what_it_is_given(name: AlgorithmName) -> None:
    seeds = SPACE.draw(2, np.random.default_rng(5))

    algorithm = make_algorithm(name, SPACE, children=6, seeds=seeds)

    first = algorithm.breed(algorithm.begin(), np.random.default_rng(0)).genomes
    assert (first[:2] == seeds).all()


def test_a_band_and_arms_are_for_those_that_use_them() -> None:
    with pytest.raises(InputError, match="a band of lambda for 'screened', which keeps no share"):
        make_algorithm("screened", SPACE, children=6, band=(0.2, 0.6))
    with pytest.raises(InputError, match="several arms for 'regularized', which has no operators"):
        make_algorithm("regularized", SPACE, children=6, arms=LEARNED)


def test_unless_told_otherwise_a_model_screens() -> None:
    assert SearchSection().algorithm == "screened"
    assert make_algorithm("screened", SPACE, children=10).name == "screened paper"
