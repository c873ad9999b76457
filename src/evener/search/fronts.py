"""Order genomes by several objectives: non-dominated fronts, crowding and hypervolume.

pymoo has these too, and brings twenty packages along; here they take a page.
"""

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.search.judged import Judged, Objectives

_SAMPLES: Final = 12  # the power of two of how many points a box is sampled at
_TOGETHER: Final = 256  # points whose gains are computed at once: 8 MB for each number of them


def front_numbers(judged: Judged) -> NDArray[np.int64]:
    """Return the front of each genome, 0 for those that none dominates.

    One dominates another if it breaks limits less, or as much and is nowhere worse and somewhere
    better (Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II", 2002).
    """
    objectives, violations = judged.objectives, judged.violations
    no_worse = (objectives[:, None] <= objectives[None]).all(axis=2)
    better = (objectives[:, None] < objectives[None]).any(axis=2)
    breaks_less = violations[:, None] < violations[None]
    as_much = violations[:, None] == violations[None]
    dominates = breaks_less | (as_much & no_worse & better)
    numbers = np.full(len(judged), -1)
    number = 0
    while (numbers < 0).any():
        left = numbers < 0
        numbers[left & ~dominates[left].any(axis=0)] = number
        number += 1
    return numbers


def first_front(objectives: Objectives) -> list[int]:
    """Return the indices of those that none dominates, by the first objective, best first.

    Of equals the first is kept.

    Example:
        >>> first_front(np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 2.0], [1.0, 2.0]]))
        [1, 0]
    """
    front: list[int] = []
    for index in np.lexsort(objectives.T[::-1]).tolist():
        if not (objectives[front] <= objectives[index]).all(axis=1).any():
            front.append(index)
    return front


def crowding(objectives: Objectives) -> NDArray[np.float64]:
    """Return how far apart the neighbours of each member of a front are, summed over objectives.

    Args:
        objectives: of one front, (members, objectives); infinite ones get 0.

    Returns:
        Infinite for the ends of an objective, which are always kept.

    Example:
        >>> crowding(np.array([[0.0, 4.0], [1.0, 1.0], [4.0, 0.0]])).tolist()
        [inf, 2.0, inf]
    """
    distances = np.zeros(len(objectives))
    if not np.isfinite(objectives).all():
        return distances
    for values in objectives.T:
        order = values.argsort(kind="stable")
        span = values[order[-1]] - values[order[0]]
        distances[order[[0, -1]]] = np.inf
        if span > 0:
            distances[order[1:-1]] += (values[order[2:]] - values[order[:-2]]) / span
    return distances


def ranking(judged: Judged) -> NDArray[np.int64]:
    """Return the indices in order of front, then of crowding, the lonely first."""
    numbers = front_numbers(judged)
    lonely = np.zeros(len(judged))
    for number in range(numbers.max(initial=-1) + 1):
        members = numbers == number
        lonely[members] = crowding(judged.objectives[members])
    return np.lexsort((-lonely, numbers))


def hypervolume(objectives: Objectives, reference: NDArray[np.float64]) -> float:
    """Return how much of the space below a reference is dominated, exactly, by slices.

    Args:
        objectives: (points, objectives), less is better; the cost grows steeply with objectives.
        reference: a point; what is not better in every objective adds nothing.

    Example:
        >>> hypervolume(np.array([[1.0, 2.0], [2.0, 1.0], [9.0, 0.0]]), np.array([3.0, 3.0]))
        3.0
    """
    inside = objectives[(objectives < reference).all(axis=1)]
    if not len(inside):
        return 0.0
    if len(reference) == 1:
        return float(reference[0] - inside.min())
    inside = inside[inside[:, -1].argsort(kind="stable")]
    heights = np.diff(np.append(inside[:, -1], reference[-1]))
    if len(reference) == 2:  # the same without recursion
        return float(heights @ (reference[0] - np.minimum.accumulate(inside[:, 0])))
    return sum(
        float(height) * hypervolume(inside[: index + 1, :-1], reference[:-1])
        for index, height in enumerate(heights)
        if height > 0
    )


def volume_gains(
    front: Objectives, points: Objectives, reference: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return by how much each of some points, by itself, would raise the hypervolume.

    Args:
        front: what is there already, (members, objectives).
        points: (points, objectives).
        reference: see `hypervolume`.

    Example:
        >>> points = np.array([[0.0, 2.0], [2.0, 2.0]])
        >>> volume_gains(np.array([[1.0, 1.0]]), points, np.full(2, 3.0))
        array([1., 0.])
    """
    if len(reference) != 2:
        volume = hypervolume(front, reference)
        raised = [hypervolume(np.vstack([front, point]), reference) for point in points]
        return np.array(raised) - volume
    steps = front[first_front(front)]
    steps = steps[(steps < reference).all(axis=1)]
    # Between two steps a point adds what lies below the height that the steps leave free.
    starts = np.concatenate([[-np.inf], steps[:, 0]])
    ends = np.append(steps[:, 0], reference[0])
    heights = np.concatenate([[reference[1]], steps[:, 1]])
    lengths = np.clip(ends - np.maximum(starts, points[:, :1]), 0, None)
    gains: NDArray[np.float64] = (lengths * np.clip(heights - points[:, 1:2], 0, None)).sum(axis=1)
    return gains


def sampled_gains(front: Objectives, points: Objectives) -> NDArray[np.float64]:
    """Return about what `volume_gains` does below 1 in every objective, for three or more.

    The exact volume of a hundred points in four objectives takes a tenth of a second, and a search
    asks for thousands. Here the first objective is integrated exactly, over a Sobol sequence in the
    unit cube of the others (as hypervolumes are sampled by J. Bader and E. Zitzler, HypE, 2011). It
    is the same at each call, so that a gain never grows with the front.

    Args:
        front: what is there already, (members, objectives).
        points: (points, objectives).

    Example:
        >>> sampled_gains(np.full((1, 3), 0.5), np.array([[0.0, 0.5, 0.5], [0.6, 0.6, 0.6]]))
        array([0.125, 0.   ])
    """
    samples = _sobol(points.shape[1] - 1)
    inside = front[(front < 1.0).all(axis=1)]
    reached = np.ones(len(samples))
    for member in inside[inside[:, 0].argsort(kind="stable")[::-1]]:  # the best writes last
        reached[(member[1:] <= samples).all(axis=1)] = member[0]
    gains = np.empty(len(points))
    for start in range(0, len(points), _TOGETHER):
        some = points[start : start + _TOGETHER]
        covers = np.ones((len(some), len(samples)), bool)
        for place in range(samples.shape[1]):
            covers &= some[:, place + 1, None] <= samples[:, place]
        widened = np.clip(reached - some[:, :1], 0.0, None)
        gains[start : start + _TOGETHER] = (widened * covers).mean(axis=1)
    return gains


@cache
def _sobol(dimensions: int) -> NDArray[np.float64]:
    """Return points that fill the unit cube evenly, (samples, dimensions)."""
    from scipy.stats import qmc  # takes a moment to import, for many objectives only

    sequence: NDArray[np.float64] = qmc.Sobol(dimensions, scramble=False).random_base2(_SAMPLES)
    return sequence
