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
    if not 1 <= parents <= population:
        raise InputError(
            f"{parents} parents of a population of {population}: give 1 to {population}"
        )
    copies = np.arange(population + 1, dtype=np.float64)
    drawn = np.zeros((population + 1, parents + 1))
    drawn[:, 0] = 1.0
    for number in range(parents):
        after = np.zeros_like(drawn)
        for have in range(number + 1):
            # Of those that are left, so many have the link; it is drawn in proportion.
            left = np.clip(copies - have, 0, population - number)
            share = inherit(left, population - number, advantage)
            after[:, have + 1] += drawn[:, have] * share
            after[:, have] += drawn[:, have] * (1.0 - share)
        drawn = after
    return drawn


def truncated(
    population: int, parents: int, advantage: float = 1.0, mutation: float = 0.0
) -> Floats:
    """Return the probability of j networks with the link after i, if the best are parents: [i, j].

    Args:
        population: N; all are replaced.
        parents: k, how many of the best breed.
        advantage: f₁ / f₀; 1 is pure drift.
        mutation: the probability that a child's bit is turned over.

    Raises:
        InputError: a number is out of range.

    Example:
        With 4 parents of 10 a link that makes no difference is lost or everywhere so much sooner:

        >>> from evener.search.markov import absorption, fate
        >>> fate(10).generations[5].round(1), absorption(truncated(10, 4)).generations[5].round(1)
        (np.float64(12.6), np.float64(4.8))
    """
    shares = inherit(np.arange(parents + 1, dtype=np.float64), parents, 1.0, mutation)
    matrix: Floats = parents_with(population, parents, advantage) @ binomial(population, shares)
    return matrix
