"""What a caller asks of a plan, and the plans under a profile that answer it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Literal, TypedDict

import msgspec

from evener.artifacts.plan import Objective, Plan
from evener.artifacts.profile import Profile, SegmentTime
from evener.errors import InfeasibleError
from evener.plan.bound import find_bound
from evener.plan.decide import make_front, make_plan
from evener.plan.memory import limit_memory
from evener.plan.problem import make_problem
from evener.plan.rivals import candidates
from evener.plan.spare import spare_core
from evener.profile.refine import estimated_segments

BEST: Final = 5  # plans tried on the machine
_NEAR: Final = 1.05  # a bound within five per cent of the plan says enough
_RESERVES: Final = (0.85, 0.7)  # of the latency limit, for plans that keep it with some reserve


class LimitChoices(TypedDict, total=False):
    """The fields of `Wish` but the objective, as keyword arguments."""

    method: Literal["dp", "exhaustive"]
    space: Literal["paper", "full"]
    min_rate_hz: float | None
    max_latency_s: float | None
    max_energy_j: float | None
    stages: int | None
    memory: Mapping[str, int]


class WishChoices(LimitChoices, total=False):
    """The fields of `Wish`, as keyword arguments."""

    objective: Objective


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller asks of a plan.

    Attributes:
        method: how the best is found: "dp", or "exhaustive" to check it.
        objective: what it is to be best at; "pareto" for the quickest of those that no other beats.
        space: which plans are considered: "paper" for three non-empty stages on three processors,
            "full" for every plan.
        min_rate_hz: fewest predicted frames per second allowed.
        max_latency_s: longest predicted latency allowed, in seconds.
        max_energy_j: most predicted energy per frame allowed, in joules.
        stages: how many stages it must have; None for any number.
        memory: bytes that a processor's sessions may hold, by its name, in place of what it has.
    """

    method: Literal["dp", "exhaustive"] = "dp"
    objective: Objective = "throughput"
    space: Literal["paper", "full"] = "full"
    min_rate_hz: float | None = None
    max_latency_s: float | None = None
    max_energy_j: float | None = None
    stages: int | None = None
    memory: Mapping[str, int] = {}


def decide(profile: Profile, wish: Wish, processors: Sequence[str] | None = None) -> Plan:
    """Return the best plan under a profile, with the time it took to find."""
    started = time.perf_counter()
    plan = make_plan(
        profile,
        objective=wish.objective,
        method=wish.method,
        space=wish.space,
        min_rate_hz=wish.min_rate_hz,
        max_latency_s=wish.max_latency_s,
        max_energy_j=wish.max_energy_j,
        stages=wish.stages,
        processors=processors,
        memory=wish.memory,
    )
    return msgspec.structs.replace(plan, elapsed_s=time.perf_counter() - started)


def decide_front(
    profile: Profile, wish: Wish, processors: Sequence[str] | None = None
) -> tuple[Plan, ...]:
    """Return the plans that no other beats under a profile, quickest first."""
    return make_front(
        profile,
        method=wish.method,
        space=wish.space,
        min_rate_hz=wish.min_rate_hz,
        max_latency_s=wish.max_latency_s,
        max_energy_j=wish.max_energy_j,
        stages=wish.stages,
        processors=processors,
        memory=wish.memory,
    )


def best_plans(profile: Profile, wish: Wish) -> tuple[Plan, ...]:
    """Return the best plan under a profile and its rivals, if the wish leaves any."""
    if wish.objective == "pareto":
        return decide_front(profile, wish)
    first = decide(profile, wish)
    by_time = wish.objective != "energy" and wish.max_energy_j is None
    if wish.method != "dp" or wish.space != "full" or wish.stages is not None or not by_time:
        return (first,)
    rest = candidates(
        limit_memory(profile, wish.memory), best=BEST, max_latency_s=wish.max_latency_s
    )
    allowed = (
        plan
        for plan in (*_with_spare_core(profile, wish, first), *_with_reserve(profile, wish), *rest)
        if plan.stages != first.stages
        and (wish.max_latency_s is None or plan.latency_s <= wish.max_latency_s)
        and (wish.min_rate_hz is None or plan.rate_hz >= wish.min_rate_hz)
    )
    distinct = {plan.stages: plan for plan in reversed(tuple(allowed))}
    rivals = (
        msgspec.structs.replace(plan, objective=wish.objective, asked=first.asked)
        for plan in reversed(distinct.values())
    )
    return (first, *islice(rivals, BEST - 1))


def _with_reserve(profile: Profile, wish: Wish) -> Iterator[Plan]:
    """Yield the best plans under tighter latency limits, since a frame may take longer than said.

    Where the best plan misses the limit when it is tried, one with some reserve may keep it.
    """
    if wish.max_latency_s is None:
        return
    for reserve in _RESERVES:
        tighter = msgspec.structs.replace(wish, max_latency_s=wish.max_latency_s * reserve)
        try:
            yield decide(profile, tighter)
        except InfeasibleError:
            return


def _with_spare_core(profile: Profile, wish: Wish, first: Plan) -> Iterator[Plan]:
    """Yield the best plan that leaves a core to the thread that feeds the devices, if any."""
    spared = spare_core(profile)
    if spared is None:
        return
    try:
        plan = decide(spared, wish)
    except InfeasibleError:
        return
    yield msgspec.structs.replace(
        plan,  # held against the whole machine, like the first
        bound_rate_hz=first.bound_rate_hz,
        bound_estimated=first.bound_estimated,
        configurations=first.configurations,
    )


def estimates_of_bound(profile: Profile, wish: Wish) -> tuple[SegmentTime, ...]:
    """List the estimates that keep the bound far above the best plan; none if it is near."""
    bound = find_bound(make_problem(limit_memory(profile, wish.memory)))
    if bound.rate_hz <= _NEAR * decide(profile, wish).rate_hz:
        return ()
    return tuple(one for one in bound.segments if one.interpolated)


def interpolated(profile: Profile, plans: Sequence[Plan]) -> tuple[SegmentTime, ...]:
    """List the times that some plans rest on and that nobody has measured, each once."""
    found = (one for plan in plans for one in estimated_segments(profile, plan))
    return tuple(dict.fromkeys(found))
