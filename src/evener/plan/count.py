"""Count the plans of a space, by formula or by dynamic programming, without making them."""

from collections import Counter
from math import comb, factorial

from evener.plan.problem import PAPER_STAGES, Problem


def paper_configurations(cut_points: int) -> int:
    """Count three non-empty stages on three different processors: C(N,2)·3!.

    This is the count of the literature on a board of three processors, whatever this machine has.

    Args:
        cut_points: N, the places where the network may be cut.

    Example:
        >>> [paper_configurations(points) for points in (7, 12, 17, 18, 27)]
        [126, 396, 816, 918, 2106]
    """
    return comb(cut_points, PAPER_STAGES - 1) * factorial(PAPER_STAGES)


def full_configurations(problem: Problem) -> int:
    """Count every way to cut the blocks into stages and give each stage a team.

    Cores are interchangeable, so two plans that differ only in which cores of a processor they use
    are one; and each lane has its fastest runtime. With k stages there are C(N,k-1) cuts, times the
    sequences of k teams that fit the machine together.

    Args:
        problem: what to plan, of the space "full".
    """
    manned = Counter({(0,) * len(problem.grains): 1})  # sequences of teams by grains used
    total = 0
    for stages in range(1, problem.most_stages + 1):
        longer: Counter[tuple[int, ...]] = Counter()
        for used, ways in manned.items():
            for team in problem.teams:
                together = tuple(map(sum, zip(used, team.usage, strict=True)))
                if all(map(int.__le__, together, problem.grains)):
                    longer[together] += ways
        manned = longer
        total += comb(problem.blocks - 1, stages - 1) * manned.total()
    return total
