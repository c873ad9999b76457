"""The Markov chain of a link under the selection that the paper names: elitism, not proportion.

Equations 4 to 6 draw each parent in proportion to fitness. Table I says elitism: the best k of N
networks are the parents, and each child draws from those as evenly. A link then passes through a
bottleneck of k networks, and drift decides sooner.

Networks that have the link are f₁ / f₀ times as likely to come next whenever the best of those that
are left is looked for (R. L. Plackett, The analysis of permutations, 1975). So the k parents hold
the link as often as Wallenius' noncentral hypergeometric distribution says (K. T. Wallenius, Biased
sampling: the noncentral hypergeometric probability distribution, 1963).
"""

import numpy as np

from evener.errors import InputError
from evener.search.chaos.activation import Floats
from evener.search.markov import binomial, inherit


def parents_with(population: int, parents: int, advantage: float = 1.0) -> Floats:
    """Return the probability that m of the parents have the link, after i: [i, m].

    Args:
        population: N.
        parents: k, how many of the best breed; N for all.
        advantage: f₁ / f₀; 1 is pure drift.

    Raises:
        InputError: a number is out of range.

    Example:
        One of two networks has the link, and one of them is the parent:

        >>> parents_with(2, 1, advantage=3.0)[1].tolist()
        [0.25, 0.75]
    """
    _check_parents(population, parents)
    return _best_with(population, 0, parents, advantage)[:, 0]


def _check_parents(population: int, parents: int) -> None:
    if not 1 <= parents <= population:
        raise InputError(
            f"{parents} parents of a population of {population}: give 1 to {population}"
        )


def _best_with(population: int, first: int, best: int, advantage: float) -> Floats:
    """Return the probability that a of the first and m of the best have the link: [i, a, m].

    Args:
        population: N.
        first: how many of the best of all, at most as many as the best.
        best: how many.
        advantage: f₁ / f₀.
    """
    copies = np.arange(population + 1, dtype=np.float64)
    drawn = np.zeros((population + 1, first + 1, best + 1))
    drawn[:, 0, 0] = 1.0
    for number in range(best):
        # Of those that are left, so many have the link; it is drawn in proportion.
        left = np.clip(copies[:, None] - np.arange(best + 1), 0, population - number)
        share = inherit(left, population - number, advantage)[:, None]
        after = drawn * (1.0 - share)
        taken = (drawn * share)[:, :, :-1]
        if number < first:
            after[:, 1:, 1:] += taken[:, :-1]
        else:
            after[:, :, 1:] += taken
        drawn = after
    return drawn


def truncated(
    population: int,
    parents: int,
    advantage: float = 1.0,
    mutation: float = 0.0,
    *,
    elite: int = 0,
) -> Floats:
    """Return the probability of j networks with the link after i, if the best are parents: [i, j].

    Args:
        population: N; all but the elite are replaced.
        parents: k, how many of the best breed.
        advantage: f₁ / f₀; 1 is pure drift.
        mutation: the probability that a child's bit is turned over.
        elite: how many of the best live on as they are; fewer than the population. They are ranked
            anew in each generation, as if evaluated again: where evaluations stand, what was lucky
            once stays, and of a large elite more is lost than the chain says.

    Raises:
        InputError: a number is out of range.

    Example:
        With 4 parents of 10 a link that makes no difference is lost or everywhere so much sooner:

        >>> from evener.search.markov import absorption, fate
        >>> fate(10).generations[5].round(1), absorption(truncated(10, 4)).generations[5].round(1)
        (np.float64(12.6), np.float64(4.8))
    """
    _check_parents(population, parents)
    if not 0 <= elite < population:
        raise InputError(
            f"an elite of {elite} of a population of {population}: give 0 to {population - 1}"
        )
    both = _best_with(population, min(parents, elite), max(parents, elite), advantage)
    if elite > parents:
        both = both.transpose(0, 2, 1)
    shares = inherit(np.arange(parents + 1, dtype=np.float64), parents, 1.0, mutation)
    bred = binomial(population - elite, shares)
    matrix = np.zeros((population + 1, population + 1))
    for have in range(elite + 1):  # of the elite; the children come to them
        matrix[:, have : have + len(bred[0])] += both[:, have] @ bred
    return matrix
