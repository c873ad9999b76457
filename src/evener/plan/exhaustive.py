"""Try every chain of stages: slow, obvious, and what dynamic programming must agree with.

Twin of `evener.plan.chain` and `evener.plan.pareto`.
"""

from collections.abc import Iterator
from math import ceil, inf
from typing import Final

from evener.errors import InputError
from evener.plan.count import full_configurations
from evener.plan.feasible import check_possible, no_chain
from evener.plan.pareto import not_beaten
from evener.plan.problem import CREDIT_SLACK, PAPER_STAGES, Problem
from evener.plan.steps import Chain, Step

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
    chains: list[Chain] = []
    for chain in sorted(
        every_possible(problem, stages=stages), key=lambda each: (each.credits, each.period_s)
    ):
        if not chains or chain.period_s < chains[-1].period_s:
            chains.append(chain)
    return tuple(chains)


def pareto_front(problem: Problem, *, stages: int | None = None) -> tuple[Chain, ...]:
    """Find every plan that no other beats in period, latency and energy, as `pareto.front`."""
    return not_beaten(every_possible(problem, stages=stages))


def thriftiest(
    problem: Problem,
    *,
    stages: int | None,
    max_period_s: float,
    max_credits: int | None = None,
) -> Chain | None:
    """Find the plan that adds least to the idle machine's energy, as `pareto.thriftiest`."""
    within = (
        (each.energy_j - problem.idle_w * each.period_s, each.credits, each)
        for each in every_possible(problem, stages=stages)
        if each.energy_j < inf
        and each.period_s <= max_period_s
        and (max_credits is None or each.credits <= max_credits)
    )
    least = min(within, key=lambda entry: entry[:2], default=None)
    return None if least is None else least[2]


def every_possible(problem: Problem, *, stages: int | None = None) -> list[Chain]:
    """Return every chain that can run.

    Raises:
        InfeasibleError: there is none.
        InputError: there are more than a million chains to try.
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
        chain
        for steps in every_chain(problem, stages=stages)
        if (chain := _chain(problem, steps)).period_s < inf
    ]
    if not found:
        raise no_chain(problem, stages)
    return found


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
            for rest in _continued(problem, last + 1, left):
                receiver = problem.receiver(rest[0].team) if rest else 0
                yield Step(start, last, team, receiver), *rest


def _chain(problem: Problem, steps: tuple[Step, ...]) -> Chain:
    period_s = max(_period_s(problem, step) for step in steps)
    if period_s == inf:
        return Chain(steps, inf, credits=0)
    dynamic_j = sum(_energy_j(problem, step) for step in steps)
    held = sum(_held(problem, step) for step in steps)
    return Chain(steps, period_s, held, dynamic_j + problem.idle_w * period_s)


def _lane_times_s(problem: Problem, step: Step) -> list[float]:
    return [
        problem.lane_s(index, step.first_block, step.last_block, step.receiver)
        for index, count in step.team.lanes
        for _ in range(count)
    ]


def _period_s(problem: Problem, step: Step) -> float:
    times_s = _lane_times_s(problem, step)
    return inf if inf in times_s else 1 / sum(1 / time_s for time_s in times_s)


def _held(problem: Problem, step: Step) -> int:
    times_s = _lane_times_s(problem, step)
    return sum(ceil(max(times_s) / time_s - CREDIT_SLACK) for time_s in times_s)


def _energy_j(problem: Problem, step: Step) -> float:
    """Return the mean over the frames, which go to each lane as often as it is free."""
    energy_j = rate_hz = 0.0
    for index, count in step.team.lanes:
        measured = problem.segments[index, step.first_block, step.last_block]
        if measured.energy_j is None:
            return inf
        lanes_hz = count / problem.lane_s(index, step.first_block, step.last_block, step.receiver)
        energy_j += lanes_hz * measured.energy_j
        rate_hz += lanes_hz
    return energy_j / rate_hz
