"""Find out by a short trial how many individuals are best trained at a time."""

import time
from collections.abc import Callable
from typing import Final

_TIMES: Final = 3


def quickest(
    prepare: Callable[[int], Callable[[], object]],
    most: int,
    clock: Callable[[], float] = time.perf_counter,
) -> int:
    """Return the number of individuals whose step takes least time for each of them.

    One is tried, then two, four and so on, while each is quicker than the one before.

    Args:
        prepare: makes the step of so many individuals.
        most: individuals at a time; the answer is no more.
        clock: seconds that never go back.
    """
    if most == 1:
        return 1
    best, least_s = 1, float("inf")
    count = 1
    while count <= most:
        step = prepare(count)
        step()  # the first time allocates, and chooses kernels
        taken_s = []
        for _ in range(_TIMES):
            begun = clock()
            step()
            taken_s.append(clock() - begun)
        each_s = min(taken_s) / count
        if each_s >= least_s:
            break
        best, least_s = count, each_s
        count *= 2
    return best
