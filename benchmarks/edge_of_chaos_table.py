"""Evolve hyperparameters over a table that was probed."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.search.chaos.table import Grid, Probed, deviations

VARIANTS: Final = 10  # the paper's


def evolve(
    probed: Probed, starts: NDArray[np.intp], iterations: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Evolve ten variants of the hyperparameters by the rates that they themselves hold.

    Parents are the better half, by what their states learned; a child mates with its mother's
    crossover rate, at one point of the four hyperparameters, and each of its hyperparameters is
    drawn anew with its mother's mutation rate. Children replace everyone.

    Args:
        probed: the table.
        starts: states that variants are drawn from.
        iterations: generations.
        rng: what is drawn from.

    Returns:
        Signed deviations from the best state at the start and at the end: [variants, 4].
    """
    grid = probed.grid
    shape = (grid.levels,) * len(grid.axes)
    truth = probed.best
    levels = np.stack(np.unravel_index(rng.choice(starts, VARIANTS), shape), axis=1)
    begun = deviations(_values(grid, levels), truth, grid)
    for _ in range(iterations):
        fitness = probed.learned[np.ravel_multi_index(tuple(levels.T), shape)]
        better = levels[np.argsort(-fitness, kind="stable")[: VARIANTS // 2]]
        mothers, fathers = (better[rng.integers(len(better), size=VARIANTS)] for _ in range(2))
        rates = _values(grid, mothers)
        point = rng.integers(1, len(shape), size=(VARIANTS, 1))
        mated = rng.random((VARIANTS, 1)) < rates[:, 3:4]
        levels = np.where((np.arange(len(shape)) < point) | ~mated, mothers, fathers)
        turned = rng.random(levels.shape) < rates[:, 2:3]
        levels = np.where(turned, rng.integers(grid.levels, size=levels.shape), levels)
    return begun, deviations(_values(grid, levels), truth, grid)


def _values(grid: Grid, levels: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.stack(
        [np.array(axis.levels)[levels[:, at]] for at, axis in enumerate(grid.axes)], axis=1
    )
