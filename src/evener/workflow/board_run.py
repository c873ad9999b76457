"""Run a network on the simulated processors of a board: planned by its table, computed here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Unpack

import msgspec

from evener.artifacts.files import load
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.data.sources import Reading
from evener.errors import InfeasibleError, InputError
from evener.plan.decide import make_baseline
from evener.plan.foresee import with_simulated
from evener.workflow.board import OnBoard, check_left_to_board, open_on_board
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting
from evener.workflow.frames import (
    Writing,
    WritingChoices,
    answers_for,
    find_card,
    take_frames,
    with_card,
)
from evener.workflow.near_enough import reference_runtime
from evener.workflow.opened import Opened, Progress, open_blocks
from evener.workflow.opening import Engines, OpeningChoices
from evener.workflow.run import RunResult, Watch, check_plan_alone, run_opened
from evener.workflow.stand_in import slowed, stand_in
from evener.workflow.wish import Wish, WishChoices, decide

_SLOWEST: Final = 1e6  # an hour then takes as long as a lane can be made to wait


class BoardRunChoices(OpeningChoices, WishChoices, WritingChoices, total=False):
    """What `run_on_board` takes as keyword arguments."""


def run_on_board(
    net: str,
    *,
    board: str,
    frames: int | Path,
    plan: Path | None = None,
    credits: int | None = None,
    transfers: bool = False,
    compute: bool = True,
    slowdown: float = 1.0,
    reading: Reading | None = None,
    cutting: Cutting = Cutting(),
    engines: Engines = Engines(),
    wish: Wish = Wish(),
    writing: Writing = Writing(),
    watch: Watch | None = None,
    progress: Progress | None = None,
    **choices: Unpack[BoardRunChoices],
) -> RunResult:
    """Run a network over frames, each stage as long as it would take on the board.

    Threads, hand-offs, order and answers are those of a real run on this machine; only the time
    of each stage is made up, from the board's table. Every answer is compared with the unsplit
    network's.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        board: name of a known board, or path of a board's file.
        frames: how many random frames, or what to read them from; see `run_network`.
        plan: a plan file for the board; None plans first.
        credits: frames in flight at once; None for the plan's own.
        transfers: whether moving a frame between the board's processors costs the stage that sends.
        compute: whether answers are computed; if not, they are zeros and nothing is compared.
        slowdown: how many times as long the board's processors take, so that this machine can
            keep up; what is planned and measured is slower by as much.
        reading: how what is there becomes frames.
        cutting: how the network is read; what it is cut into is the table's.
        engines: the board's processors to use, and which runtimes may compute here, of which the
            first does.
        wish: what the plan is to be best at, within which limits on the board.
        writing: what is written of the answers.
        watch: given the pipeline, a context in which it runs.
        progress: told what is being done.
        choices: fields of these records.

    Raises:
        InputError: the network, the frames, the plan or the board cannot be used.
        InfeasibleError: no plan meets the limits, or this machine computes longer than the board.
        StageFailedError: a stage raised.
    """
    cutting, engines, wish, writing = settle(choices, cutting, engines, wish, writing)
    _check_choices(plan, wish, writing, slowdown, compute=compute)
    check_left_to_board(cutting, {"--precision": engines.precision})
    card = find_card(net)
    given = load(plan, Plan).value if plan is not None else None
    found = open_on_board(net, board, with_card(cutting, card), transfers=transfers)
    opened = open_here(found, net, engines, compute=compute)
    profile, processors = found.profile, engines.processors
    taken = take_frames(opened, frames, reading, card)
    chosen = (
        decide(profile, wish, processors)
        if given is None
        else check_board_plan(given, profile, processors)
    )
    chosen = with_simulated(slowed(chosen, slowdown) if slowdown != 1 else chosen, profile)
    stand_ins = stand_in(chosen, opened.runtimes[reference_runtime(opened)], compute=compute)
    single_hz = _single_rate_hz(profile, processors)
    with answers_for(opened, taken, writing, card=card) as keep:
        result = run_opened(
            opened,
            chosen,
            taken,
            on_answer=keep,
            credits=credits,
            stand_ins=stand_ins,
            compare=compute,
            timeline=writing.timeline,
            watch=watch,
            progress=progress,
        )
        stand_ins.check()
    return msgspec.structs.replace(
        result,
        board=found.board.name,
        slowdown=slowdown,
        computed=compute,
        unsplit_rate_hz=None if single_hz is None else single_hz / slowdown,
    )


def open_here(found: OnBoard, net: str, engines: Engines, *, compute: bool) -> Opened:
    """Open a network on a board to be computed on this machine.

    Args:
        found: the network on the board.
        net: what the caller calls it.
        engines: the runtimes that may compute it here, of which the first does.
        compute: whether any of them does.

    Raises:
        InputError: the board's table knows it by name only, or there is nothing to compute for the
            runtimes that are named.
    """
    if engines.runtimes is not None and not compute:
        raise InputError(
            f"without computing there is nothing for {', '.join(engines.runtimes)} to do: leave "
            "--runtimes out, or --no-compute"
        )
    if found.network is None or found.blocks is None:
        raise InputError(
            f"the board {found.board.name} has times of {net}, and there is no network of that "
            "name here to be run; give the path of its ONNX file"
        )
    return open_blocks(
        found.network,
        found.blocks,
        runtimes=engines.runtimes,
        optimisation=engines.optimisation,
    )


def check_board_plan(plan: Plan, profile: Profile, processors: Sequence[str] | None = None) -> Plan:
    """Return a plan if it is of the network of a profile and of its board.

    Args:
        plan: the plan.
        profile: what the network costs on the board.
        processors: names of the only processors that it may take; None for all.

    Raises:
        InputError: another network, or a processor that the board does not have or that the plan
            may not take.
    """
    board = profile.machine.host
    if plan.network_sha256 != profile.network_sha256:
        raise InputError(
            f"the plan is of {plan.network} ({plan.network_sha256[:12]}), not of {profile.network} "
            f"on {board} ({profile.network_sha256[:12]}); plan this network with --board"
        )
    known = {processor.name: processor for processor in profile.machine.processors}
    for stage in plan.stages:
        for lane in stage.lanes:
            processor = known.get(lane.processor)
            if processor is None or not set(lane.cores) <= set(processor.cores):
                raise InputError(
                    f"the plan wants {lane.processor} with cores {list(lane.cores)}, which {board} "
                    "does not have; plan with this --board"
                )
            if processors is not None and lane.processor not in processors:
                raise InputError(
                    f"the plan wants {lane.processor}, and only {', '.join(processors)} may be "
                    "used; leave --processors out, or plan with them"
                )
    return plan


def check_slowdown(slowdown: float) -> None:
    """Refuse a factor by which nothing can be slowed down.

    Raises:
        InputError: it is below 1, or so great that lanes would wait for days.
    """
    if not 1 <= slowdown <= _SLOWEST:
        raise InputError(
            f"a slowdown of {slowdown} is none: give a factor from 1 to {_SLOWEST:.0f}"
        )


def _check_choices(
    plan: Path | None, wish: Wish, writing: Writing, slowdown: float, *, compute: bool
) -> None:
    check_slowdown(slowdown)
    writing.check()
    if not compute and writing != Writing(timeline=writing.timeline):
        raise InputError(
            "without computing there are no answers to write: leave --out out, and --annotate"
        )
    check_plan_alone(plan, None, wish)


def _single_rate_hz(profile: Profile, processors: Sequence[str] | None) -> float | None:
    """Predict the rate of the best single processor; None if none can run the whole network."""
    try:
        return make_baseline(profile, "single", processors=processors).rate_hz
    except InfeasibleError:
        return None
