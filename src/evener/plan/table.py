"""Find the best chain of stages by dynamic programming over how much of the machine is used.

The state is (grains used of each processor, receiver to come, stages, credits, blocks done), which
covers every order, subset, number and size of stages, replicated or not. What a stage costs is
combined with what was before it by `numpy.maximum` for periods, or by `numpy.add` for energies.
A stage pays for moving its frames to the next one's processors; where that depends on which they
are, the state also holds who is to come next (the receiver), and a stage can only follow if it is.
A stage always takes grains, so states are settled in the order of the grains, and for each all
pairs of blocks at once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from operator import sub
from typing import Any, Final

import numpy as np

from evener.plan.moves import Move
from evener.plan.problem import Floats, Problem
from evener.plan.steps import Step

Combine = Callable[[Floats, Floats], Floats]
_Index = tuple[Any, ...]  # what numpy takes to index several axes
_MOST_AT_ONCE: Final = 2**20  # figures that one step may hold: a few are as quick, many need memory


@dataclass(frozen=True, slots=True)
class Table:
    """The least costs, and what the axes of the table count.

    Attributes:
        problem: what it solves.
        best: [grains used of each processor, receiver to come, stages, credits, blocks done].
        moves: the ways to add a stage.
        combine: what joins the cost of a stage to that of those before it.
        stages: how many stages are asked for; None if they are not counted and the axis has
            length 1.
        credits: whether credits are counted; else their axis has length 1.
    """

    problem: Problem
    best: Floats
    moves: tuple[Move, ...]
    combine: Combine
    stages: int | None
    credits: bool

    def costs(self) -> Floats:
        """Return the least cost of the whole network for each number of credits."""
        final = self._final(self.stages or 0)
        least: Floats = final.reshape(-1, final.shape[-1]).min(axis=0)
        return least

    def steps(self, held: int = 0, *, stages: int | None = None) -> tuple[Step, ...] | None:
        """Return the stages of a best chain, of equally good ones with fewest grains.

        Args:
            held: how many credits; 0 where they are not counted.
            stages: how many stages, if not as many as are asked for.

        Returns:
            The stages, or None if there is no chain.
        """
        number = self.stages or 0 if stages is None else stages
        costs = self._final(number)[..., held]
        least = costs.min()
        if least == inf:
            return None
        used = min(np.argwhere(costs == least).tolist(), key=sum)
        return tuple(reversed([*self._traced((*used, 0, number, held, self.problem.blocks))]))

    def _final(self, stages: int) -> Floats:
        return self.best[..., 0, stages, :, -1]  # the last stage hands on to nobody

    def _traced(self, state: tuple[int, ...]) -> Iterator[Step]:
        """Yield the stages that lead to a state, the last one first."""
        while state[-1]:
            last_block = state[-1] - 1
            move, state = next(self._origins(state))
            place = state[-1], last_block
            yield Step(*place, self.problem.teams[move.team[place]], move.receiver)

    def _origins(self, state: tuple[int, ...]) -> Iterator[tuple[Move, tuple[int, ...]]]:
        """Yield every last stage that explains the cost of a state, and the state before it."""
        *used, receiver, stages, held, end = state
        for move in self.moves:
            if move.receiver != receiver:
                continue
            left = _less(used, move.usage)
            fewer = stages - (self.stages is not None), held - move.credits * self.credits
            if min(*left, *fewer) < 0:
                continue
            origin: _Index = (*left, move.itself, *fewer, slice(end))
            reached = self.combine(self.best[origin], move.cost[:end, end - 1])
            for start in np.flatnonzero(reached == self.best[state]).tolist():
                yield move, (*left, move.itself, *fewer, start)


def solve(
    problem: Problem,
    moves: Sequence[Move],
    combine: Combine,
    *,
    stages: int | None,
    most_credits: int | None,
) -> Table:
    """Fill the table.

    Takes O(blocks² · kinds of stage · states) steps: hundredths of a second for sixty blocks on
    eight cores; as many times that as there are receivers.

    Args:
        problem: what to plan.
        moves: the ways to add a stage.
        combine: what joins the cost of a stage to that of those before it; never lowers it.
        stages: count stages up to so many; do not if None.
        most_credits: count credits up to so many; do not if None.
    """
    grains = tuple(grain + 1 for grain in problem.grains)
    shape = len(problem.receivers), (stages or 0) + 1, (most_credits or 0) + 1, problem.blocks + 1
    best = np.full((*grains, *shape), inf)
    start: _Index = (*(0,) * len(grains), slice(None), 0, 0, 0)
    best[start] = 0.0
    table = Table(problem, best, tuple(moves), combine, stages, most_credits is not None)
    kinds = _alike(table)
    for used in product(*map(range, grains)):
        for kind in kinds:
            left = _less(used, kind.usage)
            if min(left) >= 0:
                _add_stage(table, kind, best[left], best[used])
    return table


@dataclass(frozen=True, slots=True)
class _Kind:
    """Moves alike in all but whom they hand on to.

    Attributes:
        usage: grains taken of each processor.
        credits: frames held; 0 where they are not counted.
        itself: which receiver it is.
        receivers: which receiver each hands on to.
        costs: `[move, stages, credits, first block, last block]`.
    """

    usage: tuple[int, ...]
    credits: int
    itself: int
    receivers: tuple[int, ...]
    costs: Floats


def _alike(table: Table) -> list[_Kind]:
    """Put the moves that can run anything together, so that numpy has more to do at once."""
    alike: dict[tuple[tuple[int, ...], int, int], list[Move]] = {}
    for move in table.moves:
        if np.isfinite(move.cost).any():
            key = move.usage, move.credits * table.credits, move.itself
            alike.setdefault(key, []).append(move)
    return [
        _Kind(
            *key,
            receivers=tuple(move.receiver for move in moves),
            costs=np.stack([move.cost for move in moves])[:, np.newaxis, np.newaxis],
        )
        for key, moves in alike.items()
    ]


def _add_stage(table: Table, kind: _Kind, before: Floats, after: Floats) -> None:
    """Improve the states after a stage by those before it."""
    counted = int(table.stages is not None)
    _, stages, credits_, _ = before.shape
    reached = before[kind.itself, : stages - counted, : max(0, credits_ - kind.credits), :-1]
    if not np.any(reached < inf):
        return
    rows = reached.shape[:2]
    if kind.costs.size * rows[0] * rows[1] <= _MOST_AT_ONCE:
        goal: _Index = (list(kind.receivers), slice(counted, None), slice(kind.credits, None))
        costs = table.combine(reached[..., np.newaxis], kind.costs).min(axis=-2)
        after[(*goal, slice(1, None))] = np.minimum(after[(*goal, slice(1, None))], costs)
        return
    for receiver, cost in zip(kind.receivers, kind.costs[:, 0, 0], strict=True):
        for stage, held in np.ndindex(rows):
            least = table.combine(reached[stage, held, :, np.newaxis], cost).min(axis=0)
            state = after[receiver, stage + counted, held + kind.credits, 1:]
            np.minimum(state, least, out=state)


def _less(used: Sequence[int], usage: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(sub, used, usage))
