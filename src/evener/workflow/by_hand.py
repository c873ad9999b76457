"""Predict a plan whose cuts and processors the user chose."""

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Granularity, Profile
from evener.network.blocks import Blocks
from evener.network.cuts import segments_between
from evener.plan.foresee import with_simulated
from evener.plan.manual import Seat, check_seats, make_manual_plan
from evener.workflow.opened import Fixed, Opened, Progress, Shapes, States
from evener.workflow.plan import with_nodes
from evener.workflow.profile import profile_opened, refine_profile
from evener.workflow.times import planning_times
from evener.workflow.wish import interpolated


def plan_by_hand(
    net: str,
    *,
    cuts: Sequence[int],
    on: Sequence[tuple[str, int | None]],
    granularity: Granularity = "paper",
    max_live: int | None = None,
    runtimes: Sequence[str] | None = None,
    shapes: Shapes | None = None,
    fixed: Fixed | None = None,
    states: States | None = None,
    profile: Path | None = None,
    board: str | None = None,
    transfers: bool = False,
    progress: Progress | None = None,
) -> Plan:
    """Say what a plan of your own cuts and processors will reach.

    With a profile from a file, or a board, everything is taken from it. Without one, the network is
    profiled on this machine, and the times that the plan rests on are measured. It is a prediction
    either way.

    Args:
        net: path of an ONNX file, or name of a built-in network; with a board also the name of a
            network in the board's table.
        cuts: the block after which each stage but the last ends, counted from 0, ascending.
        on: for each stage the name of a processor and how many of its cores; None for all.
        granularity: rule by which the blocks are made.
        max_live: most tensors that cross a cut, by the rule "node"; None for 2.
        runtimes: names of the runtimes to use; None for all that are installed.
        shapes: static shapes of the inputs that leave some size open, by input name.
        fixed: a number for each input that is to be constant, by input name.
        states: for each output that is an input of the next frame, the input, by output name.
        profile: a profile file, from this or another machine.
        board: name of a known board, or path of a board's file; its table has the times.
        transfers: whether moving a frame between the board's processors costs the stage that sends.
        progress: told what is being done.

    Raises:
        InputError: the network, a cut, a processor, the profile or the board cannot be used.
        InfeasibleError: a processor cannot run the blocks of its stage.

    Example:
        >>> plan = plan_by_hand("alexnet", board="khadas-vim3", cuts=[4], on=[("G", 1), ("B", 4)])
        >>> plan.outline
        '2 stages: G[] > B[2, 3, 4, 5]'
    """
    seats = [Seat(*each) for each in on]
    found = planning_times(
        net,
        granularity=granularity,
        max_live=max_live,
        space="full",
        processors=None,
        runtimes=runtimes,
        shapes=shapes,
        fixed=fixed,
        states=states,
        profile=profile,
        board=board,
        transfers=transfers,
        precision=None,
        progress=progress,
    )
    if not isinstance(found, Opened):
        known, opened = found
        if opened is not None:
            _segments(known.network, opened.blocks, cuts)
        plan = with_simulated(_predicted(known, cuts, seats), known)
        return with_nodes(plan, opened)
    segments = _segments(found.network.name, found.blocks, cuts)
    check_seats(seats, len(segments), found.machine.processors)
    kept = profile_opened(found, progress=progress)
    plan = _predicted(kept.value, cuts, seats)
    while wanted := interpolated(kept.value, [plan]):
        # Once measured, a runtime may be slower than another is estimated to be.
        kept = refine_profile(found, kept.value, wanted, progress=progress)
        plan = _predicted(kept.value, cuts, seats)
    return with_nodes(with_simulated(plan, kept.value), found)


def _segments(network: str, blocks: Blocks, cuts: Sequence[int]) -> tuple[range, ...]:
    return segments_between(
        cuts, blocks=len(blocks.blocks), network=network, formed=blocks.form_segment
    )


def _predicted(profile: Profile, cuts: Sequence[int], seats: Sequence[Seat]) -> Plan:
    started = time.perf_counter()
    plan = make_manual_plan(profile, cuts=cuts, seats=seats)
    return msgspec.structs.replace(plan, elapsed_s=time.perf_counter() - started)
