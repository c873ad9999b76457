"""The chain of a link under elitism, beside the paper's algorithm as it is run."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from evener.errors import InputError
from evener.search.breeding import FREE
from evener.search.judged import Judged
from evener.search.layer_space import LayerSpace
from evener.search.markov import absorption, binomial, transitions
from evener.search.paper import Paper
from evener.search.truncation import parents_with, truncated
from evener.search.variation import stream

sizes = st.integers(1, 25).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))


@given(sizes, st.floats(0.05, 20.0), st.floats(0.0, 1.0))
def test_rows_sum_to_one(size: tuple[int, int], advantage: float, mutation: float) -> None:
    matrix = truncated(*size, advantage, mutation)

    assert np.abs(matrix.sum(axis=1) - 1).max() <= 1e-12
    assert matrix.min() >= 0


@given(sizes, st.data(), st.floats(0.05, 20.0))
def test_rows_with_an_elite_sum_to_one_too(
    size: tuple[int, int], data: st.DataObject, advantage: float
) -> None:
    elite = data.draw(st.integers(0, size[0] - 1))
    matrix = truncated(*size, advantage, 0.1, elite=elite)

    assert np.abs(matrix.sum(axis=1) - 1).max() <= 1e-12
    assert matrix.min() >= 0


@given(sizes)
def test_without_an_advantage_parents_are_a_sample(size: tuple[int, int]) -> None:
    population, parents = size

    found = parents_with(population, parents)

    for copies in range(population + 1):
        exact = hypergeom(population, copies, parents).pmf(np.arange(parents + 1))
        assert found[copies] == pytest.approx(exact, abs=1e-12)


@given(st.integers(1, 25))
def test_where_all_are_parents_there_is_no_selection(population: int) -> None:
    shares = np.arange(population + 1) / population

    assert truncated(population, population, 5.0) == pytest.approx(binomial(population, shares))
    assert truncated(population, population) == pytest.approx(transitions(population))


@given(st.integers(2, 20), st.floats(0.2, 5.0))
def test_one_parent_is_drawn_in_proportion(population: int, advantage: float) -> None:
    copies = np.arange(population + 1)

    have = parents_with(population, 1, advantage)[:, 1]

    assert have == pytest.approx(copies * advantage / (copies * advantage + population - copies))


def test_fewer_parents_let_drift_decide_sooner() -> None:
    generations = [absorption(truncated(10, k)).generations[5] for k in (10, 6, 4, 2)]

    assert all(np.diff(generations) < 0)
    assert generations[0] == pytest.approx(12.6, abs=0.05)
    assert absorption(truncated(10, 4)).lost == pytest.approx(1 - np.arange(11) / 10)


RUNS = 1200
FAR = 1.63 / RUNS**0.5  # reached by one in a hundred if the distributions are the same


@pytest.mark.parametrize(
    ("advantage", "mutation", "bit", "elite"),
    [(1.0, 0.0, 10, 0), (2.0, 0.0, 10, 0), (2.0, 0.05, 3, 0), (2.0, 0.05, 3, 1), (2.0, 0.0, 3, 6)],
)
def test_the_papers_algorithm_goes_over_as_the_chain_says(
    advantage: float, mutation: float, bit: int, elite: int
) -> None:
    """Distances are those of Kolmogorov and Smirnov, after each of three generations.

    With a large elite after the first: its luck stands, which the chain does not know.
    """
    population, parents, copies = 10, 4, 4
    space = LayerSpace()
    algorithm = Paper(space, population, parents, elite=elite, mutation=mutation, band=FREE)
    chances = np.eye(population + 1)[copies]
    expected = []
    for _ in range(3):
        chances = chances @ truncated(population, parents, advantage, mutation, elite=elite)
        expected.append(np.cumsum(chances))

    counts = np.array([counted(algorithm, bit, copies, advantage, seed) for seed in range(RUNS)])

    for generation, wanted in enumerate(expected[: 1 if elite > 1 else 3]):
        seen = np.bincount(counts[:, generation], minlength=population + 1) / RUNS
        assert np.abs(np.cumsum(seen) - wanted).max() < FAR


def counted(algorithm: Paper, bit: int, copies: int, advantage: float, seed: int) -> list[int]:
    """Run the algorithm and count the copies of a bit after each of three generations."""
    rng = np.random.default_rng([7, seed])
    judge = judged_by(bit, advantage, rng)
    genomes = rng.random((algorithm.population, algorithm.space.length)) < 0.5
    genomes[:, bit] = np.arange(algorithm.population) < copies
    memory = algorithm.begin()
    brood = algorithm.breed(memory, stream(seed))
    memory = algorithm.learn(memory, brood, judge(genomes))
    counts = []
    for generation in range(3):
        brood = algorithm.breed(memory, stream(seed, generation))
        memory = algorithm.learn(memory, brood, judge(brood.genomes))
        assert memory.population is not None
        counts.append(int(memory.population.genomes[:, bit].sum()))
    return counts


def judged_by(
    bit: int, advantage: float, rng: np.random.Generator
) -> Callable[[np.ndarray], Judged]:
    """Return a judge whose order is that of Plackett: by fitness, and by Gumbel's noise."""

    def judge(genomes: np.ndarray) -> Judged:
        count = len(genomes)
        fitness = np.where(genomes[:, bit], np.log(advantage), 0.0) + rng.gumbel(size=count)
        return Judged(genomes, -fitness[:, None], np.zeros(count), np.ones(count, bool))

    return judge


def test_parents_are_some_of_the_population() -> None:
    with pytest.raises(InputError, match="5 parents of a population of 4: give 1 to 4"):
        truncated(4, 5)
    with pytest.raises(InputError, match="an elite of 4 of a population of 4: give 0 to 3"):
        truncated(4, 2, elite=4)
    with pytest.raises(InputError, match="0 parents of a population of 4"):
        parents_with(4, 0)
