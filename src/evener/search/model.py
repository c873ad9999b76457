"""Guess how networks will fare from those that were judged: a Gaussian process over their choices.

Two networks are alike as far as they choose alike (a kernel of the Hamming distance). The guess
comes with its uncertainty, so that what is unlike anything known counts as promising too.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.search.fronts import first_front, hypervolume
from evener.search.genes import Levels
from evener.search.judged import Objectives

_REACH: Final = 3.0  # two genomes that differ in every choice correlate by exp(-3)
_NOISE: Final = 0.05  # variance that is left to chance, the whole being 1
_CURIOSITY: Final = 0.5  # standard deviations that count as promise
_MARGIN: Final = 0.1  # of the front's extent, from its worst to the reference
_TINY: Final = 1e-12  # so that the logarithm of equals is a number
_DIGITS: Final = 9  # of a guess; beyond, it depends on how a library adds up


def most_promising(
    known: Levels,
    objectives: Objectives,
    pool: Levels,
    count: int,
    reference: Sequence[float] | None = None,
) -> NDArray[np.int64]:
    """Return which of a pool are worth an evaluation, the most promising first.

    With one objective those are the ones with the best hopeful guess; with several, those that
    would add most to the hypervolume of the front, one after another.

    Args:
        known: choices of the judged, (judged, loci).
        objectives: of the judged, finite, (judged, objectives).
        pool: choices of those to choose from, (pool, loci).
        count: how many.
        reference: what is worse in any of several objectives is of no use; None for a little
            beyond the worst of the front.
    """
    scale = Scale(objectives)
    hopes = scale.back(_hopes(known, scale.standings(objectives), pool))
    if hopes.shape[1] == 1:
        return hopes[:, 0].argsort(kind="stable")[:count]
    front = objectives[first_front(objectives)]
    low, high = front.min(axis=0), front.max(axis=0)
    corner = high + _MARGIN * (high - low) if reference is None else np.array(reference)
    chosen: list[int] = []
    for _ in range(min(count, len(pool))):
        volume = hypervolume(front, corner)
        gains = [hypervolume(np.vstack([front, hope]), corner) - volume for hope in hopes]
        gains_left = np.round(gains, _DIGITS)
        gains_left[chosen] = -1
        chosen.append(int(gains_left.argmax()))
        front = np.vstack([front, hopes[chosen[-1]]])
        front = front[first_front(front)]
    return np.array(chosen, np.int64)


class Scale:
    """Objectives in logarithms behind the best, so that the best are told apart.

    Order and dominance stay; each column has mean 0 and deviation 1, or is 0 where all are equal.

    Args:
        objectives: finite, (judged, objectives).

    Example:
        >>> objectives = np.array([[1.0], [2.0], [11.0]])
        >>> scale = Scale(objectives)
        >>> scale.standings(objectives).round(2).ravel().tolist()
        [-1.24, 0.03, 1.21]
        >>> scale.back(scale.standings(objectives)).round(9).ravel().tolist()
        [1.0, 2.0, 11.0]
    """

    def __init__(self, objectives: Objectives) -> None:
        self._best = objectives.min(axis=0)
        behind = objectives - self._best
        middle = np.median(behind, axis=0)  # 0 where most are as good as the best
        self._offset = 0.1 * np.where(middle > 0, middle, behind.mean(axis=0)) + _TINY
        log = self._log(objectives)
        self._mean, deviation = log.mean(axis=0), log.std(axis=0)
        self._deviation = np.where(deviation > 0, deviation, 1.0)

    def standings(self, objectives: Objectives) -> Objectives:
        """Return objectives on this scale."""
        standing: Objectives = (self._log(objectives) - self._mean) / self._deviation
        return standing

    def back(self, standings: Objectives) -> Objectives:
        """Return what has such standings; the inverse of `standings`."""
        log = standings * self._deviation + self._mean
        objectives: Objectives = self._best + np.exp(log) - self._offset
        return objectives

    def _log(self, objectives: Objectives) -> Objectives:
        logarithms: Objectives = np.log(objectives - self._best + self._offset)
        return logarithms


def _hopes(known: Levels, standing: Objectives, pool: Levels) -> Objectives:
    """Return the guess for each of a pool, less its uncertainty: what it may come to."""
    covariance = _likeness(known, known) + _NOISE * np.eye(len(known))
    across = _likeness(pool, known)
    factor = np.linalg.cholesky(covariance)
    mean = across @ np.linalg.solve(factor.T, np.linalg.solve(factor, standing))
    explained = (np.linalg.solve(factor, across.T) ** 2).sum(axis=0)
    deviation = np.sqrt(np.maximum(1 + _NOISE - explained, 0))
    hopes: Objectives = np.round(mean - _CURIOSITY * deviation[:, None], _DIGITS)
    return hopes


def _likeness(some: Levels, others: Levels) -> NDArray[np.float64]:
    """Return the correlation of each with each, by the share of choices that differ."""
    differ = np.array([(one != others).mean(axis=1) for one in some])
    likeness: NDArray[np.float64] = np.exp(-_REACH * differ)
    return likeness
