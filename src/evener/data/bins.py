"""Write a number as how much of each of its bins it fills, a piecewise linear encoding.

Gorishniy, Rubachev and Babenko, On Embeddings for Numerical Features in Tabular Deep Learning
(2022), 3.1, with bins between quantiles.
"""

import numpy as np
from numpy.typing import NDArray

_FEWEST = 3  # edges; with two the number itself says as much


def find_edges(numbers: NDArray[np.float64], most: int) -> tuple[float, ...]:
    """Return the edges of bins that hold about as many numbers each, in rising order.

    One number that stands in many rows counts in as many as a bin holds at most, so that bins are
    left for the others.

    Args:
        numbers: of training rows, finite ones.
        most: bins.

    Returns:
        No edge where there would be one bin only.

    Example:
        >>> find_edges(np.array([0.0] * 6 + [1.0, 2.0, 4.0, 8.0]), 3)
        (0.0, 1.0, 4.0, 8.0)
        >>> find_edges(np.array([0.0, 1.0, 1.0]), 3)
        ()
    """
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) <= most:
        places = np.arange(len(values))
    else:
        capped = np.minimum(counts, len(numbers) / most)
        reached = np.cumsum(capped) - capped / 2
        wanted = np.linspace(reached[0], reached[-1], most + 1)
        places = np.unique([*np.searchsorted(reached, wanted[:-1]).tolist(), len(values) - 1])
    edges = np.unique([float(f"{edge:.9g}") for edge in values[places]])
    return tuple(edges.tolist()) if len(edges) >= _FEWEST else ()


def fill_bins(
    edges: tuple[float, ...], numbers: NDArray[np.float64], into: NDArray[np.float32]
) -> None:
    """Write how much of each bin a number fills: 1 of those below it, 0 of those above.

    Args:
        edges: of the bins, one more than there are.
        numbers: (rows,).
        into: float32 (rows, bins).

    Example:
        >>> filled = np.empty((1, 3), np.float32)
        >>> fill_bins((0.0, 1.0, 3.0, 4.0), np.array([2.0]), filled)
        >>> filled.tolist()
        [[1.0, 0.5, 0.0]]
    """
    low, high = np.array(edges[:-1]), np.array(edges[1:])
    into[:] = np.clip((numbers[:, np.newaxis] - low) / (high - low), 0, 1)
