"""Try every chain of stages: slow, obvious, and what `evener.plan.chain` must agree with."""

from collections.abc import Iterator
from math import ceil, inf
from typing import Final

from evener.errors import InputError
from evener.plan.chain import Chain, Step, check_possible, no_chain
from evener.plan.count import full_configurations
from evener.plan.problem import CREDIT_SLACK, PAPER_STAGES, Problem

MOST_CHAINS: Final = 1_000_000


def front(problem: Problem, *, stages: int | None = None) -> tuple[Chain, ...]:
    """Find for each number of credits the shortest period by trying all chains.

    Takes as many steps as there are configurations (see `evener.plan.count`): for small problems.

    Args:
        problem: what to plan.
        stages: exactly so many stages; any number if None.

    Returns:
        Chains with ever more credits and ever shorter periods.

    Raises:
        InfeasibleError: no chain runs all blocks.
        InputError: there are more than a million chains.
    """
    stages = PAPER_STAGES if problem.paper else stages
    check_possible(problem, stages)
    chains_to_try = full_configurations(problem)
    if chains_to_try > MOST_CHAINS:
        raise InputError(
            f"trying all {chains_to_try} plans of {problem.blocks} blocks would take too long: the "
            f"method 'exhaustive' tries up to {MOST_CHAINS}. Take the method 'dp', which finds the "
            "same plan, or allow fewer processors"
        )
    found = [
        Chain(steps, max(_period_s(problem, step) for step in steps), _held(problem, steps))
        for steps in every_chain(problem, stages=stages)
        if all(_period_s(problem, step) < inf for step in steps)
    ]
    if not found:
        raise no_chain(problem, stages)
    chains: list[Chain] = []
    for chain in sorted(found, key=lambda chain: (chain.credits, chain.period_s)):
        if not chains or chain.period_s < chains[-1].period_s:
            chains.append(chain)
    return tuple(chains)


def every_chain(problem: Problem, *, stages: int | None = None) -> Iterator[tuple[Step, ...]]:
    """Yield each way to cut the blocks into stages and man them, possible or not by its times.

    Args:
        problem: what to plan.
        stages: exactly so many stages; any number if None.
    """
    for steps in _continued(problem, 0, problem.grains):
        if stages is None or len(steps) == stages:
            yield steps


def _continued(problem: Problem, start: int, grains: tuple[int, ...]) -> Iterator[tuple[Step, ...]]:
    if start == problem.blocks:
        yield ()
        return
    for team in problem.teams:
        left = tuple(have - take for have, take in zip(grains, team.usage, strict=True))
        if min(left) < 0:
            continue
        for last in range(start, problem.blocks):
            if not problem.form_segment(start, last):
                continue
            for rest in _continued(problem, last + 1, left):
                receiver = problem.receiver(rest[0].team) if rest else 0
                yield Step(start, last, team, receiver), *rest


def _lane_times_s(problem: Problem, step: Step) -> list[float]:
    return [
        problem.lane_s(index, step.first_block, step.last_block, step.receiver)
        for index, count in step.team.lanes
        for _ in range(count)
    ]


def _period_s(problem: Problem, step: Step) -> float:
    times_s = _lane_times_s(problem, step)
    return inf if inf in times_s else 1 / sum(1 / time_s for time_s in times_s)


def _held(problem: Problem, steps: tuple[Step, ...]) -> int:
    held = 0
    for step in steps:
        times_s = _lane_times_s(problem, step)
        held += sum(ceil(max(times_s) / time_s - CREDIT_SLACK) for time_s in times_s)
    return held
