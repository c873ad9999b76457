"""Balance the stages of a pipeline on the machine: move blocks, and let one more frame in.

The times that a plan rests on were taken one after the other, each while the machine was as quick
as it then was, and one stage at a time. So the best cut is often a few blocks from where they say.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import inf
from statistics import median
from typing import Final

import msgspec

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.trace import Trace
from evener.errors import InfeasibleError
from evener.plan.foresee import with_simulated
from evener.plan.manual import Seat, make_manual_plan
from evener.run.compare import TURNS, paired_ratio
from evener.runtime.session import Array
from evener.workflow.live import TIE, best_measured, rounds_within, summarise
from evener.workflow.opened import Opened, Progress
from evener.workflow.race import entrant, race, without_those_too_big

Rounds = Mapping[str, Sequence[Trace]]
Trial = Callable[[Mapping[str, Plan], int, int], Rounds]

_STEPS: Final = (1, 2, 3)  # blocks that are moved at once
_MOVES: Final = 6  # at most
_SPARES: Final = 2  # plans with a spare frame that are worth a trial
_TRIAL_S: Final = 40.0  # about the longest, of one move
_ROUNDS: Final = 5  # fewest of a trial, that to warm up included


def can_shift(plan: Plan) -> bool:
    """Return whether a plan has stages, each one session in f32, between which blocks can move."""
    return (
        plan.objective == "throughput"
        and len(plan.stages) > 1
        and all(
            len(stage.lanes) == len(lane.parts) == 1
            and lane.clock_hz is None
            and lane.parts[0].precision == "f32"
            for stage in plan.stages
            for lane in stage.lanes
        )
    )


def shift(
    opened: Opened,
    profile: Profile,
    plan: Plan,
    frames: Sequence[tuple[Array, ...]],
    *,
    max_latency_s: float | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Return the quickest plan that moving blocks from stage to stage leads to on the machine.

    Args:
        opened: the network.
        profile: its times; one in another place must have them.
        plan: one that `can_shift`.
        frames: what it runs on.
        max_latency_s: as for `choose_live`.
        progress: told what is being done.
    """

    def trial(plans: Mapping[str, Plan], rounds: int, number: int) -> Rounds:
        entrants = {name: entrant(opened, one) for name, one in plans.items()}
        able, _ = without_those_too_big(entrants)
        if "now" not in able:
            return {}  # whoever tries the plan says so
        if progress is not None:
            progress("moving blocks between stages", number, _MOVES)
        return race(able, frames, rounds=rounds, seed=number)

    return best_shift(profile, plan, trial, max_latency_s=max_latency_s)


def best_shift(
    profile: Profile, plan: Plan, trial: Trial, *, max_latency_s: float | None = None
) -> Plan:
    """Return the quickest plan that moving blocks from stage to stage leads to.

    Args:
        profile: times of segments.
        plan: one that `can_shift`.
        trial: runs plans by name, the present one "now", for so many rounds; the last argument is
            the number of the trial. It returns the rounds of each that fits in memory.
        max_latency_s: as for `choose_live`.
    """
    rounds = trial({"now": plan}, 1, 0)
    name = "now"
    for move in range(1, _MOVES + 1):
        if name not in rounds:
            break
        rivals = shifted(profile, plan, stage_times_s(rounds[name]))
        if not rivals:
            break
        plans = {"now": plan} | {str(number): one for number, one in enumerate(rivals)}
        rounds = trial(plans, rounds_within(_TRIAL_S, list(plans.values())), move)
        name = _best({one: plans[one] for one in rounds}, rounds, max_latency_s)
        if name == "now":
            break
        plan = plans[name]
    return plan


def shifted(profile: Profile, plan: Plan, times_s: Sequence[float]) -> tuple[Plan, ...]:
    """Return plans with less for the stage that takes longest, the most promising first.

    Args:
        profile: what is known of other segments.
        plan: one that `can_shift`.
        times_s: what each stage takes.

    Returns:
        One at least, if there is any, and no more than there is time to try.
    """
    slowest = max(range(len(times_s)), key=times_s.__getitem__)
    cuts = [stage.last_block for stage in plan.stages[:-1]]
    moves = [
        (cut, moved)
        for cut, way, neighbour in ((slowest - 1, 1, slowest - 1), (slowest, -1, slowest + 1))
        if 0 <= cut < len(cuts) and times_s[neighbour] < times_s[slowest]
        for moved in (way * step for step in _STEPS)
    ]
    found: list[tuple[float, Plan]] = []
    for cut, moved in moves:
        other = _moved(profile, plan, cut, moved)
        if other is None:
            continue
        likely_s = max(
            measured * new.period_s / old.period_s
            for measured, new, old in zip(times_s, other.stages, plan.stages, strict=True)
        )
        found.append((likely_s, other))
    found.sort(key=lambda one: one[0])
    turn_s = TURNS * plan.credits / plan.rate_hz
    most = max(1, int(_TRIAL_S / (_ROUNDS * turn_s)) - 1)
    return tuple(one for _, one in found[:most])


def with_spare(
    profile: Profile, plan: Plan, *, max_latency_s: float | None = None
) -> tuple[Plan, ...]:
    """Return plans with one more frame in flight than lanes, the most promising first.

    Where each lane holds one frame, a lane that was quick waits for one that was slow. One more
    frame waits between them instead. It makes answers late only where it has to wait for long: not
    behind a stage that takes longer than those after it, so blocks are moved to the front too.

    Args:
        profile: what is known of segments.
        plan: one that `can_shift`.
        max_latency_s: longest 99th percentile of the latency in simulated time; None for any.
    """
    moved = (
        _moved(profile, plan, cut, step) for cut in range(len(plan.stages) - 1) for step in _STEPS
    )
    found = []
    for one in (plan, *moved):
        if one is None:
            continue
        fuller = with_simulated(msgspec.structs.replace(one, credits=one.credits + 1), profile)
        simulated = fuller.simulated
        if simulated is None or simulated.latency_p99_s > (max_latency_s or inf):
            continue
        # Frames wait for less than all credits say: that bound would refuse what keeps the limit.
        latency_s = min(fuller.credits / fuller.rate_hz, simulated.latency_p99_s)
        plain = msgspec.structs.replace(fuller, latency_s=latency_s, simulated=None)
        found.append((simulated.rate_hz, plain))
    found.sort(key=lambda each: -each[0])
    return tuple(one for _, one in found[:_SPARES])


def _moved(profile: Profile, plan: Plan, cut: int, step: int) -> Plan | None:
    """Return a plan with a cut some blocks further on; None where there can be none."""
    cuts = [stage.last_block for stage in plan.stages[:-1]]
    cuts[cut] += step
    if any(after <= before for before, after in pairwise([-1, *cuts, len(profile.blocks) - 1])):
        return None
    seats = [
        Seat(lane.processor, len(lane.cores) or None)
        for stage in plan.stages
        for lane in stage.lanes
    ]
    try:
        other = make_manual_plan(profile, cuts=cuts, seats=seats)
    except InfeasibleError:  # what would run between these cuts is no segment
        return None
    return msgspec.structs.replace(
        other, objective=plan.objective, method=plan.method, asked=plan.asked
    )


def stage_times_s(traces: Sequence[Trace]) -> list[float]:
    """Return what each stage took in some rounds of a pipeline of one lane a stage, in seconds."""
    return [
        median(stage.median_s for stage in stages)
        for stages in zip(*(trace.stages for trace in traces), strict=True)
    ]


def _best(plans: Mapping[str, Plan], rounds: Rounds, max_latency_s: float | None) -> str:
    """Return the name of the plan to go on with: "now" unless another gains, or keeps the limit."""
    if not plans:
        return "now"
    found = {name: summarise(rounds[name], rivals=len(plans) - 1) for name in plans}
    measured = {
        name: msgspec.structs.replace(plan, measured=found[name]) for name, plan in plans.items()
    }
    best = best_measured(list(measured.values()), max_latency_s=max_latency_s)
    (name,) = (name for name, plan in measured.items() if plan is best)
    late = max_latency_s is not None and found["now"].latency_p99_s > max_latency_s
    gained = paired_ratio(rounds[name], rounds["now"]).median >= 1 + TIE
    return name if late or gained else "now"
