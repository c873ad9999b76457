"""Predict a plan whose cuts and processors the user chose."""

import time
from collections.abc import Sequence
from typing import Unpack

import msgspec

from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.errors import InputError
from evener.network.cuts import segments_between
from evener.network.uncut import check_can_be_cut
from evener.plan.foresee import with_simulated
from evener.plan.manual import Seat, check_seats, make_manual_plan
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting, CuttingChoices
from evener.workflow.opened import Opened, Progress
from evener.workflow.opening import Engines
from evener.workflow.plan import with_nodes
from evener.workflow.profile import profile_opened, refine_profile
from evener.workflow.times import Basis, BasisChoices, planning_times
from evener.workflow.wish import interpolated


class HandChoices(CuttingChoices, BasisChoices, total=False):
    """What `plan_by_hand` takes as keyword arguments, beside the runtimes."""

    runtimes: Sequence[str] | None


def plan_by_hand(
    net: str,
    *,
    cuts: Sequence[int],
    on: Sequence[tuple[str, int | None]],
    cutting: Cutting = Cutting(),
    engines: Engines = Engines(),
    basis: Basis = Basis(),
    progress: Progress | None = None,
    **choices: Unpack[HandChoices],
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
        cutting: how the network is read and cut into the blocks that `cuts` counts.
        engines: the runtimes that may compute it; `on` says the processors, and all is in f32.
        basis: where the times are from.
        progress: told what is being done.
        choices: fields of these records.

    Raises:
        InputError: the network, a cut, a processor, the profile or the board cannot be used; or
            processors or a precision are left to choose.
        InfeasibleError: a processor cannot run the blocks of its stage.

    Example:
        >>> plan = plan_by_hand("alexnet", board="khadas-vim3", cuts=[4], on=[("G", 1), ("B", 4)])
        >>> plan.outline
        '2 stages: G[] > B[2, 3, 4, 5]'
    """
    cutting, engines, basis = settle(choices, cutting, engines, basis)
    if engines.processors is not None or engines.precision is not None:
        raise InputError(
            "a plan by hand leaves nothing to choose: name each stage's processor with --on, and "
            "leave --processors and --precision out"
        )
    seats = [Seat(*each) for each in on]
    found = planning_times(net, cutting, engines, basis, progress=progress)
    if not isinstance(found, Opened):
        known, opened = found
        if opened is not None:
            _segments(opened, cuts)
        plan = with_simulated(_predicted(known, cuts, seats), known)
        return with_nodes(plan, opened)
    segments = _segments(found, cuts)
    check_seats(seats, len(segments), found.machine.processors)
    kept = profile_opened(found, progress=progress)
    plan = _predicted(kept.value, cuts, seats)
    while wanted := interpolated(kept.value, [plan]):
        # Once measured, a runtime may be slower than another is estimated to be.
        kept = refine_profile(found, kept.value, wanted, progress=progress)
        plan = _predicted(kept.value, cuts, seats)
    return with_nodes(with_simulated(plan, kept.value), found)


def _segments(opened: Opened, cuts: Sequence[int]) -> tuple[range, ...]:
    blocks = opened.blocks
    if cuts:
        check_can_be_cut(opened.network, blocks)
    return segments_between(
        cuts, blocks=len(blocks.blocks), network=opened.network.name, formed=blocks.form_segment
    )


def _predicted(profile: Profile, cuts: Sequence[int], seats: Sequence[Seat]) -> Plan:
    started = time.perf_counter()
    plan = make_manual_plan(profile, cuts=cuts, seats=seats)
    return msgspec.structs.replace(plan, elapsed_s=time.perf_counter() - started)
