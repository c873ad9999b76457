"""List the plans worth measuring live, because a prediction is not a measurement."""

from collections.abc import Sequence

from evener.artifacts.plan import Plan, PlanKind
from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError, InputError
from evener.plan import chain
from evener.plan.baselines import BASELINES, baseline
from evener.plan.bound import find_bound
from evener.plan.limits import Limits
from evener.plan.problem import make_problem
from evener.plan.record import make_record
from evener.plan.steps import Chain, Step


def candidates(
    profile: Profile,
    *,
    best: int,
    max_latency_s: float | None = None,
    processors: Sequence[str] | None = None,
) -> tuple[Plan, ...]:
    """Return plans worth measuring live.

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
    limits = Limits(max_latency_s=max_latency_s)
    front = limits.keep(chain.front(problem))
    by_stages = filter(limits.keeps, chain.quickest_by_stages(problem))
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
