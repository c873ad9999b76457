"""Make a plan from a profile: the verb of this folder.

The search is in `chain.py` and `pareto.py`, and `choose.py` picks from what they find; this states
the problem and fills the record.
"""

from collections.abc import Mapping, Sequence

from evener.artifacts.plan import Asked, Objective, Plan
from evener.artifacts.profile import Profile
from evener.errors import InputError
from evener.plan.baselines import Baseline, baseline
from evener.plan.bound import find_bound
from evener.plan.choose import Method, choose, choose_front
from evener.plan.limits import Limits, check_energies
from evener.plan.memory import limit_memory
from evener.plan.problem import PAPER_STAGES, Problem, Space, make_problem
from evener.plan.record import make_record


def make_plan(
    profile: Profile,
    *,
    objective: Objective = "throughput",
    method: Method = "dp",
    space: Space = "full",
    min_rate_hz: float | None = None,
    max_latency_s: float | None = None,
    max_energy_j: float | None = None,
    stages: int | None = None,
    processors: Sequence[str] | None = None,
    memory: Mapping[str, int] | None = None,
    or_nearest: bool = False,
) -> Plan:
    """Find the best plan of a space.

    Args:
        profile: measured times of the network on the machine.
        objective: "throughput" for most frames per second, of equals the one of least energy, then
            with fewest frames in flight; "latency" for the shortest time from credit to emission;
            "energy" for fewest joules per frame, those of the idle machine included; "pareto" for
            the first of `make_front`, which is the quickest.
        method: "dp", or "exhaustive" to try every plan of a small space.
        space: "full", or "paper" for three stages on three different whole processors.
        min_rate_hz: only plans of at least so many frames per second; no limit if None.
        max_latency_s: only plans with a latency of at most this; no limit if None.
        max_energy_j: only plans of at most so many joules per frame; no limit if None.
        stages: only plans of so many stages; any number if None.
        processors: names of those that may be used; all if None.
        memory: bytes that the sessions on a processor may hold together, by its name; in place of
            what the profile says.
        or_nearest: where no plan keeps the limits of rate, latency and energy, return one that
            misses them least; its `misses` name them.

    Returns:
        The plan; `elapsed_s` is left to the caller.

    Raises:
        InfeasibleError: no plan of the space keeps the limits, or none exists.
        InputError: an unknown processor, another number of stages than the space has, or energy
            asked for that the profile does not know.
    """
    profile = limit_memory(profile, memory)
    problem = _problem(profile, space, stages, processors)
    if objective == "energy" or max_energy_j is not None:
        check_energies(problem, profile.machine.host)
    best = choose(
        problem,
        objective=objective,
        method=method,
        limits=Limits(min_rate_hz, max_latency_s, max_energy_j),
        stages=stages,
        or_nearest=or_nearest,
    )
    return make_record(
        profile,
        problem,
        best,
        what="plan",
        method=method,
        objective=objective,
        bound=find_bound(problem),
        asked=_asked(min_rate_hz, max_latency_s, max_energy_j, memory),
    )


def make_front(
    profile: Profile,
    *,
    method: Method = "dp",
    space: Space = "full",
    min_rate_hz: float | None = None,
    max_latency_s: float | None = None,
    max_energy_j: float | None = None,
    stages: int | None = None,
    processors: Sequence[str] | None = None,
    memory: Mapping[str, int] | None = None,
) -> tuple[Plan, ...]:
    """Find every plan that no other beats in rate, latency and energy.

    Where the profile knows no energies, these are the plans that none beats in rate and latency.

    Args:
        profile: measured times of the network on the machine.
        method: as for `make_plan`.
        space: as for `make_plan`.
        min_rate_hz: as for `make_plan`.
        max_latency_s: as for `make_plan`.
        max_energy_j: as for `make_plan`.
        stages: as for `make_plan`.
        processors: as for `make_plan`.
        memory: as for `make_plan`.

    Returns:
        The plans, quickest first.

    Raises:
        InfeasibleError: no plan of the space keeps the limits, or none exists.
        InputError: as for `make_plan`.
    """
    profile = limit_memory(profile, memory)
    problem = _problem(profile, space, stages, processors)
    if max_energy_j is not None:
        check_energies(problem, profile.machine.host)
    chains = choose_front(
        problem,
        method=method,
        limits=Limits(min_rate_hz, max_latency_s, max_energy_j),
        stages=stages,
    )
    bound = find_bound(problem)
    asked = _asked(min_rate_hz, max_latency_s, max_energy_j, memory)
    return tuple(
        make_record(
            profile,
            problem,
            each,
            what="plan",
            method=method,
            objective="pareto",
            bound=bound,
            asked=asked,
        )
        for each in chains
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


def _asked(
    min_rate_hz: float | None,
    max_latency_s: float | None,
    max_energy_j: float | None,
    memory: Mapping[str, int] | None,
) -> Asked | None:
    asked = Asked(
        min_rate_hz=min_rate_hz,
        max_latency_s=max_latency_s,
        max_energy_j=max_energy_j,
        memory=dict(memory or {}),
    )
    return None if asked == Asked() else asked


def _problem(
    profile: Profile, space: Space, stages: int | None, processors: Sequence[str] | None
) -> Problem:
    problem = make_problem(profile, space=space, processors=processors)
    if problem.paper and stages not in (None, PAPER_STAGES):
        raise InputError(
            f"plans of the space 'paper' have {PAPER_STAGES} stages, not {stages}: leave it out"
        )
    return problem
