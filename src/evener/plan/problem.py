"""State what a planner has to decide: what every team of core sets takes for every segment.

Core sets and teams are those of `evener.plan.teams`. A *receiver* is the set of processors that a
stage hands its frames on to.

Segments are timed alone, and lanes slow one another down: each time is multiplied by the measured
factor of its processor in company. Only a lane that runs the whole network by itself has none.
Index legend: C core sets, B first block, E last block (included), P processors, R receivers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.processors import Processor
from evener.artifacts.profile import HandOff, Profile, SegmentTime
from evener.errors import InfeasibleError, InputError
from evener.plan.memory import Memory, keep_out
from evener.plan.puts import puts_s
from evener.plan.teams import CoreSet, Team, list_core_sets, list_teams
from evener.plan.times import Measurements

Space = Literal["paper", "full"]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ArrayT = TypeVar("ArrayT", bound=NDArray[Any])

# A lane need not be given a further frame for the last tenth of its slower team-mate's time.
CREDIT_SLACK: Final = 0.1
PAPER_STAGES: Final = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """Everything a solver reads.

    Attributes:
        processors: those a plan may use.
        grains: how many grains each of them has; a grain is a core on a small processor.
        core_sets: every kind of lane.
        teams: every kind of stage, those of fewest lanes first.
        times_s_CBE: seconds per frame of a lane for blocks B to E beside other lanes, hand-off
            included; inf where it cannot run them, and where E < B.
        segments: the measurement that a time comes from, by core set, first and last block.
        receivers: processors that a stage may hand on to, the first being nobody: the sink. No
            other where handing on costs the same whoever takes.
        transfer_s_PR: further seconds per frame of a lane on P that hands on to R.
        paper: whether exactly three stages are asked for.
        energies_j_CBE: energy per frame beyond what the idle machine draws, by the same axes; inf
            where it is not known. None if none is.
        idle_w: what the idle machine draws; 0 where that is not known.
        memory: what the processors' memory keeps out; None if it has no limit.
        stateful_BE: whether blocks B to E keep state from frame to frame, which a single lane must;
            None if none do.
        alone_s_C: seconds per frame for all blocks of a lane that is the only one; None where
            company slows nobody.
        formed: first and last block of each segment that the network has, whether or not anything
            can run it; None if all blocks in a row form one.
    """

    processors: tuple[Processor, ...]
    grains: tuple[int, ...]
    core_sets: tuple[CoreSet, ...]
    teams: tuple[Team, ...]
    times_s_CBE: Floats  # noqa: N815 -- its axes are part of its name
    segments: dict[tuple[int, int, int], SegmentTime]
    receivers: tuple[tuple[int, ...], ...]
    transfer_s_PR: Floats  # noqa: N815 -- as above
    paper: bool = False
    energies_j_CBE: Floats | None = None  # noqa: N815 -- as above
    idle_w: float = 0.0
    memory: Memory | None = None
    stateful_BE: NDArray[np.bool_] | None = None  # noqa: N815 -- as above
    alone_s_C: Floats | None = None  # noqa: N815 -- as above
    formed: frozenset[tuple[int, int]] | None = None
    _known: dict[tuple[str, Team, int], NDArray[Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

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

    def lane_s(
        self, team: Team, core_set: int, first_block: int, last_block: int, receiver: int
    ) -> float:
        """Return seconds per frame of one lane of a team, everything that it pays included."""
        whole = (first_block, last_block) == (0, self.blocks - 1)
        if whole and self.alone_s_C is not None and team.count == 1:
            return float(self.alone_s_C[core_set])
        transfer_s = self.transfer_s_PR[self.core_sets[core_set].processor, receiver]
        return float(self.times_s_CBE[core_set, first_block, last_block] + transfer_s)

    def period_s(self, team: Team, receiver: int = 0) -> Floats:
        """Return seconds between two frames of a team, `[first block, last block]`."""
        return self._once("period_s", team, receiver, self._period_s)

    def credits(self, team: Team, receiver: int = 0) -> Integers:
        """Return how many frames a team must hold, `[first block, last block]`; 0 if unable.

        A frame leaves in order, so while the slowest lane has one, each quicker lane goes on with
        as many as it finishes in that time. Lanes of different times ask at uneven moments, so
        that one more must wait for them where another stage comes before or after.
        """
        return self._once("credits", team, receiver, self._credits)

    def energy_j(self, team: Team, receiver: int = 0) -> Floats:
        """Return joules per frame of a team beyond the idle machine's, `[first block, last block]`.

        Each lane counts by its share of the frames. Inf where that of a lane is not known.
        """
        return self._once("energy_j", team, receiver, self._energy_j)

    def _once(
        self, name: str, team: Team, receiver: int, work_out: Callable[[Team, int], ArrayT]
    ) -> ArrayT:
        """Work out what solvers ask for again and again; nobody may write into it."""
        key = name, team, receiver
        if key not in self._known:
            self._known[key] = work_out(team, receiver)
            self._known[key].flags.writeable = False
        return cast("ArrayT", self._known[key])

    def _period_s(self, team: Team, receiver: int) -> Floats:
        counts, times, able = self._lanes(team, receiver)
        return np.where(able, 1 / np.einsum("l,lbe->be", counts, 1 / times), inf)

    def _credits(self, team: Team, receiver: int) -> Integers:
        counts, times, able = self._lanes(team, receiver)
        held = np.ceil(times.max(axis=0) / times - CREDIT_SLACK)
        waiting = times.max(axis=0) > times.min(axis=0)
        waiting[0, -1] = False  # the whole network: frames wait outside
        return np.where(able, np.einsum("l,lbe->be", counts, held) + waiting, 0).astype(np.int64)

    def _energy_j(self, team: Team, receiver: int) -> Floats:
        counts, times, able = self._lanes(team, receiver)
        if self.energies_j_CBE is None:
            return np.full(able.shape, inf)
        energies = self.energies_j_CBE[[index for index, _ in team.lanes]]
        able &= np.all(np.isfinite(energies), axis=0)
        power_w = np.einsum("l,lbe->be", counts, np.where(able, energies, 0.0) / times)
        return np.where(able, power_w / np.einsum("l,lbe->be", counts, 1 / times), inf)

    def _lanes(self, team: Team, receiver: int) -> tuple[Integers, Floats, NDArray[np.bool_]]:
        """Return for each size how many lanes it has and their times, and where all are able.

        Times are `[size, first block, last block]`, and 1 where not all lanes are able.
        """
        sizes = [index for index, _ in team.lanes]
        senders = [self.core_sets[index].processor for index in sizes]
        transfers_s = self.transfer_s_PR[senders, receiver][:, np.newaxis, np.newaxis]
        times = self.times_s_CBE[sizes] + transfers_s
        if self.alone_s_C is not None and team.count == 1:
            times[0, 0, -1] = self.alone_s_C[sizes[0]]  # has no company, and hands on to nobody
        able = np.all(np.isfinite(times), axis=0)
        counts = np.array([count for _, count in team.lanes])
        if self.stateful_BE is not None and counts.sum() > 1:
            able &= ~self.stateful_BE
        return counts, np.where(able, times, 1.0), able


def make_problem(
    profile: Profile,
    *,
    space: Space = "full",
    processors: Sequence[str] | None = None,
) -> Problem:
    """State the planning problem of a profile.

    Each put costs its lane the fixed time of a hand-off, that of the bytes that cross, and that of
    the transfer to the next stage's processor: who copies pays, and of several processors that may
    take the frame it pays for the dearest. What a transfer draws is not known and not charged.
    A segment that a processor's memory cannot hold has no time there, see `evener.plan.memory`.

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
    measurements = Measurements(profile, chosen)
    core_sets = list_core_sets(
        chosen,
        whole=space == "paper",
        clocks_of=measurements.clocks_of,
        measurements_of=measurements.most_of,
    )
    teams, grains = list_teams(chosen, core_sets, copies=space == "full")
    times_s, energies_j, segments = _tables(profile, core_sets, measurements)
    kept_out = None
    if any(processor.memory_bytes is not None for processor in chosen):
        kept_out = keep_out(chosen, core_sets, profile.blocks, np.isfinite(times_s))
        times_s[kept_out.kept_out_CBE] = inf
        energies_j[kept_out.kept_out_CBE] = inf
    alone_s = times_s[:, 0, -1].copy() if profile.contention else None
    times_s *= _factors(profile, chosen, core_sets)[:, np.newaxis, np.newaxis]
    receivers, transfer_s = _transfers(profile.hand_off, chosen, teams)
    return Problem(
        processors=chosen,
        grains=grains,
        core_sets=core_sets,
        teams=teams,
        times_s_CBE=times_s,
        segments=segments,
        receivers=receivers,
        transfer_s_PR=transfer_s,
        paper=space == "paper",
        energies_j_CBE=energies_j if np.isfinite(energies_j).any() else None,
        idle_w=profile.machine.idle_w or 0.0,
        memory=kept_out,
        stateful_BE=_stateful(profile),
        alone_s_C=alone_s,
        formed=_formed(profile),
    )


def _factors(
    profile: Profile, processors: Sequence[Processor], core_sets: Sequence[CoreSet]
) -> Floats:
    """Return by how much company slows each core set; 1 where nobody measured it."""
    factors = {one.processor: one.factor for one in profile.contention}
    return np.array([factors.get(processors[one.processor].name, 1.0) for one in core_sets])


def _stateful(profile: Profile) -> NDArray[np.bool_] | None:
    """Return from which block to which a segment keeps state; None if none does."""
    before = np.cumsum([0, *(block.states for block in profile.blocks)])
    if not before.any():
        return None
    stateful: NDArray[np.bool_] = np.subtract.outer(before[1:], before[:-1]).T > 0
    return stateful


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


def _tables(
    profile: Profile, core_sets: Sequence[CoreSet], measurements: Measurements
) -> tuple[Floats, Floats, dict[tuple[int, int, int], SegmentTime]]:
    """Return times with hand-off and energies of each core set, and what they come from."""
    blocks = len(profile.blocks)
    puts_s_BE = puts_s(profile)  # noqa: N806 -- as in Problem
    times_s = np.full((len(core_sets), blocks, blocks), inf)
    energies_j = np.full_like(times_s, inf)
    segments: dict[tuple[int, int, int], SegmentTime] = {}
    for index, core_set in enumerate(core_sets):
        for first, last, segment in measurements.of(core_set):
            segments[index, first, last] = segment
            times_s[index, first, last] = segment.median_s + puts_s_BE[first, last]
            if segment.energy_j is not None:
                energies_j[index, first, last] = segment.energy_j
    return times_s, energies_j, segments


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
