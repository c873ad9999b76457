"""How short an iteration can be at best: the bytes of its weights over the bandwidth of memory."""

import statistics
import time
from collections.abc import Callable
from typing import Final

import torch

_LEAST_BYTES: Final = 1 << 16  # below, a call of torch is all that would be timed
_MOST_BYTES: Final = 1 << 30  # beyond, a larger array passes no faster and no slower
_LEAST_TIMES: Final = 5
_ENOUGH_S: Final = 0.1


def moved_bytes(weights: list[int], itemsize: int = 4) -> int:
    """Return the bytes of weights that an iteration of plain gradient descent must move.

    Each weight is read on the way forward and read and written by the update, and those of all
    layers but the first are read on the way back.

    Args:
        weights: of each layer but the input.
        itemsize: bytes of one.

    Example:
        >>> moved_bytes([100, 10])
        1360
    """
    first, *others = weights
    return itemsize * (3 * first + 4 * sum(others))


def scaling_bandwidth(size: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Measure how fast an array is scaled in place, in bytes per second read and written.

    Args:
        size: of the array in bytes; from 64 kB to 1 GiB are taken.
        clock: seconds.
    """
    values = torch.ones(min(max(size, _LEAST_BYTES), _MOST_BYTES) // 4)
    values.mul_(1.0)  # the first time brings it into memory
    taken: list[float] = []
    while len(taken) < _LEAST_TIMES or sum(taken) < _ENOUGH_S:
        begun = clock()
        values.mul_(1.0)
        taken.append(clock() - begun)
    return 2 * values.nbytes / statistics.median(taken)
