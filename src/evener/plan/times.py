"""Find what each segment takes on each core set: of its measurements, those worth having.

Several runtimes, precisions and ways of execution may have been timed for the same blocks on the
same cores at the same clock. One that another beats in both time and energy is never used.
"""

from collections.abc import Iterator, Sequence
from math import inf

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Profile, SegmentTime
from evener.errors import InputError
from evener.plan.teams import CoreSet

_Place = tuple[int, int]  # first and last block
_Lane = tuple[int, int, float | None]  # processor, cores and clock


class Measurements:
    """The measurements of a profile on some processors, quickest and thriftier ones.

    Args:
        profile: measured times.
        processors: those that count.

    Raises:
        InputError: a time, an energy or a range of blocks that cannot be.
    """

    def __init__(self, profile: Profile, processors: Sequence[Processor]) -> None:
        numbers = {processor.name: number for number, processor in enumerate(processors)}
        found: dict[_Lane, dict[_Place, list[SegmentTime]]] = {}
        self._clocks: dict[str, set[float | None]] = {}
        for segment in profile.segments:
            number = numbers.get(segment.processor)
            if number is None or not _offered(segment.clock_hz, processors[number]):
                continue
            _check(segment, len(profile.blocks))
            places = found.setdefault((number, segment.cores, segment.clock_hz), {})
            places.setdefault((segment.first_block, segment.last_block), []).append(segment)
            self._clocks.setdefault(segment.processor, set()).add(segment.clock_hz)
        self._by_lane = {
            lane: {place: _not_beaten(segments) for place, segments in places.items()}
            for lane, places in found.items()
        }

    def clocks_of(self, processor: Processor) -> frozenset[float | None]:
        """Return the clocks that a processor was timed at."""
        return frozenset(self._clocks.get(processor.name, ()))

    def most_of(self, core_set: CoreSet) -> int:
        """Return how many measurements a core set has at most for one segment."""
        return max(map(len, self._places(core_set).values()), default=0)

    def of(self, core_set: CoreSet) -> Iterator[tuple[int, int, SegmentTime]]:
        """Yield first block, last block and measurement of each segment that a core set can run."""
        for (first, last), segments in self._places(core_set).items():
            if core_set.thrift < len(segments):
                yield first, last, segments[core_set.thrift]

    def _places(self, core_set: CoreSet) -> dict[_Place, list[SegmentTime]]:
        return self._by_lane.get((core_set.processor, core_set.cores, core_set.clock_hz), {})


def _offered(clock_hz: float | None, processor: Processor) -> bool:
    return clock_hz is None or not processor.clocks_hz or clock_hz in processor.clocks_hz


def _not_beaten(segments: Sequence[SegmentTime]) -> list[SegmentTime]:
    """Keep those that no other beats in time and energy, quickest first."""
    kept: list[SegmentTime] = []
    for segment in sorted(segments, key=lambda one: (one.median_s, _energy_j(one))):
        if not kept or _energy_j(segment) < _energy_j(kept[-1]):
            kept.append(segment)
    return kept


def _energy_j(segment: SegmentTime) -> float:
    return inf if segment.energy_j is None else segment.energy_j


def _check(segment: SegmentTime, blocks: int) -> None:
    if (
        not 0 <= segment.first_block <= segment.last_block < blocks
        or not 0 < segment.median_s < inf
    ):
        raise InputError(
            f"the profile gives blocks {segment.first_block} to {segment.last_block} of {blocks} "
            f"{segment.median_s} s on {segment.cores} cores of {segment.processor}: blocks count "
            "from 0 and a time is above 0. Profile the network again"
        )
    if segment.energy_j is not None and not 0 <= segment.energy_j < inf:
        raise InputError(
            f"the profile gives blocks {segment.first_block} to {segment.last_block} "
            f"{segment.energy_j} J on {segment.cores} cores of {segment.processor}: an energy is 0 "
            "or more, and left out where none is known. Profile the network again"
        )
