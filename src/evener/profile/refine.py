"""Time the segments that a plan wants to use and that so far are estimates."""

import time
from collections.abc import Iterable, Mapping

import msgspec

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Execution, Profile, SegmentTime
from evener.errors import InputError
from evener.network.blocks import Blocks
from evener.network.model import Network
from evener.network.split import segment_model
from evener.profile.energy import Meter, Metering
from evener.profile.segments import ModelOf, Place, Progress, time_segments
from evener.profile.timing import Clock, Segment
from evener.runtime.session import Runtime

_Key = tuple[int, int, str, int, str, str, Execution]


def estimated_segments(profile: Profile, plan: Plan) -> tuple[SegmentTime, ...]:
    """Return the estimates of a profile that a plan rests on, each once.

    Args:
        profile: what the plan was made from.
        plan: the plan.
    """
    used = {
        (
            part.first_block,
            part.last_block,
            lane.processor,
            len(lane.cores) or 1,
            part.runtime,
            part.precision,
            part.execution,
        )
        for stage in plan.stages
        for lane in stage.lanes
        for part in lane.parts
    }
    return tuple(
        segment for segment in profile.segments if segment.interpolated and _key(segment) in used
    )


def measure_segments(
    profile: Profile,
    network: Network,
    blocks: Blocks,
    wanted: Iterable[SegmentTime],
    *,
    runtimes: Mapping[str, Runtime],
    variants: Mapping[str, ModelOf] | None = None,
    clock: Clock = time.perf_counter,
    progress: Progress | None = None,
    meter: Meter | None = None,
) -> Profile:
    """Replace times of a profile by measured ones.

    Args:
        profile: what is known so far, of this machine.
        network: the network it is of.
        blocks: how the network is cut.
        wanted: entries of the profile to time, see `estimated_segments`.
        runtimes: by name.
        variants: what makes the model of a segment in other precisions, by precision.
        clock: seconds that never go back.
        progress: is called after each timing.
        meter: meters energies, where the profile knows what the idle machine draws.

    Returns:
        The profile with the wanted times measured; one that its runtime refuses is left out.

    Raises:
        InputError: the profile is of another network, lacks a wanted entry, or names a runtime
            that is not given.
    """
    if (profile.network_sha256, profile.blocks) != (network.sha256, blocks.blocks):
        raise InputError(
            f"the profile is of '{profile.network}' (sha256 {profile.network_sha256[:12]}, "
            f"{len(profile.blocks)} blocks), not of '{network.name}' ({network.sha256[:12]}, "
            f"{len(blocks.blocks)} blocks); profile this network first"
        )
    keys = {_key(segment) for segment in wanted}
    _check(profile, keys, runtimes)
    places: dict[Segment, list[Place]] = {}
    for first, last, processor, cores, runtime, precision, execution in sorted(keys):
        place = Place(profile.machine[processor], cores, runtime, precision, execution)
        places.setdefault((first, last), []).append(place)
    idle_w = profile.machine.idle_w
    measured = time_segments(
        list(places.items()),
        model_of=lambda first, last: segment_model(network, blocks, first, last),
        variants=variants,
        runtimes=runtimes,
        optimisation=profile.optimisation,
        clock=clock,
        progress=progress,
        metering=None if meter is None or idle_w is None else Metering(meter, idle_w),
    )
    fresh = {
        _key(record): record
        for place, times in measured.times.items()
        for segment, timing in times.items()
        for record in [place.record(segment, timing)]
    }
    return msgspec.structs.replace(
        profile,
        segments=tuple(
            fresh.get(_key(segment), segment)
            for segment in profile.segments
            if _key(segment) in fresh or _key(segment) not in keys
        ),
    )


def _key(segment: SegmentTime) -> _Key:
    return (
        segment.first_block,
        segment.last_block,
        segment.processor,
        segment.cores,
        segment.runtime,
        segment.precision,
        segment.execution,
    )


def _check(profile: Profile, keys: set[_Key], runtimes: Mapping[str, Runtime]) -> None:
    missing = sorted(keys - {_key(segment) for segment in profile.segments})
    if missing:
        first, last, processor, cores, runtime, *_ = missing[0]
        raise InputError(
            f"the profile of '{profile.network}' has no time for blocks {first} to {last} in "
            f"{runtime} on {cores} of {processor}; ask for entries that it has"
        )
    absent = sorted({runtime for *_, runtime, _, _ in keys} - set(runtimes))
    if absent:
        raise InputError(
            f"the profile uses the runtime {', '.join(absent)}, and only "
            f"{', '.join(runtimes) or 'none'} can be used here; install it, or profile again"
        )
