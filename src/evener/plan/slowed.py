"""Plan for a machine some of whose cores are lost, or slower than they were profiled.

The planner takes the cores of a processor for interchangeable, so those that are slower by one
factor become a processor of their own, with the profile's times multiplied.
"""

from collections.abc import Mapping
from itertools import product
from math import isinf

import msgspec

from evener.artifacts.plan import Asked, Objective, Plan, Unit
from evener.artifacts.processors import Processor
from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError
from evener.plan.decide import make_plan
from evener.plan.memory import limit_memory


def plan_what_is_left(
    profile: Profile,
    slowdowns: Mapping[Unit, float],
    *,
    objective: Objective = "throughput",
    asked: Asked | None = None,
) -> Plan | None:
    """Find the best plan while some cores are lost or slow.

    A lane that would lie across cores of different slow-downs is not considered. Limits of memory
    hold in any case; where no plan keeps those of rate, latency and energy any more, the one that
    misses them least is taken, and its `misses` say so.

    Args:
        profile: times of the network on the whole machine.
        slowdowns: times over the profile's, by core or device; inf for what is lost.
        objective: what the plan is to be best at.
        asked: the limits that it is to keep; None for none.

    Returns:
        A plan whose predictions hold the slow-downs; None if what is left runs no plan.
    """
    asked = Asked() if asked is None else asked
    left, names = slow_down(limit_memory(profile, asked.memory), slowdowns)
    if not left.machine.processors:
        return None
    try:
        plan = make_plan(
            left,
            objective=objective,
            min_rate_hz=asked.min_rate_hz,
            max_latency_s=asked.max_latency_s,
            max_energy_j=asked.max_energy_j,
            or_nearest=True,
        )
    except InfeasibleError:
        return None
    stages = tuple(
        msgspec.structs.replace(
            stage,
            lanes=tuple(
                msgspec.structs.replace(lane, processor=names[lane.processor])
                for lane in stage.lanes
            ),
        )
        for stage in plan.stages
    )
    return msgspec.structs.replace(plan, stages=stages, asked=None if asked == Asked() else asked)


def slow_down(profile: Profile, slowdowns: Mapping[Unit, float]) -> tuple[Profile, dict[str, str]]:
    """Return the profile of what is left, and the real name of each processor in it.

    Args:
        profile: times of the network on the whole machine.
        slowdowns: times over the profile's, by core or device; inf for what is lost.
    """
    kinds = {one.name: _kinds(one, slowdowns) for one in profile.machine.processors}
    names = {kind.name: name for name, found in kinds.items() for kind, _ in found}
    segments = tuple(
        msgspec.structs.replace(
            segment,
            processor=kind.name,
            median_s=segment.median_s * factor,
            low_s=segment.low_s * factor,
            high_s=segment.high_s * factor,
        )
        for segment in profile.segments
        for kind, factor in kinds[segment.processor]
    )
    transfers = tuple(
        msgspec.structs.replace(one, sender=sender.name, receiver=receiver.name)
        for one in profile.hand_off.transfers
        for (sender, _), (receiver, _) in product(
            kinds.get(one.sender, ()), kinds.get(one.receiver, ())
        )
    )
    contention = tuple(
        msgspec.structs.replace(one, processor=kind.name)
        for one in profile.contention
        for kind, _ in kinds.get(one.processor, ())
    )
    processors = tuple(kind for found in kinds.values() for kind, _ in found)
    left = msgspec.structs.replace(
        profile,
        machine=msgspec.structs.replace(profile.machine, processors=processors),
        segments=segments,
        hand_off=msgspec.structs.replace(profile.hand_off, transfers=transfers),
        contention=contention,
    )
    return left, names


def _kinds(processor: Processor, slowdowns: Mapping[Unit, float]) -> list[tuple[Processor, float]]:
    """Divide a processor by the slow-down of its cores, each part with its factor.

    The cores that are left share the processor's memory evenly.
    """
    units: tuple[int | None, ...] = processor.cores or (None,)
    factors = {unit: slowdowns.get((processor.name, unit), 1.0) for unit in units}
    left = sum(not isinf(one) for one in factors.values())
    found = []
    for factor in sorted({one for one in factors.values() if not isinf(one)}):
        cores = tuple(core for core in processor.cores if factors[core] == factor)
        core_sets = tuple(size for size in processor.core_sets if size <= (len(cores) or 1))
        if not core_sets:
            continue  # fewer cores are left than any stage may have
        memory_bytes = processor.memory_bytes
        if memory_bytes is not None:
            memory_bytes = memory_bytes * (len(cores) or 1) // left
        kind = msgspec.structs.replace(
            processor,
            name=processor.name if factor == 1 else f"{processor.name} x{factor:.3f}",
            cores=cores,
            core_sets=core_sets,
            capacity=processor.capacity / factor,
            memory_bytes=memory_bytes,
        )
        found.append((kind, factor))
    return found
