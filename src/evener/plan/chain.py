"""Split a chain of blocks into stages on teams of core sets, exactly, by dynamic programming.

A pipeline delivers a frame each time its slowest stage finishes, and a frame takes as long as the
frames in flight take to leave. So for each number of frames in flight (credits) this finds the plan
whose slowest stage is quickest: `front`. The state is (blocks done, stages, credits, grains used of
each processor), which covers every order, subset, number and size of stages, replicated or not.
A stage pays for moving its frames to the next one's processors; where that depends on which they
are, the state also holds who is to come next (the receiver), and a stage can only follow if it is.
Its plain twin is `evener.plan.exhaustive`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evener.errors import InfeasibleError
from evener.plan.problem import PAPER_STAGES, Floats, Integers, Problem, Team
from evener.units import count

_Index = tuple[Any, ...]  # what numpy takes to index several axes


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of a chain.

    Attributes:
        first_block: index of its first block, from 0.
        last_block: index of its last block, included.
        team: what runs it.
        receiver: index of the problem's receiver that it hands on to.
    """

    first_block: int
    last_block: int
    team: Team
    receiver: int = 0


@dataclass(frozen=True, slots=True)
class Chain:
    """Stages in order, and what they reach.

    Attributes:
        steps: the stages; together they run every block once.
        period_s: seconds between two frames: those of the slowest stage.
        credits: frames that must be in flight for that.
    """

    steps: tuple[Step, ...]
    period_s: float
    credits: int

    @property
    def latency_s(self) -> float:
        """Seconds from credit to emission."""
        return self.credits * self.period_s


@dataclass(frozen=True, slots=True)
class _Move:
    """Stages alike in all but their team: the quickest one for each pair of blocks.

    Attributes:
        usage: grains taken of each processor.
        credits: frames held.
        itself: which receiver it is, the same for all teams of this usage.
        receiver: which receiver it hands on to.
        period_s: seconds between two frames, `[first block, last block]`.
        team: index of the team, `[first block, last block]`.
    """

    usage: tuple[int, ...]
    credits: int
    itself: int
    receiver: int
    period_s: Floats
    team: Integers


@dataclass(frozen=True, slots=True)
class _Table:
    """The shortest periods, and what the axes of the table count.

    Attributes:
        best: [blocks done, receiver to come, stages, credits, grains used of each processor].
        moves: the ways to add a stage.
        stages: whether stages are counted; else their axis has length 1.
        credits: whether credits are counted; else their axis has length 1.
    """

    best: Floats
    moves: tuple[_Move, ...]
    stages: bool
    credits: bool


def front(problem: Problem, *, stages: int | None = None) -> tuple[Chain, ...]:
    """Find for each number of credits the shortest period.

    Takes O(blocks² · kinds of stage · states) steps: tenths of a second for sixty blocks on eight
    cores; as many times that as there are receivers.

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
    table = _solve(problem, stages, most_credits=None)
    quickest = _chain(problem, table, _last(table, stages, 0))
    if quickest is None:
        raise no_chain(problem, stages)
    table = _solve(problem, stages, most_credits=quickest.credits)
    chains: list[Chain] = []
    for held in range(1, quickest.credits + 1):
        chain = _chain(problem, table, _last(table, stages, held))
        if chain is not None and (not chains or chain.period_s < chains[-1].period_s):
            chains.append(chain)
    return tuple(chains)


def quickest_by_stages(problem: Problem) -> tuple[Chain, ...]:
    """Find the shortest period for each number of stages that has a chain.

    Takes one table for all of them, without credits, and so far less than a front of each.

    Args:
        problem: what to plan, of the space "full".
    """
    table = _solve(problem, problem.most_stages, most_credits=None)
    found = (
        _chain(problem, table, _last(table, stages, 0))
        for stages in range(1, problem.most_stages + 1)
    )
    return tuple(chain for chain in found if chain is not None)


def check_possible(problem: Problem, stages: int | None) -> None:
    """Refuse a problem that no chain can solve, whatever the times.

    Raises:
        InfeasibleError: more stages than blocks or cores, or a block that nothing runs.
    """
    if stages is not None and not 1 <= stages <= problem.most_stages:
        raise InfeasibleError(
            f"{count(stages, 'stage')} asked for, but {count(problem.blocks, 'block')} on "
            f"{_places(problem)} allow 1 to {problem.most_stages}; ask for fewer, cut finer or "
            "allow more processors",
            needed=stages,
            available=problem.most_stages,
        )
    able: NDArray[np.bool_] = np.any(np.isfinite(problem.times_s_CBE), axis=0)
    covered = [bool(np.any(able[: block + 1, block:])) for block in range(problem.blocks)]
    if not all(covered):
        stuck = [block for block, runs in enumerate(covered) if not runs]
        names = ", ".join(processor.name for processor in problem.processors)
        raise InfeasibleError(
            f"blocks {stuck} of {problem.blocks} have no time on any of {names}: allow a processor "
            "or runtime that can run them, or profile the network again",
            needed=problem.blocks,
            available=problem.blocks - len(stuck),
        )


def _places(problem: Problem) -> str:
    """Say what stages can be put on, such as "2 cores of cpu0, gpu0"."""
    return ", ".join(
        f"{count(processor.units, 'core')} of {processor.name}"
        if min(processor.core_sets) < processor.units
        else processor.name
        for processor in problem.processors
    )


def no_chain(problem: Problem, stages: int | None) -> InfeasibleError:
    """Make the error for times that leave no chain of stages."""
    wanted = "any number of stages" if stages is None else count(stages, "stage")
    names = ", ".join(processor.name for processor in problem.processors)
    return InfeasibleError(
        f"the {count(problem.blocks, 'block')} cannot be split into {wanted} on {names}: every "
        "split gives some processor blocks it has no time for. Allow more processors, or another "
        "number of stages",
        needed=stages,
        available=problem.most_stages,
    )


def _solve(problem: Problem, stages: int | None, most_credits: int | None) -> _Table:
    count_credits = most_credits is not None
    count_stages = stages is not None
    shape = (stages or 0) + 1, (most_credits or 0) + 1, *(grain + 1 for grain in problem.grains)
    best = np.full((problem.blocks + 1, len(problem.receivers), *shape), inf)
    start: _Index = (0, slice(None), *(0,) * len(shape))
    best[start] = 0.0
    moves = tuple(_moves(problem, most_credits))
    table = _Table(best, moves, count_stages, count_credits)
    for end in range(1, problem.blocks + 1):
        for move in moves:
            period_s = move.period_s[:end, end - 1]
            starts = np.flatnonzero(np.isfinite(period_s))
            if starts.size:
                before, after = _slices(table, move)
                origin: _Index = (starts, *before)
                reached = best[origin]
                period_s = period_s[starts].reshape(-1, *(1,) * (reached.ndim - 1))
                np.maximum(reached, period_s, out=reached)
                goal: _Index = (end, *after)
                target = best[goal]
                np.minimum(target, reached.min(axis=0), out=target)
    return table


def _moves(problem: Problem, most_credits: int | None) -> Iterator[_Move]:
    shape = problem.blocks, problem.blocks
    found: dict[tuple[tuple[int, ...], int, int], _Move] = {}
    for (number, team), receiver in product(
        enumerate(problem.teams), range(len(problem.receivers))
    ):
        if not _leaves_room(problem, team, receiver):
            continue
        team_period_s = problem.period_s(team, receiver)
        held = np.ones(shape, np.int64)
        if most_credits is not None:
            held = problem.credits(team, receiver)
        for credits_ in np.unique(held[np.isfinite(team_period_s)]).tolist():
            if most_credits is not None and credits_ > most_credits:
                continue
            period_s = np.where(held == credits_, team_period_s, inf)
            key = team.usage, credits_, receiver
            if key not in found:
                blank = np.full(shape, inf), np.zeros(shape, np.int64)
                found[key] = _Move(team.usage, credits_, problem.receiver(team), receiver, *blank)
            move = found[key]
            quicker = period_s < move.period_s
            move.period_s[quicker] = period_s[quicker]
            move.team[quicker] = number
    yield from sorted(found.values(), key=lambda move: (move.credits, sum(move.usage)))


def _leaves_room(problem: Problem, team: Team, receiver: int) -> bool:
    """Return whether a next stage on all processors of the receiver still fits the machine."""
    return all(team.usage[of] < problem.grains[of] for of in problem.receivers[receiver])


def _slices(table: _Table, move: _Move) -> tuple[_Index, _Index]:
    """Return where the move comes from and where it leads to, without the axis of blocks."""
    steps = (int(table.stages), move.credits if table.credits else 0, *move.usage)
    sizes = table.best.shape[2:]
    before = [slice(0, max(0, size - step)) for size, step in zip(sizes, steps, strict=True)]
    after = [slice(min(size, step), size) for size, step in zip(sizes, steps, strict=True)]
    itself = slice(move.itself, move.itself + 1)
    receiver = slice(move.receiver, move.receiver + 1)
    return (itself, *before), (receiver, *after)


def _last(table: _Table, stages: int | None, held: int) -> tuple[int, ...]:
    """Return the best final state with these stages and credits, of fewest grains if equal."""
    periods = table.best[-1, 0, stages or 0, held]  # the last stage hands on to nobody
    best = np.argwhere(periods == periods.min())
    used = min(best.tolist(), key=sum)
    return table.best.shape[0] - 1, 0, stages or 0, held, *used


def _chain(problem: Problem, table: _Table, state: tuple[int, ...]) -> Chain | None:
    period_s = float(table.best[state])
    if period_s == inf:
        return None
    steps: list[Step] = []
    credits_ = 0
    while state[0]:
        last_block = state[0] - 1
        move, state = next(_origins(table, state))
        place = state[0], last_block
        team = problem.teams[move.team[place]]
        steps.append(Step(*place, team, move.receiver))
        credits_ += int(problem.credits(team, move.receiver)[place])
    return Chain(tuple(reversed(steps)), period_s, credits_)


def _origins(table: _Table, state: tuple[int, ...]) -> Iterator[tuple[_Move, tuple[int, ...]]]:
    """Yield every last stage that explains the period of a state, and the state before it."""
    end, receiver, *counts = state
    for move in table.moves:
        if move.receiver != receiver:
            continue
        steps = (int(table.stages), move.credits if table.credits else 0, *move.usage)
        left = tuple(count - step for count, step in zip(counts, steps, strict=True))
        if min(left) >= 0:
            origin: _Index = (slice(end), move.itself, *left)
            reached = np.maximum(table.best[origin], move.period_s[:end, end - 1])
            for start in np.flatnonzero(reached == table.best[state]).tolist():
                yield move, (start, move.itself, *left)
