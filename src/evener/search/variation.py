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


def cut(rates: NDArray[np.float64], length: int, rng: np.random.Generator) -> Indices:
    """Draw the points of crossovers: the first bit of each child that its second parent gives.

    Args:
        rates: probability of crossing for each child, (children,).
        length: bits of a genome; also the point of a child that is not crossed.
        rng: draws.
    """
    crossed = rng.random(len(rates)) < rates
    points: Indices = rng.integers(1, max(length, 2), len(rates))
    points[~crossed] = length
    return points


def cross(first: Genomes, second: Genomes, points: Indices) -> Genomes:
    """Return one child of each pair: bits of the first up to a point, then of the second.

    Args:
        first: (children, bits).
        second: (children, bits).
        points: from `cut`, (children,).

    Example:
        >>> ones, zeros = np.ones((1, 6), bool), np.zeros((1, 6), bool)
        >>> cross(ones, zeros, cut(np.ones(1), 6, stream(0))).astype(int).tolist()
        [[1, 1, 1, 0, 0, 0]]
    """
    return np.where(np.arange(first.shape[1]) < points[:, None], first, second)


def invert(genomes: Genomes, rates: NDArray[np.float64], rng: np.random.Generator) -> Genomes:
    """Return genomes with each bit inverted with a probability.

    Args:
        genomes: (genomes, bits).
        rates: probability for each genome, (genomes,).
        rng: draws.
    """
    flips: Genomes = rng.random(genomes.shape) < rates[:, None]
    return genomes ^ flips
