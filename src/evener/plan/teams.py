"""List what a stage can run on: core sets of one processor, and teams of them.

Cores are interchangeable within a processor, so a plan is judged by how many it uses, not which.
A *core set* is a processor, a number of its cores and the clock it is set to. A *team* is what one
stage runs on: lanes of one core set on a processor, and perhaps on further processors; a plain
stage has a team of one lane.

A processor has one clock for all its cores. So a choice of clocks is offered only to a lane that
takes the whole processor; smaller lanes all run at the same, and no plan can set two.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil
from typing import Final

from evener.artifacts.processors import Processor

# A processor of more cores is handed out in this many grains, or planning would take too long.
MOST_GRAINS: Final = 8


@dataclass(frozen=True, slots=True)
class CoreSet:
    """Some cores of a processor; which ones is decided last.

    Attributes:
        processor: index of the processor in the problem.
        cores: how many of its cores; 1 for a device.
        clock_hz: what the processor is set to; None where the system chooses.
        thrift: which of several measurements of a segment counts: 0 for the quickest, 1 for the
            next one that takes less energy, and so on.
    """

    processor: int
    cores: int
    clock_hz: float | None = None
    thrift: int = 0


@dataclass(frozen=True, slots=True)
class Team:
    """The lanes that share the frames of a stage.

    Attributes:
        lanes: number of lanes by index of their core set.
        usage: grains taken of each processor.
    """

    lanes: tuple[tuple[int, int], ...]
    usage: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many lanes it has."""
        return sum(count for _, count in self.lanes)

    @property
    def processors(self) -> tuple[int, ...]:
        """Indices of the processors that it has lanes on."""
        return tuple(number for number, grains in enumerate(self.usage) if grains)


def list_core_sets(
    processors: Sequence[Processor],
    *,
    whole: bool,
    clocks_of: Callable[[Processor], frozenset[float | None]],
    measurements_of: Callable[[CoreSet], int],
) -> tuple[CoreSet, ...]:
    """List every kind of lane.

    Args:
        processors: those a plan may use.
        whole: only lanes that take a whole processor.
        clocks_of: the clocks that a processor was timed at.
        measurements_of: how many measurements a core set has at most for one segment, of those
            that no other beats in both time and energy.
    """
    return tuple(
        CoreSet(number, cores, clock_hz, thrift)
        for number, processor in enumerate(processors)
        for cores in ((processor.units,) if whole else processor.core_sets)
        if cores <= processor.units
        for clock_hz in _clocks(processor, cores, clocks_of(processor))
        for thrift in range(max(1, measurements_of(CoreSet(number, cores, clock_hz))))
    )


def _clocks(
    processor: Processor, cores: int, timed: frozenset[float | None]
) -> tuple[float | None, ...]:
    """Return the clocks that a lane can be offered, highest first; None is the system's choice."""
    chosen = sorted((clock for clock in timed if clock is not None), reverse=True)
    by_system = (None,) if None in timed or not chosen else ()
    clocks = (*by_system, *chosen)
    return clocks if cores == processor.units else clocks[:1]


def list_teams(
    processors: Sequence[Processor], core_sets: Sequence[CoreSet], *, copies: bool
) -> tuple[tuple[Team, ...], tuple[int, ...]]:
    """List every kind of stage: on each processor nothing, or some lanes of one core set.

    Args:
        processors: those a plan may use.
        core_sets: every kind of lane.
        copies: whether a stage may have more than one lane.

    Returns:
        The teams, those of fewest lanes first, and how many grains each processor has.
    """
    grain = [ceil(processor.units / MOST_GRAINS) for processor in processors]
    grains = tuple(one.units // size for one, size in zip(processors, grain, strict=True))
    choices = [
        [(0, 0, 0), *_lanes(number, processor, core_sets, grain[number])]
        for number, processor in enumerate(processors)
    ]
    teams = (
        Team(
            lanes=tuple((index, lanes) for index, lanes, _ in combination if lanes),
            usage=tuple(used for _, _, used in combination),
        )
        for combination in product(*choices)
        if copies or sum(lanes for _, lanes, _ in combination) == 1
    )
    ordered = sorted(
        (team for team in teams if team.lanes),
        key=lambda team: (sum(count for _, count in team.lanes), sum(team.usage)),
    )
    return tuple(ordered), grains


def _lanes(
    number: int, processor: Processor, core_sets: Sequence[CoreSet], grain: int
) -> Iterator[tuple[int, int, int]]:
    """Yield core set, number of lanes and grains for everything that a team can take of it."""
    for index, core_set in enumerate(core_sets):
        if core_set.processor != number:
            continue
        most = processor.units // core_set.cores
        for lanes in range(1, most + 1):
            cores = lanes * core_set.cores
            if lanes in (1, most) or cores % grain == 0:
                yield index, lanes, min(processor.units // grain, ceil(cores / grain))
