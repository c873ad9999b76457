"""Predict a plan whose cuts and processors the user chose."""

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Granularity, Profile
from evener.network.cuts import segments_between
from evener.plan.foresee import with_simulated
from evener.plan.manual import Seat, check_seats, make_manual_plan
from evener.workflow.opened import Fixed, Progress, Shapes, States, open_network
from evener.workflow.plan import with_nodes
from evener.workflow.profile import load_profile, profile_opened, refine_profile
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
    progress: Progress | None = None,
) -> Plan:
    """Say what a plan of your own cuts and processors will reach.

    With a profile from a file everything is taken from it. Without one, the network is profiled on
    this machine, and the times that the plan rests on are measured. It is a prediction either way.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        cuts: the block after which each stage but the last ends, counted from 0, ascending.
        on: for each stage the name of a processor and how many of its cores; None for all.
        granularity: rule by which the blocks are made.
        max_live: most tensors that cross a cut, by the rule "node"; None for 2.
        runtimes: names of the runtimes to use; None for all that are installed.
        shapes: static shapes of the inputs that leave some size open, by input name.
        fixed: a number for each input that is to be constant, by input name.
        states: for each output that is an input of the next frame, the input, by output name.
        profile: a profile file, from this or another machine.
        progress: told what is being done.

    Raises:
        InputError: the network, a cut, a processor or the profile cannot be used.
        InfeasibleError: a processor cannot run the blocks of its stage.
    """
    seats = [Seat(*each) for each in on]
    opened = open_network(
        net,
        granularity=granularity,
        max_live=max_live,
        shapes=shapes,
        fixed=fixed,
        states=states,
        runtimes=runtimes,
    )
    blocks = opened.blocks
    segments = segments_between(
        cuts, blocks=len(blocks.blocks), network=opened.network.name, formed=blocks.form_segment
    )
    if profile is not None:
        known = load_profile(profile, opened).value
        return with_nodes(with_simulated(_predicted(known, cuts, seats), known), opened)
    check_seats(seats, len(segments), opened.machine.processors)
    kept = profile_opened(opened, progress=progress)
    plan = _predicted(kept.value, cuts, seats)
    while wanted := interpolated(kept.value, [plan]):
        # Once measured, a runtime may be slower than another is estimated to be.
        kept = refine_profile(opened, kept.value, wanted, progress=progress)
        plan = _predicted(kept.value, cuts, seats)
    return with_nodes(with_simulated(plan, kept.value), opened)


def _predicted(profile: Profile, cuts: Sequence[int], seats: Sequence[Seat]) -> Plan:
    started = time.perf_counter()
    plan = make_manual_plan(profile, cuts=cuts, seats=seats)
    return msgspec.structs.replace(plan, elapsed_s=time.perf_counter() - started)
