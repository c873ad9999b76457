"""Make a plan from a profile: the verb of this folder.

The search is in `chain.py`; this chooses from its front, gives out the cores and fills the record.
"""

from collections.abc import Sequence
from typing import Final, Literal

from evener.artifacts.plan import Objective, Plan, PlanKind
from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError, InputError
from evener.plan import chain, exhaustive
from evener.plan.baselines import Baseline, baseline
from evener.plan.bound import find_bound
from evener.plan.problem import PAPER_STAGES, Space, make_problem
from evener.plan.record import make_record
from evener.plan.steps import Chain, Step
from evener.units import show

Method = Literal["dp", "exhaustive"]
BASELINES: Final[tuple[Baseline, ...]] = ("single", "all_cores", "copies")


def make_plan(
    profile: Profile,
    *,
    objective: Objective = "throughput",
    method: Method = "dp",
    space: Space = "full",
    max_latency_s: float | None = None,
    stages: int | None = None,
    processors: Sequence[str] | None = None,
) -> Plan:
    """Find the best plan of a space.

    Args:
        profile: measured times of the network on the machine.
        objective: "throughput" for most frames per second, of equals the one with fewest frames
            in flight; "latency" for the shortest time from credit to emission.
        method: "dp", or "exhaustive" to try every plan of a small space.
        space: "full", or "paper" for three stages on three different whole processors.
        max_latency_s: only plans with a latency of at most this; no limit if None.
        stages: only plans of so many stages; any number if None.
        processors: names of those that may be used; all if None.

    Returns:
        The plan; `elapsed_s` is left to the caller.

    Raises:
        InfeasibleError: no plan of the space keeps the limits, or none exists.
        InputError: an unknown processor, or another number of stages than the space has.
    """
    problem = make_problem(profile, space=space, processors=processors)
    if problem.paper and stages not in (None, PAPER_STAGES):
        raise InputError(
            f"plans of the space 'paper' have {PAPER_STAGES} stages, not {stages}: leave it out"
        )
    solver = chain if method == "dp" else exhaustive
    chains = _within(solver.front(problem, stages=stages), max_latency_s)
    best = (
        min(chains, key=lambda found: (found.latency_s, found.period_s))
        if objective == "latency"
        else chains[-1]
    )
    return make_record(
        profile,
        problem,
        best,
        what="plan",
        method=method,
        objective=objective,
        bound=find_bound(problem),
    )


def make_baseline(
    profile: Profile, what: Baseline, *, processors: Sequence[str] | None = None
) -> Plan:
    """Make one of the plans that a pipeline is held against.

    Args:
        profile: measured times of the network on the machine.
        what: "single", "all_cores" or "copies".
        processors: names of those that may be used; all if None.

    Raises:
        InfeasibleError: no core set that it asks for can run the whole network.
        InputError: an unknown processor.
    """
    problem = make_problem(profile, processors=processors)
    return make_record(
        profile,
        problem,
        baseline(problem, what),
        what=what,
        method="baseline",
        bound=find_bound(problem),
    )


def candidates(
    profile: Profile,
    *,
    best: int,
    max_latency_s: float | None = None,
    processors: Sequence[str] | None = None,
) -> tuple[Plan, ...]:
    """Return plans worth measuring live, because a prediction is not a measurement.

    They are the best plan for each number of credits, the quickest for each number of stages, and
    the baselines, which no limit leaves out.

    Args:
        profile: measured times of the network on the machine.
        best: at most so many plans beside the baselines; at least 1.
        max_latency_s: only plans with a predicted latency of at most this.
        processors: names of those that may be used; all if None.

    Returns:
        Different plans, highest predicted rate first.

    Raises:
        InfeasibleError: no plan exists or keeps the limit.
        InputError: an unknown processor, or `best` below 1.
    """
    if best < 1:
        raise InputError(f"{best} candidates asked for: at least 1 is needed")
    problem = make_problem(profile, processors=processors)
    front = _within(chain.front(problem), max_latency_s)
    by_stages = (
        found for found in chain.quickest_by_stages(problem) if _keeps(found, max_latency_s)
    )
    chains = sorted((*front, *by_stages), key=lambda found: (found.period_s, found.credits))
    wanted: dict[tuple[Step, ...], tuple[Chain, PlanKind]] = {}
    for what in BASELINES:
        try:
            whole = baseline(problem, what)
        except InfeasibleError:
            continue  # no core set runs the whole network: there is nothing to hold a plan against
        wanted.setdefault(whole.steps, (whole, what))
    most = len(wanted) + best
    for found in chains:
        if len(wanted) < most:
            wanted.setdefault(found.steps, (found, "plan"))
    bound = find_bound(problem)
    plans = [
        make_record(
            profile,
            problem,
            found,
            what=what,
            method="dp" if what == "plan" else "baseline",
            bound=bound,
        )
        for found, what in wanted.values()
    ]
    return tuple(sorted(plans, key=lambda plan: -plan.rate_hz))


def _within(chains: Sequence[Chain], max_latency_s: float | None) -> tuple[Chain, ...]:
    kept = tuple(found for found in chains if _keeps(found, max_latency_s))
    if not kept and max_latency_s is not None:
        shortest = min(chains, key=lambda found: found.latency_s)
        stages = len(shortest.steps)
        raise InfeasibleError(
            f"no plan keeps a latency of {show(max_latency_s, 'time')}: the shortest is "
            f"{show(shortest.latency_s, 'time')}, in {stages} stage{'s' * (stages > 1)}. Allow "
            "more time or further processors",
            needed=max_latency_s,
            available=shortest.latency_s,
        )
    return kept


def _keeps(found: Chain, max_latency_s: float | None) -> bool:
    return max_latency_s is None or found.latency_s <= max_latency_s
