"""Time a network on every core set of a machine, as far as a budget of time allows.

Not every pair of blocks is timed: the whole, every prefix and every suffix are, so that each plan
of two stages rests on measurements; `interpolate.py` estimates the middle ones, and `refine.py`
times those of them that a plan wants to use.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Final

import msgspec

from evener.artifacts.processors import Machine
from evener.artifacts.profile import Block, HandOff, Profile, SegmentTime
from evener.errors import RuntimeFailedError
from evener.network.blocks import Blocks
from evener.network.model import Network
from evener.network.split import segment_model
from evener.network.width import has_branches
from evener.profile.doubt import doubtful
from evener.profile.energy import Meter, Metering, idle_power_w
from evener.profile.hand_off import measure_hand_off
from evener.profile.interpolate import fill_in
from evener.profile.segments import (
    Measured,
    ModelOf,
    Place,
    Progress,
    Wanted,
    branching_places,
    find_places,
    time_segments,
)
from evener.profile.timing import Clock, Formed, Segment, Timing
from evener.runtime.session import Optimisation, Runtime

# What a prefix or suffix costs on average, against the whole network.
_PART_SHARE: Final = 0.6
# How often a time that contradicts others is taken again.
_SECOND_LOOKS: Final = 2
# How much quicker the whole network must be with its branches at once, or they are left at that.
_GAIN: Final = 1.03


def profile_network(
    network: Network,
    blocks: Blocks,
    machine: Machine,
    *,
    runtimes: Mapping[str, Runtime],
    variants: Mapping[str, ModelOf] | None = None,
    optimisation: Optimisation = "all",
    budget_s: float = 60.0,
    hand_off: HandOff | None = None,
    clock: Clock = time.perf_counter,
    progress: Progress | None = None,
    meter: Meter | None = None,
) -> Profile:
    """Time a network on a machine.

    The whole network is timed first. If timing every prefix and suffix would then exceed the
    budget, only those of every second, third, ... cut are timed. A time that contradicts others is
    taken again, and the shorter one counts: a disturbance only adds. A segment that a runtime
    refuses has no time there, and `progress` is told why. Where the network has branches that may
    be quicker at once, the whole of it is timed so too, and its parts if that gains; so it is in
    other precisions.

    Args:
        network: what to time.
        blocks: how it is cut.
        machine: its processors, which nothing else should use meanwhile.
        runtimes: what to time, by name; those that a processor lists are used on it.
        variants: what makes the ONNX model of a segment in other precisions, by precision.
        optimisation: graph optimisation level.
        budget_s: about how long it may take, in seconds; the whole network is always timed.
        hand_off: cost of passing a frame on; measured if None.
        clock: seconds that never go back.
        progress: is called after each timing; the total grows as more is found worth
            timing.
        meter: meters the energy of each segment and the power of the idle machine; a segment
            whose time is estimated is taken to draw as much power as the whole network does.

    Raises:
        InputError: no runtime for any processor.
        RuntimeFailedError: no runtime runs any part of the network.
    """
    count = len(blocks.blocks)
    places = find_places(machine, runtimes)
    idle_w = None if meter is None else idle_power_w(meter)
    metering = None if meter is None or idle_w is None else Metering(meter, idle_w)
    sweep = _Sweep(
        places,
        lambda wanted, tell: time_segments(
            wanted,
            model_of=lambda first, last: segment_model(network, blocks, first, last),
            variants=variants,
            runtimes=runtimes,
            optimisation=optimisation,
            clock=clock,
            progress=tell,
            metering=metering,
        ),
        progress,
        blocks.form_segment,
    )
    start_s = clock()
    sweep.everywhere([(0, count - 1)])
    stride = cut_stride(count - 1, whole_s=clock() - start_s, budget_s=budget_s)
    parts = tuple(prefixes_and_suffixes(count, stride=stride))
    sweep.everywhere(parts)
    if has_branches(network):
        branching = {one: replace(one, execution="sequential") for one in branching_places(places)}
        sweep.where_quicker(branching, whole=(0, count - 1), parts=parts)
    for precision in variants or {}:
        lower = {replace(one, precision=precision): one for one in places}
        sweep.where_quicker(lower, whole=(0, count - 1), parts=parts, shown=True)
    for _ in range(_SECOND_LOOKS):
        if clock() - start_s < budget_s:
            sweep.doubts()
    segments = tuple(sweep.records(blocks.blocks))
    if not segments:
        place, refusal = next(iter(sweep.refusals.items()))
        raise RuntimeFailedError(
            f"no runtime runs any part of '{network.name}' on {machine.host}; {place}: "
            f"{refusal}. Install another runtime, or simplify the network",
            runtime=place.runtime,
        ) from refusal
    return Profile(
        network=network.name,
        network_sha256=network.sha256,
        granularity=blocks.granularity,
        blocks=blocks.blocks,
        machine=msgspec.structs.replace(machine, idle_w=idle_w),
        segments=segments,
        hand_off=hand_off or measure_hand_off(machine, clock=clock),
        optimisation=optimisation,
        max_live=blocks.max_live,
    )


def cut_stride(cuts: int, *, whole_s: float, budget_s: float) -> int:
    """Return of every how many cuts one is timed so that the budget is kept.

    Args:
        cuts: how many there are.
        whole_s: what timing the whole network everywhere took, in seconds.
        budget_s: what all timing may take.

    Example:
        >>> cut_stride(17, whole_s=1.0, budget_s=60.0), cut_stride(17, whole_s=10.0, budget_s=60.0)
        (1, 5)
    """
    left_s = budget_s - whole_s
    if left_s <= 0:
        return max(1, cuts + 1)
    return max(1, min(cuts + 1, ceil(2 * cuts * _PART_SHARE * whole_s / left_s)))


def prefixes_and_suffixes(blocks: int, *, stride: int) -> Iterator[Segment]:
    """Yield the two sides of every so manieth cut.

    Example:
        >>> list(prefixes_and_suffixes(4, stride=2))
        [(0, 1), (2, 3)]
    """
    for cut in range(stride, blocks, stride):
        yield 0, cut - 1
        yield cut, blocks - 1


class _Sweep:
    """What was timed so far; of two times of a segment the shorter counts."""

    def __init__(
        self,
        places: Sequence[Place],
        measure: Callable[[Wanted, Progress], Measured],
        progress: Progress | None,
        formed: Formed,
    ) -> None:
        self.refusals: dict[Place, RuntimeFailedError] = {}  # the first of each place
        self._places = places
        self._measure = measure
        self._progress = progress
        self._formed = formed
        self._times: dict[Place, dict[Segment, Timing]] = {place: {} for place in places}
        self._alone: set[Place] = set()  # where only the whole network was timed
        self._done = 0

    def everywhere(self, segments: Iterable[Segment]) -> None:
        """Time segments at all places."""
        self._time([(segment, self._places) for segment in segments])

    def where_quicker(
        self,
        places: Mapping[Place, Place],
        *,
        whole: Segment,
        parts: Sequence[Segment],
        shown: bool = False,
    ) -> None:
        """Time segments another way where the whole network gains by it.

        Args:
            places: places of another execution or precision, each with its plain twin.
            whole: the whole network.
            parts: further segments.
            shown: whether the time of the whole counts even where it gains nothing.
        """
        if not places:
            return
        self._times |= {place: {} for place in places}
        self._time([(whole, list(places))])
        left = []
        for place, twin in places.items():
            found, plain = self._times[place].get(whole), self._times[twin].get(whole)
            if found is not None and (plain is None or plain.median_s >= _GAIN * found.median_s):
                left.append(place)
            elif found is not None and shown:
                self._alone.add(place)
            else:
                del self._times[place]
                self.refusals.pop(place, None)
        self._time([(part, left) for part in parts] if left else [])

    def doubts(self) -> None:
        """Time again what contradicts other times."""
        again: dict[Segment, list[Place]] = {}
        for place, times in self._times.items():
            for segment in doubtful(times, formed=self._formed):
                again.setdefault(segment, []).append(place)
        self._time(list(again.items()))

    def records(self, blocks: Sequence[Block]) -> Iterator[SegmentTime]:
        """Yield all times; with estimates where none can stand for a refused segment."""
        for place, times in self._times.items():
            known = times
            if place not in self.refusals and place not in self._alone:
                known = fill_in(blocks, times, formed=self._formed)
            for segment in sorted(known):
                timing = known[segment]
                whole = known.get((0, len(blocks) - 1))
                if timing.repeats == 0 and whole is not None and whole.energy_j is not None:
                    energy_j = whole.energy_j * timing.median_s / whole.median_s
                    timing = replace(timing, energy_j=energy_j)
                yield place.record(segment, timing)

    def _time(self, wanted: Wanted) -> None:
        before = self._done

        def tell(done: int, total: int, what: str) -> None:
            self._done = before + done
            if self._progress is not None:
                self._progress(before + done, before + total, what)

        measured = self._measure(wanted, tell)
        for place, found in measured.times.items():
            times = self._times[place]
            for segment, timing in found.items():
                if segment not in times or timing.median_s < times[segment].median_s:
                    times[segment] = timing
        for place, errors in measured.refusals.items():
            self.refusals.setdefault(place, next(iter(errors.values())))
