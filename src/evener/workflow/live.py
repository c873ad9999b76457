"""Try the most promising plans against each other on the machine, and keep the winner.

Isolated times know nothing of what two stages do to each other's caches and memory, so the last
word belongs to a short interleaved run under load.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from statistics import median, quantiles
from typing import Final

import msgspec

from evener.artifacts.plan import Measured, Plan
from evener.artifacts.trace import Trace
from evener.run.compare import TURNS, paired_ratio
from evener.runtime.session import Array
from evener.workflow.opened import Opened
from evener.workflow.race import entrant, race, without_those_too_big

_TRIALS: Final = 2  # at most
_TRIAL_S: Final = 60.0  # about the longest, while rounds can be left out
_ROUNDS: Final = (4, 9)  # of a trial; three of four must speak for a pipeline
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

    Raises:
        InfeasibleError: a plan does not fit in memory.
    """
    entrants = {name: entrant(opened, plan) for name, plan in plans.items()}
    return race(entrants, frames, rounds=rounds, seed=seed)


def choose_live(
    opened: Opened,
    plans: Sequence[Plan],
    frames: Sequence[tuple[Array, ...]],
    *,
    max_latency_s: float | None = None,
) -> Plan:
    """Return the plan that does best on the machine itself, with what it reached.

    The best has the highest median rate (objective "latency": the lowest median latency); of
    plans within one per cent of it, the one with the lowest latency, then the fewest stages. A
    pipeline that does not keep up with copies or a single processor in three of four rounds is out.
    Where some keep a latency limit here, the others are out. What does not fit in memory is too.
    A trial that contradicts the prediction may have met a noisy second: it is run once more.

    Args:
        opened: the network.
        plans: the candidates, the most promising first; they keep their own objective.
        frames: what they run on.
        max_latency_s: longest 99th percentile of the latency that is wished for, in seconds.

    Raises:
        InfeasibleError: none of them fits in memory.
    """
    entrants = {str(index): entrant(opened, plan) for index, plan in enumerate(plans)}
    able, _ = without_those_too_big(entrants)
    tried = {name: plans[int(name)] for name in able or entrants}
    rounds = rounds_within(_TRIAL_S, list(tried.values()))
    return best_of_trials(
        tried,
        lambda seed: race(able or entrants, frames, rounds=rounds, seed=seed),
        max_latency_s=max_latency_s,
    )


def rounds_within(seconds: float, plans: Sequence[Plan]) -> int:
    """Return how often each plan runs in a trial: 4 to 9 times, as there is time for.

    Args:
        seconds: the time, of which one round more is needed to warm up.
        plans: those that take turns.

    Example:
        >>> from evener.testing.plans import chain
        >>> [rounds_within(seconds, [chain((1, [()]))]) for seconds in (9.0, 30.0, 99.0)]
        [4, 6, 9]
    """
    fewest, most = _ROUNDS
    round_s = sum(TURNS * plan.credits / plan.rate_hz for plan in plans)
    return int(min(most, max(fewest, seconds / round_s - 1)))


def best_of_trials(
    plans: Mapping[str, Plan],
    trial: Callable[[int], Mapping[str, Sequence[Trace]]],
    *,
    max_latency_s: float | None = None,
) -> Plan:
    """Return the plan that does best, after a second trial if the first upset the prediction.

    Args:
        plans: by name, the one of the best prediction first.
        trial: runs them all, in orders drawn from the seed; returns the rounds of each by name.
        max_latency_s: as for `choose_live`.
    """
    rounds: dict[str, list[Trace]] = {name: [] for name in plans}
    promising = next(iter(plans))
    for seed in range(_TRIALS):
        for name, found in trial(seed).items():
            rounds[name] += found
        tried = {
            name: msgspec.structs.replace(
                plan, measured=summarise(rounds[name], rivals=len(plans) - 1)
            )
            for name, plan in plans.items()
        }
        best = best_measured(list(tried.values()), max_latency_s=max_latency_s)
        best = _surely_best(best, tried, rounds, max_latency_s)
        if best is tried[promising]:
            break
    return best


def _surely_best(
    best: Plan,
    tried: Mapping[str, Plan],
    rounds: Mapping[str, Sequence[Trace]],
    max_latency_s: float | None,
) -> Plan:
    """Return the best plan, or one without stages behind one another where it hardly beats that.

    Of several plans the one that looks best in a short trial was partly lucky. A pipeline is to be
    no worse than copies: it is taken where it keeps up in three of four rounds.
    """
    plain = {name: plan for name, plan in tried.items() if len(plan.stages) == 1}
    if best.objective == "latency" or len(best.stages) == 1 or not plain:
        return best
    rival = best_measured(list(plain.values()), max_latency_s=max_latency_s)
    late = rival.measured is not None and rival.measured.latency_p99_s > (max_latency_s or inf)
    if late:
        return best
    (own,) = (name for name, plan in tried.items() if plan is best)
    (other,) = (name for name, plan in tried.items() if plan is rival)
    keeps_up = paired_ratio(rounds[own], rounds[other]).low >= 1 - TIE
    return best if keeps_up else rival


def best_measured(plans: Sequence[Plan], *, max_latency_s: float | None = None) -> Plan:
    """Return the best of some measured plans by their own objective.

    Args:
        plans: each with `measured` set.
        max_latency_s: if some have a 99th percentile of the latency of at most this, the others
            are out; if none has, the one that comes nearest is the best.
    """
    measured = [(plan, plan.measured) for plan in plans if plan.measured is not None]
    if max_latency_s is not None:
        kept = [entry for entry in measured if entry[1].latency_p99_s <= max_latency_s]
        measured = kept or [min(measured, key=lambda entry: entry[1].latency_p99_s)]

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
