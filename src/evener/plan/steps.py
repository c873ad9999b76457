"""Stages in order, and what they reach: the value that every solver returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from evener.plan.problem import Problem
from evener.plan.teams import Team


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
        energy_j: joules per frame: those of the stages, and what the idle machine draws in one
            period; inf where some stage's are not known.
    """

    steps: tuple[Step, ...]
    period_s: float
    credits: int
    energy_j: float = inf

    @property
    def latency_s(self) -> float:
        """Seconds from credit to emission."""
        return self.credits * self.period_s


def make_chain(problem: Problem, steps: Sequence[Step]) -> Chain:
    """Add up what some stages reach.

    Args:
        problem: what they solve.
        steps: one or more stages, each able to run its blocks.
    """
    places = [((step.team, step.receiver), (step.first_block, step.last_block)) for step in steps]
    period_s = max(float(problem.period_s(*stage)[place]) for stage, place in places)
    dynamic_j = sum(float(problem.energy_j(*stage)[place]) for stage, place in places)
    return Chain(
        tuple(steps),
        period_s,
        sum(int(problem.credits(*stage)[place]) for stage, place in places),
        dynamic_j + problem.idle_w * period_s,
    )
