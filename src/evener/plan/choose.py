"""Choose a plan: the best by one objective, within limits, of those that no other beats."""

from collections.abc import Callable
from dataclasses import dataclass
from math import floor
from typing import Final, Literal

from evener.artifacts.plan import Objective
from evener.plan import chain, exhaustive, pareto
from evener.plan.limits import Limits
from evener.plan.pareto import ROUNDING
from evener.plan.problem import Problem
from evener.plan.steps import Chain

Method = Literal["dp", "exhaustive"]


@dataclass(frozen=True, slots=True)
class _Solver:
    """One way to search.

    Attributes:
        front: the shortest period for each number of credits.
        pareto_front: what no plan beats in period, latency and energy.
        thriftiest: the least energy within a period and credits.
    """

    front: Callable[..., tuple[Chain, ...]]
    pareto_front: Callable[..., tuple[Chain, ...]]
    thriftiest: Callable[..., Chain | None]


_SOLVERS: Final[dict[Method, _Solver]] = {
    "dp": _Solver(chain.front, pareto.front, pareto.thriftiest),
    "exhaustive": _Solver(exhaustive.front, exhaustive.pareto_front, exhaustive.thriftiest),
}


def choose(
    problem: Problem,
    *,
    objective: Objective,
    method: Method,
    limits: Limits,
    stages: int | None,
    or_nearest: bool = False,
) -> Chain:
    """Find the best plan.

    Args:
        problem: what to plan.
        objective: what counts first. Of equally quick plans ("throughput", "pareto") the thriftier
            is taken; of those of equal latency the quicker; of those of equal energy the quicker.
        method: how to search.
        limits: what it must keep.
        stages: exactly so many stages; any number if None.
        or_nearest: where no plan keeps the limits, take one that misses them least.

    Raises:
        InfeasibleError: no plan keeps the limits, or none exists.
        InputError: too many plans to try them all.
    """
    keep = limits.keep_or_nearest if or_nearest else limits.keep
    solver = _SOLVERS[method]
    if objective == "energy" or limits.max_energy_j is not None:
        chains = keep(solver.pareto_front(problem, stages=stages))
        return min(chains, key=_ORDERS[objective])
    chains = keep(solver.front(problem, stages=stages))
    best = min(chains, key=_ORDERS[objective])
    # The front has one plan for a period; others that are as quick may take less energy.
    thrifty = solver.thriftiest(
        problem,
        stages=stages,
        max_period_s=best.period_s * (1 + ROUNDING),
        max_credits=best.credits if objective == "latency" else _most_credits(limits, best),
    )
    return best if thrifty is None or thrifty.energy_j >= best.energy_j else thrifty


def choose_front(
    problem: Problem, *, method: Method, limits: Limits, stages: int | None
) -> tuple[Chain, ...]:
    """Find the plans within limits that no other beats in rate, latency and energy, quickest first.

    Args:
        problem: what to plan.
        method: how to search.
        limits: what they must keep.
        stages: exactly so many stages; any number if None.

    Raises:
        InfeasibleError: no plan keeps the limits, or none exists.
        InputError: too many plans to try them all.
    """
    return limits.keep(_SOLVERS[method].pareto_front(problem, stages=stages))


def _most_credits(limits: Limits, best: Chain) -> int | None:
    """Return how many frames in flight the latency allows at the period of a plan."""
    if limits.max_latency_s is None:
        return None
    return max(best.credits, floor(limits.max_latency_s / best.period_s))


def _by_rate(each: Chain) -> tuple[float, ...]:
    return _rounded(each.period_s), _rounded(each.energy_j), each.credits


def _by_latency(each: Chain) -> tuple[float, ...]:
    return _rounded(each.latency_s), _rounded(each.period_s), each.energy_j


def _by_energy(each: Chain) -> tuple[float, ...]:
    return _rounded(each.energy_j), _rounded(each.period_s), each.credits


def _rounded(figure: float) -> float:
    """Make figures that differ by rounding alone the same, so that the next one decides."""
    return float(f"{figure:.9g}")


_ORDERS: Final[dict[Objective, Callable[[Chain], tuple[float, ...]]]] = {
    "throughput": _by_rate,
    "pareto": _by_rate,
    "latency": _by_latency,
    "energy": _by_energy,
}
