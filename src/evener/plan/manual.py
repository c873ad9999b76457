"""Predict a plan that the user cut by hand: exactly these stages on exactly these core sets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from evener.artifacts.plan import Plan
from evener.artifacts.processors import Processor
from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError, InputError
from evener.network.cuts import segments_between
from evener.plan.bound import find_bound
from evener.plan.problem import Problem, make_problem
from evener.plan.record import make_record
from evener.plan.steps import Step, make_chain
from evener.units import count


@dataclass(frozen=True, slots=True)
class Seat:
    """The core set that a stage is to run on.

    Attributes:
        processor: name of the processor.
        cores: how many of its cores; None for all of them, or for a device.
    """

    processor: str
    cores: int | None = None

    def __str__(self) -> str:
        return self.processor if self.cores is None else f"{self.processor}:{self.cores}"


def make_manual_plan(profile: Profile, *, cuts: Sequence[int], seats: Sequence[Seat]) -> Plan:
    """Make the plan of some cuts and the core sets of its stages.

    Args:
        profile: measured times of the network on the machine.
        cuts: the block after which each stage but the last ends, counted from 0, ascending.
        seats: one for each stage, so one more than cuts; each at its quickest clock.

    Returns:
        The plan; its bound is that of every plan on the whole machine.

    Raises:
        InputError: a cut out of range or not ascending, a seat too many or too few, an unknown
            processor, a number of cores without times, or more cores than there are.
        InfeasibleError: a core set has no time for its blocks.
    """
    on_board = " --board BOARD" * (profile.granularity == "table")
    segments = segments_between(
        cuts,
        blocks=len(profile.blocks),
        network=profile.network,
        see=f"evener plan NET{on_board} --explain",
    )
    check_seats(seats, len(segments), profile.machine.processors)
    problem = make_problem(profile)
    steps = _handing_on(problem, tuple(map(partial(_step, problem), segments, seats)))
    return make_record(
        profile,
        problem,
        make_chain(problem, steps),
        what="plan",
        method="by hand",
        bound=find_bound(problem),
    )


def check_seats(seats: Sequence[Seat], stages: int, processors: Sequence[Processor]) -> None:
    """Refuse seats that do not fit the stages or the machine.

    Args:
        seats: one for each stage.
        stages: how many there are.
        processors: those of the machine.

    Raises:
        InputError: another number of seats than stages, an unknown processor, a number of cores
            without times, or more cores than there are.
    """
    if len(seats) != stages:
        raise InputError(
            f"stages by the cuts: {stages}, processors named: {len(seats)} "
            f"({_listed(seats) or 'none'}). Name one for each stage, in their order"
        )
    by_name = {processor.name: processor for processor in processors}
    taken = dict.fromkeys(by_name, 0)
    for seat in seats:
        processor = by_name.get(seat.processor)
        if processor is None:
            raise InputError(
                f"there is no processor '{seat.processor}' for {seat}; there are "
                f"{_listed(by_name)}; name one of these"
            )
        if _cores(seat, processor) not in processor.core_sets:
            raise InputError(
                f"{seat} cannot be planned: {processor.name} is given out in "
                f"{' or '.join(map(str, processor.core_sets))} of its "
                f"{count(processor.units, 'core')}"
            )
        taken[processor.name] += _cores(seat, processor)
    for name, cores in taken.items():
        if cores > by_name[name].units:
            raise InputError(
                f"the stages take {count(cores, 'core')} of {name}, which has "
                f"{by_name[name].units}: give each core to one stage"
            )


def _cores(seat: Seat, processor: Processor) -> int:
    return processor.units if seat.cores is None else seat.cores


def _step(problem: Problem, segment: range, seat: Seat) -> Step:
    first, last = segment[0], segment[-1]
    number, processor = next(
        (number, processor)
        for number, processor in enumerate(problem.processors)
        if processor.name == seat.processor
    )
    index = min(
        (
            index
            for index, one in enumerate(problem.core_sets)
            if (one.processor, one.cores) == (number, _cores(seat, processor))
        ),
        key=lambda index: float(problem.times_s_CBE[index, first, last]),
    )
    if problem.times_s_CBE[index, first, last] == inf:
        raise InfeasibleError(
            f"{seat} has no time for blocks {first} to {last} in one session: give them to another "
            "processor or runtime, or cut them apart"
        )
    return Step(first, last, next(team for team in problem.teams if team.lanes == ((index, 1),)))


def _handing_on(problem: Problem, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Name to each stage who takes its frames: the next one, or after the last nobody."""
    receivers = [*(problem.receiver(step.team) for step in steps[1:]), 0]
    return tuple(
        replace(step, receiver=receiver) for step, receiver in zip(steps, receivers, strict=True)
    )


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))
