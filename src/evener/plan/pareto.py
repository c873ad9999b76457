"""Weigh period, latency and energy: find every plan that no other beats in all three.

The idle machine draws more per frame the longer the period, so what is left to weigh is what the
stages draw beyond that. For a limit on the period, one table over the moves within the limit finds
for each number of credits the chain of least energy (the ε-constraint method of Haimes, Lasdon and
Wismer, 1971). Asked for less than the longest period just found, it finds the next chains, and so
down to the shortest period: as many tables as the front has periods, and no plan is missed.
"""

from collections.abc import Sequence
from math import inf
from typing import Final

import numpy as np

from evener.plan import chain
from evener.plan.moves import best_moves
from evener.plan.problem import PAPER_STAGES, Floats, Problem
from evener.plan.stairs import list_choices
from evener.plan.steps import Chain, make_chain
from evener.plan.table import solve
from evener.plan.teams import Team

ROUNDING: Final = 1e-9  # figures nearer than this, relative, are the same


def front(problem: Problem, *, stages: int | None = None) -> tuple[Chain, ...]:
    """Find every plan that no other beats in period, latency and energy.

    Where energies are not known these are the plans that none beats in period and latency. Takes
    tenths of a second for 18 blocks on four processors of 5 to 8 clocks, and seconds for 100.

    Args:
        problem: what to plan.
        stages: exactly so many stages; any number if None.

    Returns:
        Chains with ever longer periods, of equally quick ones the thriftier first; of plans with
        the same figures one.

    Raises:
        InfeasibleError: no chain runs all blocks.
    """
    quickest = chain.front(problem, stages=stages)
    return not_beaten([*quickest, *_thrifty(problem, stages)])


def thriftiest(
    problem: Problem,
    *,
    stages: int | None,
    max_period_s: float,
    max_credits: int | None = None,
) -> Chain | None:
    """Find the plan that adds least to the energy of the idle machine.

    At the shortest period that is the plan of least energy.

    Args:
        problem: what to plan.
        stages: exactly so many stages; any number if None.
        max_period_s: only plans of at most this period.
        max_credits: only plans of at most so many credits.

    Returns:
        The plan, of equally thrifty ones one with fewest credits; None if there is none within
        the limits whose energy is known.
    """
    if problem.energies_j_CBE is None:
        return None
    stages = PAPER_STAGES if problem.paper else stages

    def within(team: Team, receiver: int) -> Floats:
        quick = problem.period_s(team, receiver) <= max_period_s
        return np.where(quick, problem.energy_j(team, receiver), inf)

    if max_credits is None:
        moves = best_moves(problem, within, most_credits=None)
        steps = solve(problem, moves, np.add, stages=stages, most_credits=None).steps()
        if steps is None:
            return None
        max_credits = make_chain(problem, steps).credits
    moves = best_moves(problem, within, most_credits=max_credits)
    table = solve(problem, moves, np.add, stages=stages, most_credits=max_credits)
    costs = table.costs()
    steps = table.steps(int(np.argmax(costs <= costs.min() * (1 + ROUNDING))))
    return None if steps is None else make_chain(problem, steps)


def not_beaten(chains: Sequence[Chain]) -> tuple[Chain, ...]:
    """Keep the chains that no other beats, by ever longer period, and of equal ones one.

    Args:
        chains: of one problem; figures that differ by rounding alone are the same.
    """
    ordered = sorted(chains, key=lambda each: (each.period_s, each.energy_j, each.credits))
    figures = np.array([(each.period_s, each.latency_s, each.energy_j) for each in ordered])
    kept: list[int] = []
    for number, figure in enumerate(figures):
        as_good = np.all(figures <= figure * (1 + ROUNDING), axis=1)
        better = np.any(figures < figure * (1 - ROUNDING), axis=1)
        if not np.any(as_good & better) and not np.any(as_good[kept]):
            kept.append(number)
    return tuple(ordered[number] for number in kept)


def _thrifty(problem: Problem, stages: int | None) -> list[Chain]:
    """Return the chains of least energy for each number of credits and each limit on the period."""
    if problem.energies_j_CBE is None:
        return []
    stages = PAPER_STAGES if problem.paper else stages
    # One of these is as quick and as thrifty as any plan, so more credits than they have never pay.
    uncounted = _not_beaten_by_rate_and_energy(_walk(problem, stages, None))
    return _walk(problem, stages, max((each.credits for each in uncounted), default=0))


def _not_beaten_by_rate_and_energy(chains: Sequence[Chain]) -> list[Chain]:
    kept: list[Chain] = []
    for each in sorted(chains, key=lambda each: (each.period_s, each.energy_j)):
        if not kept or each.energy_j < kept[-1].energy_j:
            kept.append(each)
    return kept


def _walk(problem: Problem, stages: int | None, most_credits: int | None) -> list[Chain]:
    """Lower the limit on the period until no chain is left."""
    choices = list_choices(problem, most_credits)
    found: list[Chain] = []
    current: dict[int, Chain] = {}
    limit_s = inf
    while True:
        moves = [choice.within(limit_s) for choice in choices]
        table = solve(problem, moves, np.add, stages=stages, most_credits=most_credits)
        longest_s, least_j = 0.0, inf
        for held, energy_j in enumerate(table.costs().tolist()):
            if energy_j >= least_j:
                continue  # fewer frames in flight take as little
            least_j = energy_j
            if held not in current or current[held].period_s >= limit_s:
                steps = table.steps(held)
                if steps is None:
                    continue
                current[held] = make_chain(problem, steps)
                found.append(current[held])
            longest_s = max(longest_s, current[held].period_s)
        if least_j == inf:
            return found
        limit_s = longest_s
