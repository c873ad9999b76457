"""The plans that a pipeline is held against: whole networks on one core set or on several.

All of them are chains of one stage in the space "full", so the best chain is never slower.
"""

from math import inf
from typing import Final, Literal

from evener.errors import InfeasibleError
from evener.plan.problem import Problem
from evener.plan.steps import Chain, Step, make_chain
from evener.plan.teams import CoreSet, Team

Baseline = Literal["single", "all_cores", "copies"]
BASELINES: Final[tuple[Baseline, ...]] = ("single", "all_cores", "copies")


def baseline(problem: Problem, what: Baseline) -> Chain:
    """Return a baseline by name.

    Args:
        problem: what to plan, of the space "full".
        what: "single", one session on the best core set that is less than the machine; "all_cores",
            one session on every core of one processor; "copies", one session per core set, as many
            as fit on each processor that can run the network, all of the size that is best there;
            a network that keeps state from frame to frame has but one, the best.

    Raises:
        InfeasibleError: no core set that it asks for can run the whole network.
    """
    makers = {"single": _single, "all_cores": _all_cores, "copies": _copies}
    teams = makers[what](problem)
    best = min(teams, key=lambda team: _whole_s(problem, team), default=None)
    if best is None or _whole_s(problem, best) == inf:
        names = ", ".join(processor.name for processor in problem.processors)
        raise InfeasibleError(
            f"no plan '{what}': no core set that it could use on {names} has a time for all "
            f"{problem.blocks} blocks in one session. Profile the whole network there",
        )
    return make_chain(problem, [Step(0, problem.blocks - 1, best)])


def _whole_s(problem: Problem, team: Team) -> float:
    return float(problem.period_s(team)[0, problem.blocks - 1])


def _lanes(problem: Problem) -> list[Team]:
    return [team for team in problem.teams if sum(count for _, count in team.lanes) == 1]


def _core_set(problem: Problem, team: Team) -> CoreSet:
    return problem.core_sets[team.lanes[0][0]]


def _single(problem: Problem) -> list[Team]:
    machine = sum(processor.units for processor in problem.processors)
    return [
        team for team in _lanes(problem) if _core_set(problem, team).cores < machine or machine == 1
    ]


def _all_cores(problem: Problem) -> list[Team]:
    return [
        team
        for team in _lanes(problem)
        if _core_set(problem, team).cores
        == problem.processors[_core_set(problem, team).processor].units
    ]


def _copies(problem: Problem) -> list[Team]:
    lanes = _lanes(problem)
    able = {_core_set(problem, team).processor for team in lanes if _whole_s(problem, team) < inf}
    copies = [
        team
        for team in problem.teams
        if sum(count for _, count in team.lanes) > 1
        and {problem.core_sets[index].processor for index, _ in team.lanes} == able
        and all(count == _most_lanes(problem, index) for index, count in team.lanes)
        and _whole_s(problem, team) < inf
    ]
    return copies or lanes


def _most_lanes(problem: Problem, index: int) -> int:
    core_set = problem.core_sets[index]
    return problem.processors[core_set.processor].units // core_set.cores
