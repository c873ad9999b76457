"""Trade period for energy within a stage: the teams worth having, for any limit on the period."""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from evener.plan.moves import Move, leaves_room
from evener.plan.problem import Floats, Integers, Problem
from evener.plan.teams import Team


@dataclass(frozen=True, slots=True)
class Choice:
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


def list_choices(problem: Problem, most_credits: int | None) -> list[Choice]:
    """List what a stage can be, for each usage, receiver and number of credits.

    Args:
        problem: what to plan, some energies known.
        most_credits: tell credits apart, up to so many; do not if None.
    """
    firsts, lasts = np.nonzero(np.any(np.isfinite(problem.times_s_CBE), axis=0))
    places = firsts, lasts
    by_usage: dict[tuple[int, ...], list[tuple[int, Team]]] = {}
    for number, team in enumerate(problem.teams):
        by_usage.setdefault(team.usage, []).append((number, team))
    choices: list[Choice] = []
    for usage, alike in by_usage.items():
        numbers = np.array([number for number, _ in alike])
        for receiver in range(len(problem.receivers)):
            if not leaves_room(problem, alike[0][1], receiver):
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
                    Choice(
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
