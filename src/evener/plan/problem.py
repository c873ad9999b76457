"""State what a planner has to decide: how long every team of core sets takes for every segment.

Cores are interchangeable within a processor, so a plan is judged by how many it uses, not which.
A *core set* is a processor and a number of its cores. A *team* is what one stage runs on: lanes of
one size on a processor, and perhaps on further processors; a plain stage has a team of one lane.
A *receiver* is the set of processors that a stage hands its frames on to.
Index legend: C core sets, B first block, E last block (included), P processors, R receivers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, inf
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.processors import Processor
from evener.artifacts.profile import HandOff, Profile, SegmentTime
from evener.errors import InfeasibleError, InputError
from evener.plan.puts import puts_s

Space = Literal["paper", "full"]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A processor of more cores is handed out in this many grains, or planning would take too long.
MOST_GRAINS: Final = 8
# A lane need not be given a further frame for the last tenth of its slower team-mate's time.
CREDIT_SLACK: Final = 0.1
PAPER_STAGES: Final = 3


@dataclass(frozen=True, slots=True)
class CoreSet:
    """Some cores of a processor; which ones is decided last.

    Attributes:
        processor: index of the processor in the problem.
        cores: how many of its cores; 1 for a device.
    """

    processor: int
    cores: int


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
    def processors(self) -> tuple[int, ...]:
        """Indices of the processors that it has lanes on."""
        return tuple(number for number, grains in enumerate(self.usage) if grains)


@dataclass(frozen=True, slots=True)
class Problem:
    """Everything a solver reads.

    Attributes:
        processors: those a plan may use.
        grains: how many grains each of them has; a grain is a core on a small processor.
        core_sets: every kind of lane.
        teams: every kind of stage, those of fewest lanes first.
        times_s_CBE: seconds per frame of a lane for blocks B to E, hand-off included; inf where
            it cannot run them, and where E < B.
        fastest: which measurement a time comes from, by core set, first and last block.
        receivers: processors that a stage may hand on to, the first being nobody: the sink. No
            other where handing on costs the same whoever takes.
        transfer_s_PR: further seconds per frame of a lane on P that hands on to R.
        paper: whether exactly three stages are asked for.
        formed: first and last block of each segment that the network has, whether or not anything
            can run it; None if all blocks in a row form one.
    """

    processors: tuple[Processor, ...]
    grains: tuple[int, ...]
    core_sets: tuple[CoreSet, ...]
    teams: tuple[Team, ...]
    times_s_CBE: Floats  # noqa: N815 -- its axes are part of its name
    fastest: dict[tuple[int, int, int], SegmentTime]
    receivers: tuple[tuple[int, ...], ...]
    transfer_s_PR: Floats  # noqa: N815 -- as above
    paper: bool = False
    formed: frozenset[tuple[int, int]] | None = None

    @property
    def blocks(self) -> int:
        """How many blocks the network has."""
        return int(self.times_s_CBE.shape[1])

    @property
    def most_stages(self) -> int:
        """More stages than this can never be manned."""
        seats = 0
        for processor, grains in enumerate(self.grains):
            alone = [
                team.usage[processor]
                for team in self.teams
                if sum(team.usage) == team.usage[processor]
            ]
            seats += grains // min((used for used in alone if used), default=grains + 1)
        return min(self.blocks, seats)

    def form_segment(self, first_block: int, last_block: int) -> bool:
        """Return whether the network has a segment of these blocks, whatever can run it."""
        return self.formed is None or (first_block, last_block) in self.formed

    def receiver(self, team: Team) -> int:
        """Return which receiver a team is; 0 where handing on costs the same whoever takes."""
        return self.receivers.index(team.processors) if len(self.receivers) > 1 else 0

    def lane_s(self, core_set: int, first_block: int, last_block: int, receiver: int) -> float:
        """Return seconds per frame of one lane, everything that it pays included."""
        transfer_s = self.transfer_s_PR[self.core_sets[core_set].processor, receiver]
        return float(self.times_s_CBE[core_set, first_block, last_block] + transfer_s)

    def period_s(self, team: Team, receiver: int = 0) -> Floats:
        """Return seconds between two frames of a team, `[first block, last block]`."""
        counts, times = self._lanes(team, receiver)
        able = np.all(np.isfinite(times), axis=0)
        rates = np.einsum("l,lbe->be", counts, 1 / np.where(able, times, 1.0))
        return np.where(able, 1 / rates, inf)

    def credits(self, team: Team, receiver: int = 0) -> Integers:
        """Return how many frames a team must hold, `[first block, last block]`; 0 if unable.

        A frame leaves in order, so while the slowest lane has one, each quicker lane goes on with
        as many as it finishes in that time.
        """
        counts, times = self._lanes(team, receiver)
        able = np.all(np.isfinite(times), axis=0)
        times = np.where(able, times, 1.0)
        held = np.ceil(times.max(axis=0) / times - CREDIT_SLACK)
        return np.where(able, np.einsum("l,lbe->be", counts, held), 0).astype(np.int64)

    def _lanes(self, team: Team, receiver: int) -> tuple[Integers, Floats]:
        """Return how many lanes there are of each size, and their times `[size, first, last]`."""
        sizes = [index for index, _ in team.lanes]
        senders = [self.core_sets[index].processor for index in sizes]
        transfers_s = self.transfer_s_PR[senders, receiver][:, np.newaxis, np.newaxis]
        return np.array([count for _, count in team.lanes]), self.times_s_CBE[sizes] + transfers_s


def make_problem(
    profile: Profile, *, space: Space = "full", processors: Sequence[str] | None = None
) -> Problem:
    """State the planning problem of a profile.

    Each put costs its lane the fixed time of a hand-off, that of the bytes that cross, and that of
    the transfer to the next stage's processor: who copies pays, and of several processors that may
    take the frame it pays for the dearest. Of the runtimes that can run a segment on a core set,
    the fastest counts.

    Args:
        profile: measured times.
        space: "full", or "paper" for three stages on three whole processors.
        processors: names of those that may be used; all if None.

    Raises:
        InputError: a name that the profile does not know, or a time that cannot be.
        InfeasibleError: fewer than three processors for the space "paper".
    """
    chosen = _choose(profile, processors)
    if space == "paper" and len(chosen) < PAPER_STAGES:
        raise InfeasibleError(
            f"the space 'paper' needs {PAPER_STAGES} processors for its {PAPER_STAGES} stages, and "
            f"{len(chosen)} may be used: {_names(chosen)}. Take the space 'full', or profile a "
            "machine with more processors",
            needed=PAPER_STAGES,
            available=len(chosen),
        )
    core_sets = tuple(
        CoreSet(index, cores)
        for index, processor in enumerate(chosen)
        for cores in (processor.core_sets if space == "full" else (processor.units,))
        if cores <= processor.units
    )
    grain = [ceil(processor.units / MOST_GRAINS) for processor in chosen]
    grains = tuple(processor.units // size for processor, size in zip(chosen, grain, strict=True))
    times_s, fastest = _fastest(profile, chosen, core_sets)
    teams = _teams(chosen, core_sets, grain, grains)
    if space == "paper":
        teams = [team for team in teams if sum(count for _, count in team.lanes) == 1]
    receivers, transfer_s = _transfers(profile.hand_off, chosen, teams)
    return Problem(
        processors=chosen,
        grains=grains,
        core_sets=core_sets,
        teams=tuple(teams),
        times_s_CBE=times_s,
        fastest=fastest,
        receivers=receivers,
        transfer_s_PR=transfer_s,
        paper=space == "paper",
        formed=_formed(profile),
    )


def _formed(profile: Profile) -> frozenset[tuple[int, int]] | None:
    if profile.granularity != "node":
        return None
    return frozenset((segment.first_block, segment.last_block) for segment in profile.segments)


def _choose(profile: Profile, names: Sequence[str] | None) -> tuple[Processor, ...]:
    known = profile.machine.processors
    if names is None:
        return known
    unknown = sorted(set(names) - {processor.name for processor in known})
    if unknown or not names:
        raise InputError(
            f"the profile of {profile.machine.host} knows no processor "
            f"{', '.join(map(repr, unknown)) or 'of an empty list'}; it knows {_names(known)}"
        )
    return tuple(processor for processor in known if processor.name in names)


def _names(processors: Sequence[Processor]) -> str:
    return ", ".join(processor.name for processor in processors) or "none"


def _fastest(
    profile: Profile, processors: Sequence[Processor], core_sets: Sequence[CoreSet]
) -> tuple[Floats, dict[tuple[int, int, int], SegmentTime]]:
    blocks = len(profile.blocks)
    puts_s_BE = puts_s(profile)  # noqa: N806 -- as in Problem
    index_of = {
        (processors[core_set.processor].name, core_set.cores): index
        for index, core_set in enumerate(core_sets)
    }
    times_s = np.full((len(core_sets), blocks, blocks), inf)
    fastest: dict[tuple[int, int, int], SegmentTime] = {}
    for segment in profile.segments:
        index = index_of.get((segment.processor, segment.cores))
        if index is None:
            continue
        _check(segment, blocks)
        place = (index, segment.first_block, segment.last_block)
        time_s = segment.median_s + float(puts_s_BE[place[1:]])
        if time_s < times_s[place]:
            times_s[place] = time_s
            fastest[place] = segment
    return times_s, fastest


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


def _transfers(
    hand_off: HandOff, processors: Sequence[Processor], teams: Sequence[Team]
) -> tuple[tuple[tuple[int, ...], ...], Floats]:
    numbers = {processor.name: number for number, processor in enumerate(processors)}
    costs_s = np.zeros((len(processors), len(processors)))  # by sender and receiver
    for one in hand_off.transfers:
        if not 0 <= one.fixed_s < inf:
            raise InputError(
                f"the profile gives a transfer from {one.sender} to {one.receiver} {one.fixed_s} "
                "s: it must be 0 or more. Profile the network again"
            )
        if one.sender in numbers and one.receiver in numbers:
            costs_s[numbers[one.sender], numbers[one.receiver]] = one.fixed_s
    if not costs_s.any():
        return ((),), np.zeros((len(processors), 1))
    receivers = ((), *sorted({team.processors for team in teams}))
    dearest_s = [costs_s[:, list(takers)].max(axis=1, initial=0.0) for takers in receivers]
    return receivers, np.stack(dearest_s, axis=1)


def _teams(
    processors: Sequence[Processor],
    core_sets: Sequence[CoreSet],
    grain: Sequence[int],
    grains: Sequence[int],
) -> list[Team]:
    """List all teams: on each processor nothing, or some lanes of one size."""
    choices: list[list[tuple[int, int, int]]] = []  # per processor: core set, lanes, grains
    for number, processor in enumerate(processors):
        options = [(0, 0, 0)]
        for index, core_set in enumerate(core_sets):
            if core_set.processor != number:
                continue
            most = processor.units // core_set.cores
            for lanes in range(1, most + 1):
                cores = lanes * core_set.cores
                if lanes in (1, most) or cores % grain[number] == 0:
                    used = min(grains[number], ceil(cores / grain[number]))
                    options.append((index, lanes, used))
        choices.append(options)
    teams = [
        Team(
            lanes=tuple((index, lanes) for index, lanes, _ in combination if lanes),
            usage=tuple(used for _, _, used in combination),
        )
        for combination in product(*choices)
    ]
    return sorted(
        (team for team in teams if team.lanes),
        key=lambda team: (sum(count for _, count in team.lanes), sum(team.usage)),
    )
