"""Run a network on the simulated processors of a board: planned by its table, computed here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from evener.artifacts.files import load
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.data.sources import Reading
from evener.errors import InfeasibleError, InputError
from evener.plan.decide import make_baseline
from evener.plan.foresee import with_simulated
from evener.runtime.session import Optimisation
from evener.workflow.board import open_on_board
from evener.workflow.frames import Writing, answers_for, find_card, take_frames, with_card
from evener.workflow.near_enough import reference_runtime
from evener.workflow.opened import Fixed, Progress, Shapes, States, open_blocks
from evener.workflow.run import RunResult, Watch, check_plan_alone, run_opened
from evener.workflow.stand_in import slowed, stand_in
from evener.workflow.wish import Wish, decide

_SLOWEST: Final = 1e6  # an hour then takes as long as a lane can be made to wait


def run_on_board(
    net: str,
    *,
    board: str,
    frames: int | Path,
    plan: Path | None = None,
    stages: int | None = None,
    max_latency_s: float | None = None,
    min_rate_hz: float | None = None,
    transfers: bool = False,
    compute: bool = True,
    slowdown: float = 1.0,
    reading: Reading | None = None,
    out: Path | None = None,
    labels: Path | None = None,
    annotate: Path | None = None,
    timeline: Path | None = None,
    optimisation: Optimisation = "all",
    credits: int | None = None,
    shapes: Shapes | None = None,
    fixed: Fixed | None = None,
    states: States | None = None,
    processors: Sequence[str] | None = None,
    runtimes: Sequence[str] | None = None,
    watch: Watch | None = None,
    progress: Progress | None = None,
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
        stages: how many stages the plan must have; None for the best.
        max_latency_s: longest predicted latency allowed on the board, in seconds; None for any.
        min_rate_hz: fewest predicted frames per second allowed there; None for any.
        transfers: whether moving a frame between the board's processors costs the stage that sends.
        compute: whether answers are computed; if not, they are zeros and nothing is compared.
        slowdown: how many times as long the board's processors take, so that this machine can
            keep up; what is planned and measured is slower by as much.
        reading: how what is there becomes frames.
        out: a file for the answers; see `run_network`.
        labels: a text file with the name of a class a line.
        annotate: a new folder for the pictures, each with what was predicted on it.
        timeline: a file that says when each stage ran each frame.
        optimisation: graph optimisation level of what computes here.
        credits: frames in flight at once; None for the plan's own.
        shapes: static shapes of the inputs that leave some size open, by input name.
        fixed: a number for each input that is to be constant, by input name.
        states: for each output that is an input of the next frame, the input, by output name.
        processors: names of the board's processors to use; None for all.
        runtimes: which runtimes may compute here, the first does; None for the default.
        watch: given the pipeline, a context in which it runs.
        progress: told what is being done.

    Raises:
        InputError: the network, the frames, the plan or the board cannot be used.
        InfeasibleError: no plan meets the limits, or this machine computes longer than the board.
        StageFailedError: a stage raised.
    """
    writing = Writing(out=out, labels=labels, annotate=annotate, timeline=timeline)
    wish = Wish(stages=stages, max_latency_s=max_latency_s, min_rate_hz=min_rate_hz)
    _check_choices(plan, wish, writing, slowdown, compute=compute)
    card = find_card(net)
    given = load(plan, Plan).value if plan is not None else None
    found = open_on_board(
        net, board, transfers=transfers, shapes=with_card(shapes, card), fixed=fixed, states=states
    )
    if found.network is None or found.blocks is None:
        raise InputError(
            f"the board {found.board.name} has times of {net}, and there is no network of that "
            "name here to be run; give the path of its ONNX file"
        )
    profile = found.profile
    opened = open_blocks(found.network, found.blocks, runtimes=runtimes, optimisation=optimisation)
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
            timeline=timeline,
            watch=watch,
            progress=progress,
        )
        stand_ins.check()
    return msgspec.structs.replace(
        result,
        board=found.board.name,
        slowdown=slowdown,
        unsplit_rate_hz=None if single_hz is None else single_hz / slowdown,
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


def _check_choices(
    plan: Path | None, wish: Wish, writing: Writing, slowdown: float, *, compute: bool
) -> None:
    if not 1 <= slowdown <= _SLOWEST:
        raise InputError(
            f"a slowdown of {slowdown} is none: give a factor from 1 to {_SLOWEST:.0f}"
        )
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
