"""Plan a network: profile it if need be, decide, measure what was only interpolated, try it."""

from collections.abc import Sequence
from typing import Final, Unpack

import msgspec

from evener.artifacts.files import Kept
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.errors import InfeasibleError, InputError
from evener.network.frames import random_frames
from evener.plan.foresee import with_simulated
from evener.plan.memory import limit_memory
from evener.profile.energy import find_meter
from evener.runtime.session import Array
from evener.workflow.admit import admitted, decide_admitted
from evener.workflow.cache import keep, recall
from evener.workflow.choices import settle
from evener.workflow.code import PLAN_CODE
from evener.workflow.cutting import Cutting
from evener.workflow.live import choose_live
from evener.workflow.opened import Opened, Progress
from evener.workflow.opening import Engines, OpeningChoices
from evener.workflow.profile import profile_opened, refine_profile
from evener.workflow.shift import can_shift, shift, with_spare
from evener.workflow.steps import code_version
from evener.workflow.times import Basis, BasisChoices, planning_times
from evener.workflow.wish import (
    BEST,
    Wish,
    WishChoices,
    best_plans,
    decide,
    estimates_of_bound,
    interpolated,
)

_REFINEMENTS: Final = 4  # rounds of measuring what a plan relies on; two are usual
_BOUND_REFINEMENTS: Final = 12  # rounds of measuring what the bound rests on, if it is far above


class PlanChoices(OpeningChoices, WishChoices, BasisChoices, total=False):
    """What `plan_network` takes as keyword arguments."""


def plan_network(
    net: str,
    *,
    cutting: Cutting = Cutting(),
    engines: Engines = Engines(),
    wish: Wish = Wish(),
    basis: Basis = Basis(),
    fresh: bool = False,
    progress: Progress | None = None,
    **choices: Unpack[PlanChoices],
) -> Plan:
    """Decide which blocks of a network run on which processors.

    With a board, or a profile from a file, the plan is a prediction. Without one, the network is
    profiled on this machine, the best few plans are tried against each other, and the winner is
    returned with what it reached in `measured`.

    Args:
        net: path of an ONNX file, or name of a built-in network; with a board also the name of a
            network in the board's table.
        cutting: how it is read and cut.
        engines: what may compute it.
        wish: what the plan is to be best at, within which limits.
        basis: where its times are from.
        fresh: profile and try again even if results are kept.
        progress: told what is being done.
        choices: fields of these records, such as `objective="latency"` for that of `wish`.

    Raises:
        InputError: the network, a shape, a processor, the profile or the board cannot be used.
        InfeasibleError: no plan meets the limits.

    Example:
        >>> round(plan_network("alexnet", board="khadas-vim3", space="paper").rate_hz, 1)
        21.2
    """
    cutting, engines, wish, basis = settle(choices, cutting, engines, wish, basis)
    found = planning_times(net, cutting, engines, basis, space=wish.space, progress=progress)
    if isinstance(found, Opened):
        plan, _ = plan_opened(found, wish, fresh=fresh, progress=progress)
        return with_nodes(plan, found)
    known, opened = found
    predicted = decide_admitted(
        opened, known, lambda times: (decide(times, wish, engines.processors),)
    )
    return with_nodes(with_simulated(predicted[0], known), opened)


def with_nodes(plan: Plan, opened: Opened | None) -> Plan:
    """Name the nodes of each stage of a plan by the rule "node"; return others as they are."""
    if opened is None or plan.granularity != "node":
        return plan
    stages = tuple(
        msgspec.structs.replace(
            stage, nodes=opened.blocks.segment_nodes(stage.first_block, stage.last_block)
        )
        for stage in plan.stages
    )
    return msgspec.structs.replace(plan, stages=stages)


def metered() -> bool:
    """Return whether something meters the energy of this machine."""
    return find_meter() is not None


def check_energy(wish: Wish) -> None:
    """Refuse to weigh energy on this machine, before measuring.

    Raises:
        InputError: the wish is about energy, and nothing here meters it.
    """
    if metered():
        return
    if wish.objective == "energy" or wish.max_energy_j is not None:
        raise InputError(
            "nothing here measures energy: give --board or --profile with energies, or plan for "
            "throughput or latency"
        )


def plan_opened(
    opened: Opened,
    wish: Wish,
    *,
    fresh: bool = False,
    progress: Progress | None = None,
) -> tuple[Plan, Kept[Profile]]:
    """Plan an opened network on this machine, and return the profile it rests on too.

    If no mixture of precisions is admitted, it is planned in f32 alone.
    """
    profile = settle_profile(opened, wish, fresh=fresh, progress=progress)
    try:
        return plan_live(opened, profile, wish, fresh=fresh, progress=progress), profile
    except InfeasibleError:
        if not opened.variants.networks:
            raise
    return plan_opened(opened.in_f32, wish, fresh=fresh, progress=progress)


def settle_profile(
    opened: Opened,
    wish: Wish,
    *,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Kept[Profile]:
    """Profile an opened network, and time what the best plans rely on until nothing is a guess."""
    check_energy(wish)
    kept = profile_opened(opened, fresh=fresh, progress=progress)
    for _ in range(_REFINEMENTS):
        wanted = interpolated(kept.value, best_plans(kept.value, wish))
        if not wanted:
            break
        kept = refine_profile(opened, kept.value, wanted, progress=progress)
    for _ in range(_BOUND_REFINEMENTS):
        # The bound rests on the estimates that flatter it most; timing those brings it down.
        flattering = estimates_of_bound(kept.value, wish)
        if not flattering:
            break
        kept = refine_profile(opened, kept.value, flattering, progress=progress)
    return kept


def plan_live(
    opened: Opened,
    profile: Kept[Profile],
    wish: Wish,
    *,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Plan:
    """Try the best few plans under a profile on the machine, and return the winner.

    The winner is kept in the user's cache and returned again, unless `fresh`.

    Raises:
        InfeasibleError: no plan meets the limits, or the answers of none are near enough.
    """
    inputs = {"profile": profile.sha256, "wish": wish, "code": code_version(*PLAN_CODE)}
    if opened.variants.lowering is not None:
        inputs["lowering"] = opened.variants.lowering  # names what judged by how it judged
    kept = None if fresh else recall(Plan, profile.value.network, inputs)
    if kept is not None:
        return kept.value
    near = admitted(opened, best_plans(profile.value, wish)[:BEST])
    if not near:
        raise InfeasibleError(
            f"the best plans of {opened.network.name} mix precisions, and the answers of none are "
            "near enough to those in f32; plan in f32, or allow a greater --max-error"
        )
    chosen, *rivals = near
    if rivals:
        if progress is not None:
            progress(f"trying the best {len(rivals) + 1} plans", 0, len(rivals) + 1)
        elapsed_s = chosen.elapsed_s
        frames = random_frames(opened.network.inputs, 8, seed=0)
        chosen = choose_live(
            opened,
            _balanced(opened, profile.value, near, wish, frames, progress),
            frames,
            max_latency_s=wish.max_latency_s,
        )
        chosen = msgspec.structs.replace(
            chosen, what="plan", method=wish.method, elapsed_s=elapsed_s
        )
    chosen = with_simulated(chosen, profile.value)
    made_from = {"profile": profile.sha256}
    return keep(chosen, profile.value.network, inputs, made_from=made_from).value


def _balanced(
    opened: Opened,
    profile: Profile,
    plans: Sequence[Plan],
    wish: Wish,
    frames: Sequence[tuple[Array, ...]],
    progress: Progress | None,
) -> tuple[Plan, ...]:
    """Balance the stages of the most promising pipeline of some plans on the machine."""
    at = next((number for number, plan in enumerate(plans) if can_shift(plan)), None)
    if at is None or opened.variants.networks:
        return tuple(plans)
    known, limit_s = limit_memory(profile, wish.memory), wish.max_latency_s
    balanced = shift(opened, known, plans[at], frames, max_latency_s=limit_s, progress=progress)
    rest = (plan for plan in plans[at + 1 :] if plan.stages != balanced.stages)
    return (*plans[:at], balanced, *with_spare(known, balanced, max_latency_s=limit_s), *rest)
