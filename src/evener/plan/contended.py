"""Predict what a plan comes to when its lanes slow one another down.

The search rests on times that were measured alone, under which it is exact. What it finds, and what
that is held against, is predicted again here: in a plan of more than one lane each lane's time is
multiplied by the factor of its processor beside the others. A lane alone is not slowed, nor is one
on as many cores as the machine has. Which of the best plans is the best is then tried.
"""

import msgspec

from evener.artifacts.plan import Lane, Plan
from evener.artifacts.profile import Profile


def contended(plan: Plan, profile: Profile) -> Plan:
    """Return a plan with the times, rate and latency it has beside its own lanes.

    Energy per frame is left as it is but for what the idle machine draws in the longer period.

    Args:
        plan: what was found under the profile's times alone.
        profile: its contention, if that was measured.
    """
    factors = {one.processor: one.factor for one in profile.contention}
    lanes = [lane for stage in plan.stages for lane in stage.lanes]
    if len(lanes) < 2 or not any(lane.processor in factors for lane in lanes):
        return plan

    def slowed(lane: Lane) -> Lane:
        factor = factors.get(lane.processor, 1.0)
        return msgspec.structs.replace(lane, time_s=lane.time_s * factor)

    stages = tuple(
        msgspec.structs.replace(stage, lanes=tuple(map(slowed, stage.lanes)))
        for stage in plan.stages
    )
    period_s = max(stage.period_s for stage in stages)
    longer_s = period_s - 1 / plan.rate_hz
    energy_j = plan.energy_j
    if energy_j is not None:
        energy_j += (profile.machine.idle_w or 0.0) * longer_s
    return msgspec.structs.replace(
        plan,
        stages=stages,
        rate_hz=1 / period_s,
        latency_s=plan.credits * period_s,
        energy_j=energy_j,
    )
