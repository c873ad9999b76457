"""Time segments at places, one session at a time, and note what a runtime refuses.

A big network takes hundreds of MB, so no two sessions are open at once. A segment is timed at all
places in a row, so that a machine that grows slower meanwhile does so for all of them.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from evener.artifacts.processors import Machine, Processor
from evener.artifacts.profile import Execution, SegmentTime
from evener.errors import InputError, RuntimeFailedError
from evener.profile.energy import Metering
from evener.profile.timing import Clock, Segment, Timing, time_session
from evener.runtime import can_gain_by_branches
from evener.runtime.pinning import pinned
from evener.runtime.session import Optimisation, Runtime
from evener.units import show


class Progress(Protocol):
    """Whoever wants to know how far it is."""

    def __call__(self, done: int, total: int, what: str, /) -> None:
        """Take note that so many of all timings are done, and what the last one was."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where a segment can be timed.

    Attributes:
        processor: the processor.
        cores: how many of its cores; 1 for a device.
        runtime: name of the runtime.
        precision: element type it computes in.
        execution: how branches are computed.
    """

    processor: Processor
    cores: int
    runtime: str
    precision: str = "f32"
    execution: Execution = "sequential"

    def __str__(self) -> str:
        """Name it for people, such as "onnxruntime on 2 cores of cpu0"."""
        cores = f"{self.cores} core{'s' * (self.cores > 1)} of " * bool(self.processor.cores)
        branches = ", branches at once" * (self.execution == "parallel")
        bits = f" in {self.precision}" * (self.precision != "f32")
        return f"{self.runtime}{bits} on {cores}{self.processor.name}{branches}"

    @property
    def pinned(self) -> tuple[int, ...]:
        """The logical CPUs that its threads are pinned to; none for a device."""
        return self.processor.cores[: self.cores]

    def record(self, segment: Segment, timing: Timing) -> SegmentTime:
        """Write down a time of a segment at this place."""
        return SegmentTime(
            first_block=segment[0],
            last_block=segment[1],
            processor=self.processor.name,
            cores=self.cores,
            runtime=self.runtime,
            precision=self.precision,
            execution=self.execution,
            median_s=timing.median_s,
            low_s=timing.low_s,
            high_s=timing.high_s,
            repeats=timing.repeats,
            interpolated=timing.repeats == 0,
            energy_j=timing.energy_j,
        )


ModelOf = Callable[[int, int], bytes]
"""Makes the ONNX model of the blocks from a first to a last one."""
Wanted = Sequence[tuple[Segment, Sequence[Place]]]
"""Segments, and where to time each."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found out.

    Attributes:
        times: by place and segment.
        refusals: why a runtime would not run a segment, by place and segment.
    """

    times: Mapping[Place, Mapping[Segment, Timing]]
    refusals: Mapping[Place, Mapping[Segment, RuntimeFailedError]]


def find_places(machine: Machine, runtimes: Mapping[str, Runtime]) -> tuple[Place, ...]:
    """List every core set of a machine with each runtime that can use it.

    Raises:
        InputError: there is none.
    """
    places = tuple(
        Place(processor, cores, name)
        for processor in machine.processors
        for name in processor.runtimes
        if name in runtimes
        for cores in processor.core_sets
    )
    if not places:
        raise InputError(
            f"none of the runtimes {', '.join(runtimes) or '(none given)'} can use a processor of "
            f"{machine.host} ({', '.join(p.name for p in machine.processors)}); find the "
            "processors again with the runtimes that are to be timed"
        )
    return places


def branching_places(places: Sequence[Place]) -> tuple[Place, ...]:
    """List the places again where computing branches at once may be quicker, with that execution.

    Args:
        places: with sequential execution.
    """
    return tuple(
        replace(place, execution="parallel")
        for place in places
        if can_gain_by_branches(place.runtime, place.cores)
    )


def time_segments(
    wanted: Wanted,
    *,
    model_of: ModelOf,
    variants: Mapping[str, ModelOf] | None = None,
    runtimes: Mapping[str, Runtime],
    optimisation: Optimisation,
    clock: Clock,
    progress: Progress | None = None,
    metering: Metering | None = None,
) -> Measured:
    """Time segments, each at some places.

    The calling thread is pinned meanwhile, and where it could run before is restored.

    Args:
        wanted: segments, and where to time each.
        model_of: makes the ONNX model of a segment.
        variants: the same in other precisions, by precision.
        runtimes: by name.
        optimisation: graph optimisation level.
        clock: seconds that never go back.
        progress: is called after each timing.
        metering: what meters energies; None if nothing does.

    Returns:
        Times, and a refusal where a runtime cannot run a segment.
    """
    times: defaultdict[Place, dict[Segment, Timing]] = defaultdict(dict)
    refusals: defaultdict[Place, dict[Segment, RuntimeFailedError]] = defaultdict(dict)
    total = sum(len(places) for _, places in wanted)
    done = 0
    for segment, places in wanted:
        models: dict[str, bytes] = {}  # by precision
        for place in places:
            if place.precision not in models:
                make = (variants or {}).get(place.precision, model_of)
                models[place.precision] = make(*segment)
            what = f"blocks {segment[0]} to {segment[1]}, {place}"
            try:
                with pinned(place.pinned):
                    timing = _time(
                        place, runtimes, models[place.precision], optimisation, clock, metering
                    )
            except RuntimeFailedError as error:
                refusals[place][segment] = error
                outcome = f"refused: {error}"
            else:
                times[place][segment] = timing
                outcome = show(timing.median_s, "time")
            done += 1
            if progress is not None:
                progress(done, total, f"{what}: {outcome}")
    return Measured(times, refusals)


def _time(
    place: Place,
    runtimes: Mapping[str, Runtime],
    model: bytes,
    optimisation: Optimisation,
    clock: Clock,
    metering: Metering | None,
) -> Timing:
    session = runtimes[place.runtime].open(
        model,
        cores=place.pinned,
        precision=place.precision,
        optimisation=optimisation,
        execution=place.execution,
        processor=place.processor.name,
    )
    try:
        return time_session(
            session, clock=clock, throttled=place.processor.share < 1, metering=metering
        )
    finally:
        session.close()
