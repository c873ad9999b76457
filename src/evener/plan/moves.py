"""List the ways to add a stage: for every usage of the machine the best team for each segment."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import inf

import numpy as np

from evener.plan.problem import Floats, Integers, Problem
from evener.plan.teams import Team


@dataclass(frozen=True, slots=True)
class Move:
    """Stages alike in all but their team: the best one for each pair of blocks.

    Attributes:
        usage: grains taken of each processor.
        credits: frames held.
        itself: which receiver it is, the same for all teams of this usage.
        receiver: which receiver it hands on to.
        cost: what is to be least, `[first block, last block]`; inf where no team can.
        team: index of the team, `[first block, last block]`.
    """

    usage: tuple[int, ...]
    credits: int
    itself: int
    receiver: int
    cost: Floats
    team: Integers


def leaves_room(problem: Problem, team: Team, receiver: int) -> bool:
    """Return whether a next stage on all processors of the receiver still fits the machine."""
    return all(team.usage[of] < problem.grains[of] for of in problem.receivers[receiver])


def best_moves(
    problem: Problem, cost: Callable[[Team, int], Floats], *, most_credits: int | None
) -> tuple[Move, ...]:
    """Find the best team of every usage, receiver and number of credits.

    Args:
        problem: what to plan.
        cost: what is to be least of a team and a receiver, `[first block, last block]`; inf where
            it does not count.
        most_credits: tell credits apart, up to so many; do not if None.

    Returns:
        The moves, those of fewest credits first; their credits are 1 where they are not told apart.
    """
    shape = problem.blocks, problem.blocks
    found: dict[tuple[tuple[int, ...], int, int], Move] = {}
    for (number, team), receiver in product(
        enumerate(problem.teams), range(len(problem.receivers))
    ):
        if not leaves_room(problem, team, receiver):
            continue
        costs = cost(team, receiver)
        held = np.ones(shape, np.int64)
        if most_credits is not None:
            held = problem.credits(team, receiver)
        for credits_ in np.unique(held[np.isfinite(costs)]).tolist():
            if most_credits is not None and credits_ > most_credits:
                continue
            key = team.usage, credits_, receiver
            if key not in found:
                blank = np.full(shape, inf), np.zeros(shape, np.int64)
                found[key] = Move(team.usage, credits_, problem.receiver(team), receiver, *blank)
            move = found[key]
            better = (held == credits_) & (costs < move.cost)
            move.cost[better] = costs[better]
            move.team[better] = number
    return tuple(sorted(found.values(), key=lambda move: (move.credits, sum(move.usage))))
