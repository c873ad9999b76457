"""Split a chain of blocks into stages on teams of core sets so that the slowest stage is quickest.

A pipeline delivers a frame each time its slowest stage finishes, and a frame takes as long as the
frames in flight take to leave. So for each number of frames in flight (credits) this finds the plan
whose slowest stage is quickest: `front`. The search is in `evener.plan.table`; `evener.plan.pareto`
weighs energy too. Its plain twin is `evener.plan.exhaustive`.
"""

from math import inf

import numpy as np

from evener.plan.feasible import check_possible, no_chain
from evener.plan.moves import best_moves
from evener.plan.problem import PAPER_STAGES, Problem
from evener.plan.steps import Chain, make_chain
from evener.plan.table import Table, solve


def front(problem: Problem, *, stages: int | None = None) -> tuple[Chain, ...]:
    """Find for each number of credits the shortest period.

    Args:
        problem: what to plan.
        stages: exactly so many stages; any number if None.

    Returns:
        Chains with ever more credits and ever shorter periods; each is best for its credits. Of
        equally quick ones the one that uses fewest grains.

    Raises:
        InfeasibleError: no chain runs all blocks.
    """
    stages = PAPER_STAGES if problem.paper else stages
    check_possible(problem, stages)
    # A plan on the front never has more credits than one with the shortest period of all.
    steps = _table(problem, stages, most_credits=None).steps()
    if steps is None:
        raise no_chain(problem, stages)
    most_credits = make_chain(problem, steps).credits
    table = _table(problem, stages, most_credits)
    chains: list[Chain] = []
    shortest_s = inf
    for held, period_s in enumerate(table.costs().tolist()):
        steps = table.steps(held) if period_s < shortest_s else None
        if steps is not None:
            chains.append(make_chain(problem, steps))
            shortest_s = period_s
    return tuple(chains)


def quickest_by_stages(problem: Problem) -> tuple[Chain, ...]:
    """Find the shortest period for each number of stages that has a chain.

    Takes one table for all of them, without credits, and so far less than a front of each.

    Args:
        problem: what to plan, of the space "full".
    """
    table = _table(problem, problem.most_stages, most_credits=None)
    found = (table.steps(stages=stages) for stages in range(1, problem.most_stages + 1))
    return tuple(make_chain(problem, steps) for steps in found if steps is not None)


def _table(problem: Problem, stages: int | None, most_credits: int | None) -> Table:
    return solve(
        problem,
        best_moves(problem, problem.period_s, most_credits=most_credits),
        np.maximum,
        stages=stages,
        most_credits=most_credits,
    )
