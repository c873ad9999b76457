"""Say which of a pool of networks are worth an evaluation, by a guess of how they will fare.

What is known of a network before it is evaluated, such as its size, is not guessed.
"""

from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.search.fronts import first_front, sampled_gains, volume_gains
from evener.search.genes import Levels
from evener.search.judged import Objectives
from evener.search.process import Guess, guess

Reference = tuple[float | None, ...]
"""For each objective what is of no use beyond it; None without a limit; () without any."""

_CURIOSITY: Final = 0.5  # standard deviations that count as promise
_DRAWN: Final = 20  # of the judged, the first, that tell how good networks are by chance
_MARGIN: Final = 0.1  # of the extent of costs, from the largest to the reference
_NODES: Final = 5  # at which the normal distribution of a guess is looked at
_NODE, _SHARE = np.polynomial.hermite_e.hermegauss(_NODES)
_WEIGHT: Final = _SHARE / _SHARE.sum()
_TINY: Final = 1e-12  # so that the logarithm of equals is a number
_DIGITS: Final = 9  # of a guess; beyond, it depends on how a library adds up
_EXACTLY: Final = 2  # objectives whose hypervolume is quick to compute


def most_promising(known: Levels, objectives: Objectives, pool: Levels, count: int) -> list[int]:
    """Return which of a pool are worth an evaluation, those with the best hopeful guess first.

    Args:
        known: choices of the judged, (judged, loci).
        objectives: of the judged, finite, (judged, objectives); the first counts.
        pool: choices of those to choose from, (pool, loci).
        count: how many.
    """
    guessed = guess(known, Scale(objectives[:, :1]).standings(objectives[:, :1]), pool)
    hopes = np.round(guessed.mean[:, 0] - _CURIOSITY * np.sqrt(guessed.variance), _DIGITS)
    best: list[int] = hopes.argsort(kind="stable")[:count].tolist()
    return best


def most_widening(
    known: Levels,
    objectives: Objectives,
    pool: Levels,
    costs: Objectives,
    count: int,
    reference: Reference = (),
) -> list[int]:
    """Return which of a pool may be expected to add most to the hypervolume of the front.

    Each is chosen as if those before it had come out as guessed (M. Emmerich et al., Single- and
    multiobjective evolutionary optimization assisted by Gaussian random field metamodels, 2006).

    Args:
        known: choices of the judged, (judged, loci).
        objectives: of the judged, finite, (judged, objectives).
        pool: choices of those to choose from, (pool, loci).
        costs: the last of their objectives, as far as they are known before an evaluation,
            (pool, known objectives); the others are guessed.
        count: how many.
        reference: what is worse in any objective is of no use, as soon as any of the judged is
            better in all; None for an objective without such a limit, for which it is what costs
            more than any of the judged, or is far worse in the first objective than most of those
            that were drawn first.

    Up to two objectives gains are exact, else sampled.
    """
    guessing = objectives.shape[1] - costs.shape[1]
    scale = Scale(objectives[:, :guessing])
    guessed = guess(known, scale.standings(objectives[:, :guessing]), pool)
    front = objectives[first_front(objectives)]
    box = _Box(_least(objectives, costs), _corner(objectives, reference))

    gains = _expected_gains(front, guessed, costs, scale, np.arange(len(pool)), box)
    stale = np.zeros(len(pool), bool)
    chosen: list[int] = []
    while len(chosen) < min(count, len(pool)):
        best = int(gains.argmax())
        if stale[best]:  # others on the front only take gains away, so an old one is a bound
            gains[best] = _expected_gains(
                front, guessed, costs, scale, np.array([best]), box
            ).item()
            stale[best] = False
            continue
        chosen.append(best)
        expected = scale.back(guessed.mean[best : best + 1])
        front = np.vstack([front, np.concatenate([expected, costs[best : best + 1]], axis=1)])
        guessed = guessed.supposing(best)
        gains[best] = -1
        stale[:] = True
        stale[chosen] = False
    return chosen


class _Box:
    """The part of the space of objectives that counts, as the unit cube.

    So that a gain is a share of it, whatever the objectives are measured in: energies in joules and
    periods in seconds are all small numbers.

    Args:
        low: its least corner.
        high: its reference.
    """

    def __init__(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        self._low = low
        self._span = np.where(high > low, high - low, 1.0)

    def gains(self, front: Objectives, points: Objectives) -> NDArray[np.float64]:
        """Return by how much each point, by itself, would raise the hypervolume of a front."""
        known, new = (front - self._low) / self._span, (points - self._low) / self._span
        if new.shape[1] > _EXACTLY:
            return sampled_gains(known, new)
        return volume_gains(known, new, np.ones(new.shape[1]))


def _least(objectives: Objectives, costs: Objectives) -> NDArray[np.float64]:
    """Return the least of each objective that is known."""
    least: NDArray[np.float64] = objectives.min(axis=0)
    if costs.shape[1]:
        known = least[-costs.shape[1] :]
        least[-costs.shape[1] :] = np.minimum(known, costs.min(axis=0))
    return least


def _corner(objectives: Objectives, reference: Reference) -> NDArray[np.float64]:
    """Return the reference of the hypervolume."""
    corner = _beyond(objectives)
    if not reference:
        return corner
    limits = np.array([np.inf if one is None else one for one in reference])
    if (objectives < limits).all(axis=1).any():
        return np.where(np.isinf(limits), corner, limits)
    return corner  # nothing keeps the limits yet: whatever is better may lead there


def _beyond(objectives: Objectives) -> NDArray[np.float64]:
    """Return a reference without which networks that are cheap and useless were all that counts.

    As many of those that were drawn first are better than their median as are worse; what is twice
    as far behind their best as that is of no use. Whatever a network costs it may be of use.
    """
    low, high = objectives.min(axis=0), objectives.max(axis=0)
    corner: NDArray[np.float64] = high + _MARGIN * (high - low)
    drawn = objectives[:_DRAWN, 0]
    as_far = 2 * np.median(drawn) - drawn.min()
    if as_far > low[0]:  # else most of those that were drawn are as good as any
        corner[0] = as_far
    return corner


def _expected_gains(
    front: Objectives,
    guessed: Guess,
    costs: Objectives,
    scale: "Scale",
    which: NDArray[np.int64],
    box: _Box,
) -> NDArray[np.float64]:
    """Return the mean of what each may add, over the normal distribution of its guess."""
    picked = np.array([*product(range(_NODES), repeat=guessed.mean.shape[1])])
    deviation = np.sqrt(guessed.variance[which])[:, None]
    standings = guessed.mean[which] + deviation * _NODE[picked][:, None]  # (nodes, which, guessed)
    known = np.broadcast_to(costs[which], (len(picked), len(which), costs.shape[1]))
    points = np.concatenate([scale.back(standings), known], axis=2)
    gains = box.gains(front, points.reshape(-1, points.shape[2]))
    expected = _WEIGHT[picked].prod(axis=1) @ gains.reshape(len(picked), len(which))
    return np.asarray(np.round(expected, _DIGITS), np.float64)


class Scale:
    """Objectives in logarithms behind the best, so that the best are told apart.

    Order and dominance stay; each column has mean 0 and deviation 1, or is 0 where all are equal.

    Args:
        objectives: finite, (judged, objectives).

    Example:
        >>> objectives = np.array([[1.0], [2.0], [11.0]])
        >>> scale = Scale(objectives)
        >>> scale.standings(objectives).round(2).ravel().tolist()
        [-1.02, -0.33, 1.36]
        >>> scale.back(scale.standings(objectives)).round(9).ravel().tolist()
        [1.0, 2.0, 11.0]
    """

    def __init__(self, objectives: Objectives) -> None:
        self._best = objectives.min(axis=0)
        behind = objectives - self._best
        middle = np.median(behind, axis=0)  # 0 where most are as good as the best
        self._offset = np.where(middle > 0, middle, behind.mean(axis=0)) + _TINY
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
