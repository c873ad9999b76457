"""Guess how networks will fare by a Gaussian process over their choices.

Two networks are alike as far as they choose alike: their covariance falls exponentially with the
share of choices in which they differ. How fast, and how much is left to chance, is what makes the
known values likeliest. The guess comes with its uncertainty, so that what is unlike anything known
counts as promising too (C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine
Learning, 2006, chapters 2 and 5).
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.search.genes import Levels

Floats = NDArray[np.float64]

_REACHES: Final = (0.5, 1.0, 2.0, 4.0)  # genomes that differ in every choice correlate by exp(-it)
_NOISES: Final = (0.01, 0.03, 0.1)  # variance that is left to chance, the whole being 1
_SAMPLE: Final = 128  # values that the kernel is chosen by
_DIGITS: Final = 6  # of a likelihood; beyond, it depends on how a library adds up


@dataclass(frozen=True, slots=True)
class Kernel:
    """How alike networks are.

    Attributes:
        reach: genomes that differ in every choice correlate by exp(-reach).
        noise: variance that is left to chance, the whole being 1.
    """

    reach: float
    noise: float

    def likeness(self, some: Levels, others: Levels) -> Floats:
        """Return the covariance of each with each, without the noise.

        Example:
            >>> Kernel(3.0, 0.1).likeness(np.array([[0, 1]]), np.array([[0, 1], [0, 2]])).round(3)
            array([[1.   , 0.223]])
        """
        covariance: Floats = np.exp(-self.reach * _differing(some, others))
        return covariance

    def factor(self, differing: Floats) -> Floats:
        """Return the Cholesky factor of the covariance of values, by the share that differs."""
        covariance = np.exp(-self.reach * differing) + self.noise * np.eye(len(differing))
        return np.asarray(np.linalg.cholesky(covariance), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """What a process says of some networks.

    Attributes:
        kernel: that was likeliest.
        mean: of each, (networks, quantities).
        variance: of each, (networks,), the same for all quantities: they have variance 1.
        choices: of each, (networks, loci).
        explained: directions in which what is known, or supposed, leaves nothing open,
            (directions, networks).
    """

    kernel: Kernel
    mean: Floats
    variance: Floats
    choices: Levels
    explained: Floats

    def supposing(self, index: int) -> "Guess":
        """Return the guess once one of the networks was judged, and had come out as guessed.

        Means stay; what is like it becomes less uncertain.
        """
        shared = self.kernel.likeness(self.choices[index : index + 1], self.choices)[0]
        shared = shared - self.explained[:, index] @ self.explained
        direction = shared / np.sqrt(self.variance[index] + self.kernel.noise)
        return replace(
            self,
            variance=np.maximum(self.variance - direction**2, 0.0),
            explained=np.vstack([self.explained, direction]),
        )


def guess(known: Levels, values: Floats, pool: Levels) -> Guess:
    """Guess the values of a pool from those that are known.

    Args:
        known: choices of the judged, (judged, loci).
        values: of the judged, each quantity with mean 0 and variance 1, (judged, quantities).
        pool: choices of those to guess, (pool, loci).
    """
    differing = _differing(known, known)
    kernel = _likeliest(differing, values)
    factor = kernel.factor(differing)
    explained = _divided(factor, kernel.likeness(known, pool))
    variance = np.maximum(1 - (explained**2).sum(axis=0), 0.0)
    return Guess(kernel, explained.T @ _divided(factor, values), variance, pool, explained)


def _likeliest(differing: Floats, values: Floats) -> Kernel:
    """Return the kernel by which the values, or some spread over all of them, are likeliest."""
    some = np.unique(np.linspace(0, len(values) - 1, min(_SAMPLE, len(values))).astype(np.int64))
    between, sample = differing[np.ix_(some, some)], values[some]

    def unlikely(kernel: Kernel) -> float:
        """Return the negative logarithm of the likelihood, but for what no kernel changes."""
        factor = kernel.factor(between)
        log = sample.shape[1] * np.log(np.diag(factor)).sum()
        return round(float(log + (_divided(factor, sample) ** 2).sum() / 2), _DIGITS)

    return min((Kernel(*each) for each in product(_REACHES, _NOISES)), key=unlikely)


def _divided(factor: Floats, values: Floats) -> Floats:
    """Return what the lower triangular factor turns into the values."""
    from scipy.linalg import solve_triangular  # takes a moment to import, for screening only

    found: Floats = solve_triangular(factor, values, lower=True, check_finite=False)
    return found


def _differing(some: Levels, others: Levels) -> Floats:
    """Return the share of choices in which each differs from each."""
    share: Floats = np.zeros((len(some), len(others)))
    for one, other in zip(some.T, others.T, strict=True):
        share += (one[:, None] != other) / some.shape[1]
    return share
