"""Try the most promising plans against each other on the machine, and keep the winner.

Isolated times know nothing of what two stages do to each other's caches and memory, so the last
word belongs to a short interleaved run under load.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from statistics import median, quantiles
from typing import Final

import msgspec
import numpy as np

from evener.artifacts.plan import Measured, Plan
from evener.artifacts.trace import Trace
from evener.run.compare import interleave
from evener.run.pipeline import Pipeline
from evener.runtime.session import Array
from evener.workflow.opened import Opened

_FRAMES: Final = 24  # of the quickest plan in a round, if the bounds below allow
_ROUND_S: Final = (0.2, 0.5)  # shortest and longest round of one plan
TIE: Final = 0.01  # rates closer than this are the same within the noise of a short run


def measure_plans(
    opened: Opened,
    plans: Mapping[str, Plan],
    frames: Sequence[tuple[Array, ...]],
    *,
    rounds: int,
    seed: int = 0,
) -> dict[str, list[Trace]]:
    """Run several plans of one network in turn, round by round.

    Args:
        opened: the network.
        plans: by a name of the caller's.
        frames: what they run on, again and again.
        rounds: how often each plan runs.
        seed: what the order within a round is drawn from.

    Returns:
        One trace per round, by name.
    """
    shortest_s, longest_s = _ROUND_S
    quickest_s = min(1 / plan.rate_hz for plan in plans.values())
    with ExitStack() as stack:
        pipelines = {
            name: stack.enter_context(
                Pipeline(
                    plan,
                    opened.segments,
                    inputs=opened.network.inputs,
                    runtimes=opened.runtimes,
                    states=opened.network.states,
                    optimisation=opened.optimisation,
                )
            )
            for name, plan in plans.items()
        }
        return interleave(
            pipelines,
            frames,
            rounds=rounds,
            seconds_per_round=min(longest_s, max(shortest_s, _FRAMES * quickest_s)),
            rng=np.random.default_rng(seed),
        )


def choose_live(
    opened: Opened,
    plans: Sequence[Plan],
    frames: Sequence[tuple[Array, ...]],
    *,
    rounds: int = 9,
) -> Plan:
    """Return the plan that does best on the machine itself, with what it reached.

    The best has the highest median rate (objective "latency": the lowest median latency); of
    plans within one per cent of it, the one with the lowest latency, then the fewest stages.

    Args:
        opened: the network.
        plans: the candidates; they keep their own objective.
        frames: what they run on.
        rounds: how often each runs.
    """
    named = {str(index): plan for index, plan in enumerate(plans)}
    traces = measure_plans(opened, named, frames, rounds=rounds)
    tried = [
        msgspec.structs.replace(plan, measured=summarise(traces[name], rivals=len(plans) - 1))
        for name, plan in named.items()
    ]
    return best_measured(tried)


def best_measured(plans: Sequence[Plan]) -> Plan:
    """Return the best of some measured plans by their own objective.

    Args:
        plans: each with `measured` set.
    """
    measured = [(plan, plan.measured) for plan in plans if plan.measured is not None]

    def latency(entry: tuple[Plan, Measured]) -> tuple[float, int]:
        return entry[1].latency_p50_s, len(entry[0].stages)

    if plans[0].objective == "latency":
        return min(measured, key=latency)[0]
    best_rate = max(found.rate_hz for _, found in measured)
    level = [entry for entry in measured if entry[1].rate_hz >= (1 - TIE) * best_rate]
    return min(level, key=latency)[0]


def summarise(traces: Sequence[Trace], *, rivals: int) -> Measured:
    """Put the rounds of one plan together: medians and quartiles.

    Args:
        traces: one per round.
        rivals: how many other plans ran beside it.
    """
    rates = [trace.rate_hz for trace in traces]
    low, _, high = quantiles(rates, n=4, method="inclusive") if len(rates) > 1 else rates * 3
    return Measured(
        rate_hz=median(rates),
        rate_low_hz=low,
        rate_high_hz=high,
        latency_p50_s=median(trace.latency_p50_s for trace in traces),
        latency_p99_s=median(trace.latency_p99_s for trace in traces),
        rounds=len(traces),
        rivals=rivals,
    )
