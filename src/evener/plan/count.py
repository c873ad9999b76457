"""Count the plans of a space, by formula or by dynamic programming, without making them."""

from collections import Counter
from collections.abc import Callable
from math import comb, factorial

from evener.plan.problem import PAPER_STAGES, Problem

Formed = Callable[[int, int], bool]
"""Whether two blocks are the first and last of a segment."""


def paper_configurations(cut_points: int, formed: Formed | None = None) -> int:
    """Count three non-empty stages on three different processors: C(N,2)·3!.

    This is the count of the literature on a board of three processors, whatever this machine has.

    Args:
        cut_points: N, the places where the network may be cut.
        formed: which blocks form segments, so that only pairs of cuts count of which one is behind
            the other; None if all blocks in a row do.

    Example:
        >>> [paper_configurations(points) for points in (7, 12, 17, 18, 27)]
        [126, 396, 816, 918, 2106]
    """
    return divisions(cut_points + 1, PAPER_STAGES, formed)[-1] * factorial(PAPER_STAGES)


def full_configurations(problem: Problem) -> int:
    """Count every way to cut the blocks into stages and give each stage a team.

    Cores are interchangeable, so two plans that differ only in which cores of a processor they use
    are one; and each lane has its fastest runtime. With k stages there are C(N,k-1) cuts (fewer
    where not all blocks in a row form a segment), times the sequences of k teams that fit the
    machine together.

    Args:
        problem: what to plan, of the space "full".
    """
    cuts = divisions(problem.blocks, problem.most_stages, problem.form_segment)
    manned = Counter({(0,) * len(problem.grains): 1})  # sequences of teams by grains used
    total = 0
    for ways_to_cut in cuts:
        longer: Counter[tuple[int, ...]] = Counter()
        for used, ways in manned.items():
            for team in problem.teams:
                together = tuple(map(sum, zip(used, team.usage, strict=True)))
                if all(map(int.__le__, together, problem.grains)):
                    longer[together] += ways
        manned = longer
        total += ways_to_cut * manned.total()
    return total


def divisions(blocks: int, stages: int, formed: Formed | None = None) -> tuple[int, ...]:
    """Count the ways to divide blocks into 1, 2, ... segments that follow each other.

    Args:
        blocks: how many.
        stages: up to so many segments.
        formed: which blocks form segments; None if all blocks in a row do.

    Example:
        >>> divisions(4, 3)
        (1, 3, 3)
        >>> divisions(4, 3, lambda first, last: (first, last) != (1, 2))
        (1, 3, 2)
    """
    if formed is None:
        return tuple(comb(blocks - 1, cuts) for cuts in range(stages))
    starts = [[at for at in range(end) if formed(at, end - 1)] for end in range(blocks + 1)]
    ways = [1] + [0] * blocks  # to have done the first so many blocks
    counts: list[int] = []
    for _ in range(stages):
        ways = [sum(ways[start] for start in those) for those in starts]
        counts.append(ways[blocks])
    return tuple(counts)
