"""Say by a Markov chain whether a link lasts in a population, by its merit or by chance.

The state is how many of N networks have the link. Parents are drawn in proportion to fitness, so a
child has it with probability p₁ = i f₁ / (i f₁ + (N - i) f₀), and of N children j have it with
probability C(N, j) p₁^j p₀^(N - j). Equations 4 to 6 of A. Ravishankar et al., Pruned Genetic-NAS,
are this chain but for two slips: the last exponent is printed as 1 - j, with which rows sum to
p₀^(1 - N) instead of 1, and N is l there, the length of a chromosome. It is the chain of
D. E. Goldberg and P. Segrest, Finite Markov chain analysis of genetic algorithms (1987).

One link is looked at as if it were alone. Mates exchange whole chromosomes from a point on, so
links close to one another are inherited together, which the chain knows nothing of; as long as the
others are neutral, one-point crossover does not change it at all.
"""

from dataclasses import dataclass
from math import exp, lgamma
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError
from evener.search.chaos.activation import Floats

SURE: Final = 0.95  # the probability of loss from which a link may be pruned


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a link, by how many networks have it: arrays of N + 1 values.

    Attributes:
        lost: probability that none has it in the end; all have it otherwise.
        generations: expected, until none or all have it.
    """

    lost: Floats
    generations: Floats

    @property
    def kept(self) -> Floats:
        """The probability that all have it in the end."""
        return 1.0 - self.lost


def fitness_of(errors: Floats, temperature: float) -> Floats:
    """Turn errors, of which less is better, into what parents can be drawn in proportion to.

    Args:
        errors: any shape.
        temperature: the difference of errors that makes networks e times as fit.

    Raises:
        InputError: the temperature is not above 0.

    Example:
        >>> fitness_of(np.array([0.2, 0.1]), 0.1)
        array([0.36787944, 1.        ])
    """
    if not temperature > 0:
        raise InputError(f"a temperature of {temperature:g}: give one above 0, in units of error")
    # Only ratios matter: the best has 1, so that nothing underflows.
    fitness: Floats = np.exp((np.min(errors) - errors) / temperature)
    return fitness


def inherit(copies: Floats, population: int, advantage: float, mutation: float = 0.0) -> Floats:
    """Return the probability that a child has the link (equations 4 and 5).

    Args:
        copies: i, how many of the population have it; any shape.
        population: N.
        advantage: f₁ / f₀, how many times fitter networks are that have it; above 0.
        mutation: the probability that a child's bit is turned over.

    Raises:
        InputError: a number is out of range.
    """
    if population < 1 or not advantage > 0 or not 0 <= mutation <= 1:
        raise InputError(
            f"a population of {population}, an advantage of {advantage:g} and a mutation rate of "
            f"{mutation:g}: give at least one network, an advantage above 0 (1 for none) and a "
            "rate from 0 to 1"
        )
    have = copies * advantage
    share = have / (have + (population - copies))
    passed: Floats = share * (1.0 - mutation) + (1.0 - share) * mutation
    return passed


def transitions(population: int, advantage: float = 1.0, mutation: float = 0.0) -> Floats:
    """Return the probability of j networks with the link after i: [i, j] (equation 6, corrected).

    Args:
        population: N.
        advantage: f₁ / f₀; 1 is pure drift.
        mutation: the probability that a child's bit is turned over.

    Raises:
        InputError: a number is out of range.

    Example:
        >>> transitions(2)
        array([[1.  , 0.  , 0.  ],
               [0.25, 0.5 , 0.25],
               [0.  , 0.  , 1.  ]])
    """
    counts = np.arange(population + 1, dtype=np.float64)
    return binomial(population, inherit(counts, population, advantage, mutation))


def binomial(population: int, have: Floats) -> Floats:
    """Return the probability that j of N children have the link: [states, j].

    Args:
        population: N.
        have: the probability that a child has it, in each of some states: [states].
    """
    counts = np.arange(population + 1, dtype=np.float64)
    ways = lgamma(population + 1) - np.array(
        [lgamma(j + 1) + lgamma(population - j + 1) for j in range(population + 1)]
    )
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 log 0 is 0
        logs = np.nan_to_num(counts * np.log(have)[:, None], nan=0.0, neginf=-np.inf)
        lacking = (population - counts) * np.log1p(-have)[:, None]
        logs += np.nan_to_num(lacking, nan=0.0, neginf=-np.inf)
    matrix = np.asarray(np.exp(ways + logs), np.float64)
    # Rounding of the logarithms, some 1e-13; rows that are wrong stay wrong.
    sums = matrix.sum(axis=1, keepdims=True)
    return np.asarray(np.where(np.abs(sums - 1) < 1e-9, matrix / sums, matrix), np.float64)


def fate(population: int, advantage: float = 1.0) -> Fate:
    """Say what becomes of a link that no mutation brings back.

    Args:
        population: N.
        advantage: f₁ / f₀.

    Raises:
        InputError: a number is out of range.

    Example:
        A link that does not matter is lost as often as it is absent:

        >>> fate(4).lost.round(6).tolist()
        [1.0, 0.75, 0.5, 0.25, 0.0]
    """
    return absorption(transitions(population, advantage))


def absorption(matrix: Floats) -> Fate:
    """Say what becomes of a link by a chain in which none and all stay as they are.

    Args:
        matrix: probability of j networks with the link after i: [i, j].
    """
    population = len(matrix) - 1
    between = slice(1, population)
    lost: Floats = np.zeros(population + 1)
    generations: Floats = np.zeros(population + 1)
    lost[0] = 1.0
    stay = np.eye(population - 1) - matrix[between, between]
    lost[between] = np.linalg.solve(stay, matrix[between, 0])
    generations[between] = np.linalg.solve(stay, np.ones(population - 1))
    return Fate(np.clip(lost, 0.0, 1.0), generations)


def stationary(population: int, advantage: float, mutation: float) -> Floats:
    """Return how often each number of networks has the link in the long run, with mutation.

    Args:
        population: N.
        advantage: f₁ / f₀.
        mutation: above 0 and below 1; without it links are lost for good: see `fate`.

    Raises:
        InputError: a number is out of range.
    """
    if not 0 < mutation < 1:
        raise InputError(
            f"a mutation rate of {mutation:g} settles nowhere: give one above 0 and below 1, or "
            "ask for the fate of the link"
        )
    matrix = transitions(population, advantage, mutation)
    # π (P - I) = 0, one of whose equations follows from the others and gives way to Σ π = 1.
    equations = matrix.T - np.eye(population + 1)
    equations[-1] = 1.0
    wanted = np.zeros(population + 1)
    wanted[-1] = 1.0
    return np.asarray(np.linalg.solve(equations, wanted), np.float64)


def loss_after(
    copies: int, population: int, before: float, after: float, temperature: float
) -> float:
    """Return the probability that a population loses a link once one network was without it.

    Args:
        copies: i, how many of the population had the link, at least one.
        population: N.
        before: error of the network with the link.
        after: without it; infinity if there was none.
        temperature: the difference of errors that makes networks e times as fit.

    Raises:
        InputError: a number is out of range.

    Example:
        >>> round(loss_after(5, 10, before=0.2, after=0.2, temperature=0.1), 6)
        0.6
    """
    if not 1 <= copies <= population or not temperature > 0:
        raise InputError(
            f"a link that {copies} of {population} networks had, at a temperature of "
            f"{temperature:g}: give 1 to {population} of them, and a temperature above 0"
        )
    # Beyond e^±50 nothing changes, and nothing overflows.
    advantage = exp(float(np.clip((after - before) / temperature, -50.0, 50.0)))
    return float(fate(population, advantage).lost[copies - 1])


def survival(linked: NDArray[np.bool_], fitness: Floats) -> Floats:
    """Estimate for each link the probability that it survives in this population.

    Args:
        linked: whether each network has each link: [networks, links].
        fitness: of each network, above 0, larger is better: see `fitness_of`.

    Returns:
        The probability of each link that all have it in the end: [links].

    Raises:
        InputError: fitness is not above 0, or not one for each network.
    """
    population = len(linked)
    if fitness.shape != (population,) or not np.all((fitness > 0) & (fitness < np.inf)):
        raise InputError(
            f"fitness of {fitness.size} networks for a population of {population}: give one finite "
            "value above 0 for each, larger where better, such as those of fitness_of"
        )
    copies = np.count_nonzero(linked, axis=0)
    kept: Floats = np.asarray(copies == population, np.float64)
    for link in np.flatnonzero((copies > 0) & (copies < population)):
        has = linked[:, link]
        advantage = float(fitness[has].mean() / fitness[~has].mean())
        kept[link] = fate(population, advantage).kept[copies[link]]
    return kept
