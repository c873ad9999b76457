"""Time a network on every core set of a machine, as far as a budget of time allows.

Not every pair of blocks is timed: the whole, every prefix and every suffix are, so that each plan
of two stages rests on measurements; `interpolate.py` estimates the middle ones, and `refine.py`
times those of them that a plan wants to use.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Final

from evener.artifacts.processors import Machine
from evener.artifacts.profile import HandOff, Profile, SegmentTime
from evener.errors import RuntimeFailedError
from evener.network.blocks import Blocks
from evener.network.model import Network
from evener.network.split import segment_model
from evener.profile.hand_off import measure_hand_off
from evener.profile.interpolate import fill_in
from evener.profile.segments import Measured, Progress, find_places, time_segments
from evener.profile.timing import Clock, Segment
from evener.runtime.session import Optimisation, Runtime

# What a prefix or suffix costs on average, against the whole network.
_PART_SHARE: Final = 0.6


def profile_network(
    network: Network,
    blocks: Blocks,
    machine: Machine,
    *,
    runtimes: Mapping[str, Runtime],
    optimisation: Optimisation = "all",
    budget_s: float = 60.0,
    hand_off: HandOff | None = None,
    clock: Clock = time.perf_counter,
    progress: Progress | None = None,
) -> Profile:
    """Time a network on a machine.

    The whole network is timed first. If timing every prefix and suffix would then exceed the
    budget, only those of every second, third, ... cut are timed. A segment that a runtime refuses
    has no time there, and `progress` is told why.

    Args:
        network: what to time.
        blocks: how it is cut.
        machine: its processors, which nothing else should use meanwhile.
        runtimes: what to time, by name; those that a processor lists are used on it.
        optimisation: graph optimisation level.
        budget_s: about how long it may take, in seconds; the whole network is always timed.
        hand_off: cost of passing a frame on; measured if None.
        clock: seconds that never go back.
        progress: is called after each timing; the total grows once the whole network is timed.

    Raises:
        InputError: no runtime for any processor.
        RuntimeFailedError: no runtime runs any part of the network.
    """
    places = find_places(machine, runtimes)
    count = len(blocks.blocks)

    def measure(segments: Sequence[Segment], *, done_before: int) -> Measured:
        def tell(done: int, total: int, what: str) -> None:
            if progress is not None:
                progress(done_before + done, done_before + total, what)

        return time_segments(
            [(segment, places) for segment in segments],
            model_of=lambda first, last: segment_model(network, blocks, first, last),
            runtimes=runtimes,
            optimisation=optimisation,
            clock=clock,
            progress=tell,
        )

    start_s = clock()
    whole = measure([(0, count - 1)], done_before=0)
    stride = cut_stride(count - 1, whole_s=clock() - start_s, budget_s=budget_s)
    sides = list(prefixes_and_suffixes(count, stride=stride))
    parts = measure(sides, done_before=len(places))
    records: list[SegmentTime] = []
    for place in places:
        times = {**whole.times.get(place, {}), **parts.times.get(place, {})}
        if place not in whole.refusals and place not in parts.refusals:
            times = fill_in(blocks.blocks, times)  # an estimate might stand for a refused segment
        records += [place.record(segment, times[segment]) for segment in sorted(times)]
    if not records:
        (refusal,) = whole.refusals[places[0]].values()
        raise RuntimeFailedError(
            f"no runtime runs any part of '{network.name}' on {machine.host}; {places[0]}: "
            f"{refusal}. Install another runtime, or simplify the network",
            runtime=places[0].runtime,
        ) from refusal
    return Profile(
        network=network.name,
        network_sha256=network.sha256,
        granularity=blocks.granularity,
        blocks=blocks.blocks,
        machine=machine,
        segments=tuple(records),
        hand_off=hand_off or measure_hand_off(machine, clock=clock),
        optimisation=optimisation,
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
