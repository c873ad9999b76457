"""Weigh period, latency and energy: find every plan that no other beats in all three.

The idle machine draws more per frame the longer the period, so what is left to weigh is what the
stages draw beyond that. For a limit on the period, one table over the moves within the limit finds
for each number of credits the chain of least energy (the ε-constraint method of Haimes, Lasdon and
Wismer, 1971). Asked for less than the longest period just found, it finds the next chains, and so
down to the shortest period: as many tables as the front has periods, and no plan is missed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nextafter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.plan import chain
from evener.plan.problem import PAPER_STAGES, Floats, Integers, Problem
from evener.plan.steps import Chain, make_chain
from evener.plan.table import Move, Table, solve
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
    stages = PAPER_STAGES if problem.paper else stages
    limit_s = nextafter(max_period_s, inf)
    if max_credits is None:
        steps = _least(problem, _choices(problem, None), limit_s, stages, None).steps()
        if steps is None:
            return None
        max_credits = make_chain(problem, steps).credits
    table = _least(problem, _choices(problem, max_credits), limit_s, stages, max_credits)
    costs = table.costs()
    held = int(np.argmax(costs <= costs.min() * (1 + ROUNDING)))
    steps = table.steps(held)
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
    choices = _choices(problem, most_credits)
    found: list[Chain] = []
    current: dict[int, Chain] = {}
    limit_s = inf
    while True:
        table = _least(problem, choices, limit_s, stages, most_credits)
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


def _least(
    problem: Problem,
    choices: Sequence["_Choice"],
    limit_s: float,
    stages: int | None,
    most_credits: int | None,
) -> Table:
    """Solve for the least energy with periods below a limit."""
    moves = [choice.within(limit_s) for choice in choices]
    return solve(problem, moves, np.add, stages=stages, most_credits=most_credits)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Stages alike in all but their team: the teams that no other beats for each pair of blocks.

    Index legend: K pairs of first and last block, T teams, those of least energy and longest period
    first; behind the last an infinite energy.

    Attributes:
        usage: grains taken of each processor.
        credits: frames held.
        itself: which receiver it is.
        receiver: which receiver it hands on to.
        places: first block and last block of each pair.
        blocks: of the network.
        periods_s_TK: period of each team; -1 where there are fewer.
        energies_j_TK: energy of each team; inf where there are fewer.
        teams_TK: index of each team.
    """

    usage: tuple[int, ...]
    credits: int
    itself: int
    receiver: int
    places: tuple[NDArray[np.intp], NDArray[np.intp]]
    blocks: int
    periods_s_TK: Floats  # noqa: N815 -- its axes are part of its name
    energies_j_TK: Floats  # noqa: N815 -- as above
    teams_TK: Integers  # noqa: N815 -- as above

    def within(self, limit_s: float) -> Move:
        """Return the team of least energy with a period below the limit, for each pair."""
        shape = self.blocks, self.blocks
        cost, team = np.full(shape, inf), np.zeros(shape, np.int64)
        rank = np.sum(self.periods_s_TK >= limit_s, axis=0), np.arange(len(self.places[0]))
        cost[self.places], team[self.places] = self.energies_j_TK[rank], self.teams_TK[rank]
        return Move(self.usage, self.credits, self.itself, self.receiver, cost, team)


def _choices(problem: Problem, most_credits: int | None) -> list[_Choice]:
    """List what a stage can be, for each usage, receiver and number of credits."""
    firsts, lasts = np.nonzero(np.any(np.isfinite(problem.times_s_CBE), axis=0))
    places = firsts, lasts
    by_usage: dict[tuple[int, ...], list[tuple[int, Team]]] = {}
    for number, team in enumerate(problem.teams):
        by_usage.setdefault(team.usage, []).append((number, team))
    choices: list[_Choice] = []
    for usage, alike in by_usage.items():
        numbers = np.array([number for number, _ in alike])
        for receiver in range(len(problem.receivers)):
            if not chain.leaves_room(problem, alike[0][1], receiver):
                continue
            stages = [(team, receiver) for _, team in alike]
            periods_s = np.stack([problem.period_s(*stage)[places] for stage in stages])
            energies_j = np.stack([problem.energy_j(*stage)[places] for stage in stages])
            held = np.zeros(periods_s.shape, np.int64)
            if most_credits is not None:
                held = np.stack([problem.credits(*stage)[places] for stage in stages])
            known = np.isfinite(energies_j)
            for credits_ in np.unique(held[known]).tolist():
                if most_credits is not None and credits_ > most_credits:
                    continue
                able = known & (held == credits_)
                rows = np.flatnonzero(able.any(axis=1))
                stairs = _stairs(periods_s[rows], energies_j[rows], able[rows], numbers[rows])
                choices.append(
                    _Choice(
                        usage,
                        credits_,
                        problem.receiver(alike[0][1]),
                        receiver,
                        places,
                        problem.blocks,
                        *stairs,
                    )
                )
    return choices


def _stairs(
    periods_s: Floats, energies_j: Floats, able: NDArray[np.bool_], numbers: Integers
) -> tuple[Floats, Floats, Integers]:
    """Keep for each pair of blocks the teams that none beats, least energy first.

    Args:
        periods_s: `[team, pair]`.
        energies_j: `[team, pair]`.
        able: whether a team counts for a pair, `[team, pair]`.
        numbers: index of each team.
    """
    periods_s, energies_j = np.where(able, periods_s, inf), np.where(able, energies_j, inf)
    order = np.lexsort((periods_s, energies_j), axis=0)
    periods_s = np.take_along_axis(periods_s, order, axis=0)
    energies_j = np.take_along_axis(energies_j, order, axis=0)
    shortest_s = np.full_like(periods_s, inf)  # of those that take less
    shortest_s[1:] = np.minimum.accumulate(periods_s, axis=0)[:-1]
    kept = periods_s < shortest_s
    most = int(kept.sum(axis=0).max())
    first = np.argsort(~kept, axis=0, kind="stable")[:most]
    kept = np.take_along_axis(kept, first, axis=0)
    periods_s = np.where(kept, np.take_along_axis(periods_s, first, axis=0), -1.0)
    energies_j = np.where(kept, np.take_along_axis(energies_j, first, axis=0), inf)
    behind = ((0, 1), (0, 0))  # one row
    return (
        np.pad(periods_s, behind, constant_values=-1.0),
        np.pad(energies_j, behind, constant_values=inf),
        np.pad(numbers[np.take_along_axis(order, first, axis=0)], behind),
    )
