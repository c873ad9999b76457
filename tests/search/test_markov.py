"""The Markov chain of a link in a population, beside the genetic algorithm itself."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from evener.errors import InputError
from evener.search.markov import (
    fate,
    fitness_of,
    inherit,
    loss_after,
    stationary,
    survival,
    transitions,
)
from evener.search.variation import cross, cut, invert

Networks = NDArray[np.bool_]
Drawn = np.random.Generator

advantages = st.floats(0.05, 20.0)
populations = st.integers(1, 60)


@given(populations, advantages, st.floats(0.0, 1.0))
def test_rows_sum_to_one(population: int, advantage: float, mutation: float) -> None:
    matrix = transitions(population, advantage, mutation)

    assert np.abs(matrix.sum(axis=1) - 1).max() <= 1e-12
    assert matrix.min() >= 0


@pytest.mark.parametrize("advantage", [Fraction(1), Fraction(6, 5), Fraction(1, 3)])
def test_entries_are_those_of_exact_arithmetic(advantage: Fraction) -> None:
    n = 7
    matrix = transitions(n, float(advantage))

    for i in range(n + 1):
        have = i * advantage / (i * advantage + n - i)
        exact = [float(comb(n, j) * have**j * (1 - have) ** (n - j)) for j in range(n + 1)]
        assert matrix[i] == pytest.approx(exact, rel=1e-12, abs=1e-300)


def test_rows_of_the_equation_as_it_is_printed_do_not_sum_to_one() -> None:
    length, copies = 31, 15
    have = inherit(np.array(float(copies)), length, 1.2)

    printed = sum(comb(length, j) * have**j * (1 - have) ** (1 - j) for j in range(length + 1))

    assert printed == pytest.approx((1 - have) ** (1 - length))
    assert printed == pytest.approx(6.6e9, rel=0.01)


def test_a_large_population_neither_overflows_nor_loses_probability() -> None:
    matrix = transitions(700, 1.1)

    assert np.abs(matrix.sum(axis=1) - 1).max() <= 1e-12


@given(populations.filter(lambda one: one > 1))
def test_a_neutral_link_drifts(population: int) -> None:
    share = np.arange(population + 1) / population

    assert transitions(population) @ (share * population) == pytest.approx(share * population)
    assert fate(population).kept == pytest.approx(share, abs=1e-9)


@given(st.integers(2, 40), st.floats(1.01, 5.0))
def test_fitter_links_survive_more_often_the_more_there_are(
    population: int, advantage: float
) -> None:
    kept = fate(population, advantage).kept

    assert np.all(np.diff(kept) >= -1e-9)
    assert np.all(kept[1:-1] >= np.arange(1, population) / population - 1e-9)
    # What is fitter with the link is less fit without: the mirror image.
    assert fate(population, 1 / advantage).lost[::-1] == pytest.approx(kept, abs=1e-7)


def test_chance_decides_in_the_papers_population_of_ten() -> None:
    assert fate(10, 1.2).lost[5] == pytest.approx(0.14, abs=0.005)
    assert fate(10).generations[5] == pytest.approx(12.6, abs=0.05)
    assert fate(31, 1.2).lost[15] < 0.006


@pytest.mark.parametrize(("population", "second"), [(10, 0.8), (31, 0.935)])
def test_with_mutation_the_chain_forgets_at_the_known_rate(population: int, second: float) -> None:
    matrix = transitions(population, mutation=1 / population)

    values = np.sort(np.abs(np.linalg.eigvals(matrix)))

    assert values[-2] == pytest.approx(second, abs=1e-3)


@given(st.integers(2, 40), advantages, st.floats(1e-3, 0.5))
def test_the_stationary_law_stays(population: int, advantage: float, mutation: float) -> None:
    settled = stationary(population, advantage, mutation)

    assert settled @ transitions(population, advantage, mutation) == pytest.approx(
        settled, abs=1e-10
    )
    assert settled.sum() == pytest.approx(1)
    assert settled.min() >= -1e-12


def evolve(networks: Networks, advantage: float, mutation: float, rng: Drawn) -> Networks:
    """Draw parents in proportion to fitness, cross over, invert bits: [runs, N, bits]."""
    runs, population, bits = networks.shape
    fitness = np.where(networks[:, :, bits // 2], advantage, 1.0)
    chances = np.cumsum(fitness, axis=1) / fitness.sum(axis=1, keepdims=True)
    drawn = rng.random((runs, 2 * population, 1))
    parents = (drawn > chances[:, None, :]).sum(axis=2)
    pairs = np.take_along_axis(networks, parents[:, :, None], axis=1).reshape(-1, 2, bits)
    children = cross(pairs[:, 0], pairs[:, 1], cut(np.full(len(pairs), 0.9), bits, rng))
    return invert(children, np.full(len(pairs), mutation), rng).reshape(networks.shape)


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """Return the distance of Kolmogorov and Smirnov of two distributions of whole numbers."""
    return float(np.abs(np.cumsum(one) - np.cumsum(other)).max())


RUNS = 1500
FAR = 1.63 / RUNS**0.5  # reached by one in a hundred if the distributions are the same


@pytest.mark.parametrize(("advantage", "mutation"), [(1.0, 0.0), (1.5, 0.0), (1.3, 0.05)])
def test_the_genetic_algorithm_goes_over_as_the_chain_says(
    advantage: float, mutation: float
) -> None:
    rng = np.random.default_rng(11)
    population, bits, copies = 10, 7, 4
    networks = rng.random((RUNS, population, bits)) < 0.5
    networks[:, :, bits // 2] = np.arange(population) < copies
    chances = np.eye(population + 1)[copies]

    for _ in range(3):
        networks = evolve(networks, advantage, mutation, rng)
        chances = chances @ transitions(population, advantage, mutation)
        counts = networks[:, :, bits // 2].sum(axis=1)
        seen = np.bincount(counts, minlength=population + 1) / RUNS
        assert distance(seen, chances) < FAR


def test_the_genetic_algorithm_loses_links_when_the_chain_says() -> None:
    rng = np.random.default_rng(5)
    population, bits, copies, advantage, longest = 10, 5, 5, 1.2, 70
    networks = rng.random((RUNS, population, bits)) < 0.5
    networks[:, :, bits // 2] = np.arange(population) < copies
    ended = np.full(RUNS, longest)
    chances = np.eye(population + 1)[copies]
    expected = [0.0]

    for generation in range(1, longest):
        networks = evolve(networks, advantage, 0.0, rng)
        counts = networks[:, :, bits // 2].sum(axis=1)
        ended[((counts == 0) | (counts == population)) & (ended == longest)] = generation
        chances = chances @ transitions(population, advantage)
        expected.append(float(chances[0] + chances[-1]))

    found = fate(population, advantage)
    seen = np.bincount(ended, minlength=longest + 1)[:longest] / RUNS
    assert np.abs(np.cumsum(seen) - expected).max() < FAR
    assert (counts == 0).mean() == pytest.approx(found.lost[copies], abs=0.03)
    assert ended.mean() == pytest.approx(found.generations[copies], rel=0.06)


def test_what_a_network_lost_others_lose_the_more_the_better_it_got() -> None:
    lost = [loss_after(4, 8, 0.3, after, 0.1) for after in (0.5, 0.3, 0.1, -np.inf)]

    assert lost[1] == pytest.approx(1 - 3 / 8)
    assert all(np.diff(lost) > 0)
    assert loss_after(1, 8, 0.3, 0.9, 0.1) == 1  # nobody has it any more
    assert loss_after(4, 8, 0.3, np.inf, 0.1) == pytest.approx(0, abs=1e-6)
    with pytest.raises(InputError, match="a link that 9 of 8 networks had"):
        loss_after(9, 8, 0.3, 0.1, 0.1)


def test_survival_weighs_each_link_by_the_networks_that_have_it() -> None:
    linked = np.array([[1, 0, 1, 1], [1, 0, 0, 1], [1, 0, 1, 0], [1, 0, 0, 0]], dtype=bool)
    fitness = np.array([3.0, 1.0, 3.0, 1.0])

    kept = survival(linked, fitness)

    assert kept[:2].tolist() == [1, 0]
    assert kept[2] == pytest.approx(fate(4, 3.0).kept[2])
    assert kept[3] == pytest.approx(0.5)


def test_errors_become_fitness_in_proportion() -> None:
    fitness = fitness_of(np.array([0.3, 0.5, 900.0]), 0.1)

    assert fitness[0] == 1
    assert fitness[1] == pytest.approx(np.exp(-2))
    assert fitness[2] >= 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1.0, 0.0), "a population of 0, an advantage of 1"),
        ((4, 0.0, 0.0), "give at least one network, an advantage above 0"),
        ((4, 1.0, 1.5), "a mutation rate of 1.5"),
    ],
)
def test_what_is_out_of_range_is_named(arguments: tuple[int, float, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        transitions(*arguments)


def test_without_mutation_nothing_settles() -> None:
    with pytest.raises(InputError, match="a mutation rate of 0 settles nowhere"):
        stationary(4, 1.0, 0.0)


def test_errors_are_no_fitness() -> None:
    with pytest.raises(InputError, match="give one finite value above 0 for each, larger where"):
        survival(np.ones((2, 3), dtype=bool), np.array([0.0, 1.0]))


def test_a_temperature_is_above_zero() -> None:
    with pytest.raises(InputError, match="a temperature of 0: give one above 0"):
        fitness_of(np.array([1.0]), 0.0)
