"""Try every chain of stages: slow, obvious, and what dynamic programming must agree with.

Twin of `evener.plan.chain` and `evener.plan.pareto`. Of the teams that take the same cores for the
same blocks, one that another beats in every figure is left out: at many clocks most are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, inf
from typing import Final

from evener.errors import InputError
from evener.plan.count import full_configurations
from evener.plan.feasible import check_possible, no_chain
from evener.plan.pareto import not_beaten
from evener.plan.problem import CREDIT_SLACK, PAPER_STAGES, Problem
from evener.plan.steps import Chain, Step
from evener.plan.teams import Team

MOST_CHAINS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Option:
    """A stage, and what it costs.

    Attributes:
        step: the stage.
        period_s: seconds between two frames.
        credits: frames held.
        energy_j: joules per frame beyond the idle machine's; inf where they are not known.
    """

    step: Step
    period_s: float
    credits: int
    energy_j: float


_Figures = Callable[[_Option], tuple[float, ...]]  # all the better the less they are
_Options = dict[tuple[int, int, int], dict[tuple[int, ...], list[_Option]]]


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
    found = _possible(problem, stages, figures=lambda each: (each.period_s, each.credits))
    if not found:
        raise no_chain(problem, stages)
    chains: list[Chain] = []
    for chain in sorted(found, key=lambda each: (each.credits, each.period_s)):
        if not chains or chain.period_s < chains[-1].period_s:
            chains.append(chain)
    return tuple(chains)


def pareto_front(problem: Problem, *, stages: int | None = None) -> tuple[Chain, ...]:
    """Find every plan that no other beats in period, latency and energy, as `pareto.front`."""
    found = _possible(
        problem, stages, figures=lambda each: (each.period_s, each.credits, each.energy_j)
    )
    if not found:
        raise no_chain(problem, stages)
    return not_beaten(found)


def thriftiest(
    problem: Problem,
    *,
    stages: int | None,
    max_period_s: float,
    max_credits: int | None = None,
) -> Chain | None:
    """Find the plan that adds least to the idle machine's energy, as `pareto.thriftiest`."""
    found = _possible(
        problem,
        stages,
        figures=lambda each: (each.credits, each.energy_j),
        within=lambda each: each.period_s <= max_period_s and each.energy_j < inf,
    )
    least = min(
        (
            (each.energy_j - problem.idle_w * each.period_s, each.credits, number)
            for number, each in enumerate(found)
            if max_credits is None or each.credits <= max_credits
        ),
        default=None,
    )
    return None if least is None else found[least[-1]]


def _possible(
    problem: Problem,
    stages: int | None,
    *,
    figures: _Figures,
    within: Callable[[_Option], bool] = lambda option: option.period_s < inf,
) -> list[Chain]:
    """Return every chain of stages that others do not beat.

    Args:
        problem: what to plan.
        stages: exactly so many stages; any number if None.
        figures: what a stage is judged by.
        within: which stages may be used.

    Raises:
        InfeasibleError: there is none, whatever the times.
        InputError: there are more than a million chains to try.
    """
    stages = PAPER_STAGES if problem.paper else stages
    check_possible(problem, stages)
    usages = {team.usage: team for team in problem.teams}
    _check_count(problem, list(usages.values()))
    options = _options(problem, figures, within)
    choices = {
        usage: max(len(each.get(usage, ())) for each in options.values()) for usage in usages
    }
    _check_count(problem, [usages[usage] for usage, most in choices.items() for _ in range(most)])
    return [
        _chain(problem, steps)
        for steps in _led_up_to(problem, options, problem.blocks, 0, problem.grains)
        if stages is None or len(steps) == stages
    ]


def _check_count(problem: Problem, teams: list[Team]) -> None:
    chains_to_try = full_configurations(replace(problem, teams=tuple(teams)))
    if chains_to_try > MOST_CHAINS:
        raise InputError(
            f"trying all {chains_to_try} plans of {problem.blocks} blocks would take too long: the "
            f"method 'exhaustive' tries up to {MOST_CHAINS}. Take the method 'dp', which finds the "
            "same plan, or allow fewer processors"
        )


def _options(problem: Problem, figures: _Figures, within: Callable[[_Option], bool]) -> _Options:
    """List the stages worth trying, by first block, last block and receiver, and by usage."""
    found: _Options = {}
    for first, last, receiver in product(
        range(problem.blocks), range(problem.blocks), range(len(problem.receivers))
    ):
        by_usage = found.setdefault((first, last, receiver), {})
        for team in problem.teams if first <= last else ():
            option = _option(problem, Step(first, last, team, receiver))
            others = by_usage.setdefault(team.usage, [])
            if within(option) and not any(_beats(figures, other, option) for other in others):
                others[:] = [other for other in others if not _beats(figures, option, other)]
                others.append(option)
    return found


def _beats(figures: _Figures, one: _Option, other: _Option) -> bool:
    return all(mine <= its for mine, its in zip(figures(one), figures(other), strict=True))


def _led_up_to(
    problem: Problem, options: _Options, end: int, receiver: int, grains: tuple[int, ...]
) -> Iterator[tuple[_Option, ...]]:
    """Yield every way to run the blocks before an end and hand on to a receiver."""
    if end == 0:
        yield ()
        return
    for first in range(end):
        for usage, alike in options[first, end - 1, receiver].items():
            left = tuple(have - take for have, take in zip(grains, usage, strict=True))
            if min(left) < 0 or not alike:
                continue
            itself = problem.receiver(alike[0].step.team)
            for before in _led_up_to(problem, options, first, itself, left):
                for option in alike:
                    yield *before, option


def _chain(problem: Problem, options: tuple[_Option, ...]) -> Chain:
    period_s = max(option.period_s for option in options)
    return Chain(
        tuple(option.step for option in options),
        period_s,
        sum(option.credits for option in options),
        sum(option.energy_j for option in options) + problem.idle_w * period_s,
    )


def _option(problem: Problem, step: Step) -> _Option:
    places = [(index, step.first_block, step.last_block) for index, _ in step.team.lanes]
    times_s = [problem.lane_s(step.team, *place, step.receiver) for place in places]
    counts = [count for _, count in step.team.lanes]
    stateful = problem.stateful_BE is not None and bool(
        problem.stateful_BE[step.first_block, step.last_block]
    )
    if inf in times_s or (stateful and sum(counts) > 1):
        return _Option(step, inf, credits=0, energy_j=inf)
    lanes_hz = [count / time_s for count, time_s in zip(counts, times_s, strict=True)]
    held = [ceil(max(times_s) / time_s - CREDIT_SLACK) for time_s in times_s]
    whole = (step.first_block, step.last_block) == (0, problem.blocks - 1)
    waiting = int(max(times_s) > min(times_s) and not whole)
    energy_j = inf
    if problem.energies_j_CBE is not None:  # frames go to each lane as often as it is free
        energies_j = [float(problem.energies_j_CBE[place]) for place in places]
        powers_w = [hz * each_j for hz, each_j in zip(lanes_hz, energies_j, strict=True)]
        energy_j = sum(powers_w) / sum(lanes_hz)
    return _Option(
        step,
        1 / sum(lanes_hz),
        sum(count * each for count, each in zip(counts, held, strict=True)) + waiting,
        energy_j,
    )
