"""What is said below the table of a plan: its bound, and how sure its figures are."""

from collections.abc import Iterator
from typing import Final

from evener.artifacts.plan import Measured, Plan, Simulated
from evener.artifacts.profile import Profile
from evener.units import count, show

_FAR: Final = 0.05  # from the bound


def bound(plan: Plan) -> str:
    """Say what no plan exceeds, and by how much of it this one misses it."""
    if plan.gap is None:
        return ""
    times = ", by estimated times" if plan.bound_estimated else ""
    return f" (any plan: at most {show(plan.bound_rate_hz, 'rate')}{times}; gap {plan.gap:.1%})"


def energy(plan: Plan) -> str:
    """Say what a frame takes, where that is known."""
    return "" if plan.energy_j is None else f", {show(plan.energy_j, 'energy')} per frame"


def estimate(one: Plan | Profile) -> Iterator[str]:
    """Say what times are that nobody measured of this network."""
    if one.estimate is not None and one.estimate_error is not None:
        yield f"estimated: {one.estimate}, cross-validated error {one.estimate_error:.0%} a block"
    elif one.estimate is not None:
        yield f"estimated: {one.estimate}"


def simulated(found: Simulated | None) -> str:
    """Say what a plan reached in the simulator."""
    if found is None:
        return "simulated: not yet"
    times = "varying as measured" if found.varied else "that never vary"
    return (
        f"simulated: {show(found.rate_hz, 'rate')}, latency {show(found.latency_p50_s, 'time')} "
        f"(median), {show(found.latency_p99_s, 'time')} (p99); an estimate, by times {times}"
    )


def measured(tried: Measured | None) -> str:
    """Say what a plan reached on the machine itself."""
    if tried is None:
        return "measured: not yet, this is a prediction"
    return (
        f"measured: {show(tried.rate_hz, 'rate')} ({show(tried.rate_low_hz, 'rate')} - "
        f"{show(tried.rate_high_hz, 'rate')}; {count(tried.rounds, 'round')}, "
        f"{count(tried.rivals, 'rival')}), latency {show(tried.latency_p50_s, 'time')} (median), "
        f"{show(tried.latency_p99_s, 'time')} (p99)"
    )


def finer(plan: Plan) -> Iterator[str]:
    """Say how to cut more finely, where stages of a plan for this machine are out of balance."""
    if (
        plan.measured is None
        or plan.objective != "throughput"
        or plan.granularity == "node"
        or plan.gap is None
    ):
        return
    times_s = [stage.period_s for stage in plan.stages]
    if plan.gap > _FAR and min(times_s) < (1 - _FAR) * max(times_s):
        yield (
            f"the stages take unequal times, and {plan.gap:.0%} of the bound is missing: "
            "--granularity node cuts inside blocks too"
        )
