"""The operators: choose parents, cross them over at one point, invert bits.

They are those of the paper: elitism as truncation (the best few are parents), one-point crossover,
binary inversion of each bit with a probability.
"""

import numpy as np
from numpy.typing import NDArray

from evener.search.genes import Genomes
from evener.search.judged import Judged, best_first

Indices = NDArray[np.int64]


def stream(*key: int) -> np.random.Generator:
    """Return the random numbers of one place, such as seed and generation, whoever draws them."""
    return np.random.default_rng(key)


def truncate(judged: Judged, count: int) -> Judged:
    """Return the best, best first."""
    return judged.take(best_first(judged)[:count])


def tournament(
    places: NDArray[np.int64], sample: int, count: int, rng: np.random.Generator
) -> Indices:
    """Draw a sample as often as there are to be winners, and return the best of each.

    Args:
        places: of each competitor, less is better.
        sample: how many different ones take part; all, if there are fewer.
        count: how many winners.
        rng: draws.
    """
    drawn = rng.random((count, len(places))).argsort(axis=1)[:, :sample]
    winners: Indices = drawn[np.arange(count), places[drawn].argmin(axis=1)]
    return winners


def cross(
    first: Genomes, second: Genomes, rates: NDArray[np.float64], rng: np.random.Generator
) -> Genomes:
    """Return one child of each pair: bits of the first up to a point, then of the second.

    Args:
        first: (children, bits).
        second: (children, bits).
        rates: probability of crossing for each child, (children,); otherwise it is the first.
        rng: draws.

    Example:
        >>> ones, zeros = np.ones((1, 6), bool), np.zeros((1, 6), bool)
        >>> cross(ones, zeros, np.ones(1), stream(0)).astype(int).tolist()
        [[1, 1, 1, 0, 0, 0]]
    """
    children, length = first.shape
    crossed = rng.random(children) < rates
    points = rng.integers(1, max(length, 2), children)
    points[~crossed] = length
    return np.where(np.arange(length) < points[:, None], first, second)


def invert(genomes: Genomes, rates: NDArray[np.float64], rng: np.random.Generator) -> Genomes:
    """Return genomes with each bit inverted with a probability.

    Args:
        genomes: (genomes, bits).
        rates: probability for each genome, (genomes,).
        rng: draws.
    """
    flips: Genomes = rng.random(genomes.shape) < rates[:, None]
    return genomes ^ flips
