"""Plan a network: profile it if need be, decide, measure what was only interpolated, try it."""

import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final, Literal

import msgspec

from evener.artifacts.files import Kept
from evener.artifacts.plan import Objective, Plan
from evener.artifacts.profile import Granularity, Profile, SegmentTime
from evener.errors import InfeasibleError, InputError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.frames import random_frames
from evener.network.model import load_network
from evener.plan.bound import find_bound
from evener.plan.count import paper_configurations
from evener.plan.decide import candidates, make_plan
from evener.plan.foresee import with_simulated
from evener.plan.problem import PAPER_STAGES, make_problem
from evener.profile.refine import estimated_segments
from evener.workflow.board import open_on_board
from evener.workflow.cache import keep, recall
from evener.workflow.live import choose_live
from evener.workflow.opened import Fixed, Opened, Progress, Shapes, States, open_network
from evener.workflow.profile import (
    load_profile,
    only_runtimes,
    profile_opened,
    refine_profile,
)
from evener.workflow.steps import code_version

BEST: Final = 5  # plans tried on the machine
_REFINEMENTS: Final = 4  # rounds of measuring what a plan relies on; two are usual
_BOUND_REFINEMENTS: Final = 12  # rounds of measuring what the bound rests on, if it is far above
_NEAR: Final = 1.05  # a bound within five per cent of the plan says enough


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller asks of a plan.

    Attributes:
        method: how the best is found.
        objective: what it is to be best at.
        space: which plans are considered.
        max_latency_s: longest predicted latency allowed, in seconds.
        stages: how many stages it must have; None for any number.
    """

    method: Literal["dp", "exhaustive"] = "dp"
    objective: Objective = "throughput"
    space: Literal["paper", "full"] = "full"
    max_latency_s: float | None = None
    stages: int | None = None


def plan_network(
    net: str,
    *,
    granularity: Granularity = "paper",
    max_live: int | None = None,
    method: Literal["dp", "exhaustive"] = "dp",
    objective: Objective = "throughput",
    space: Literal["paper", "full"] = "full",
    max_latency_s: float | None = None,
    stages: int | None = None,
    processors: Sequence[str] | None = None,
    runtimes: Sequence[str] | None = None,
    shapes: Shapes | None = None,
    fixed: Fixed | None = None,
    states: States | None = None,
    profile: Path | None = None,
    board: str | None = None,
    transfers: bool = False,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Plan:
    """Decide which blocks of a network run on which processors.

    With a board, or a profile from a file, the plan is a prediction. Without one, the network is
    profiled on this machine, the best few plans are tried against each other, and the winner is
    returned with what it reached in `measured`.

    Args:
        net: path of an ONNX file, or name of a built-in network; with a board also the name of a
            network in the board's table.
        granularity: rule by which it is cut.
        max_live: most tensors that cross a cut, by the rule "node"; None for 2.
        method: "dp", or "exhaustive" to check it.
        objective: what the plan is to be best at.
        space: "paper" for three non-empty stages on three processors; "full" for every plan.
        max_latency_s: longest latency allowed, in seconds.
        stages: how many stages the plan must have; None for any number.
        processors: names of the processors to use; None for all.
        runtimes: names of the runtimes to use; None for all that are installed.
        shapes: static shapes of the inputs that leave some size open, by input name.
        fixed: a number for each input that is to be constant, by input name.
        states: for each output that is an input of the next frame, the input, by output name.
        profile: a profile file, from this or another machine.
        board: name of a known board, or path of a board's file; its table has the times.
        transfers: whether moving a frame between the board's processors costs the stage that sends.
        fresh: profile and try again even if results are kept.
        progress: told what is being done.

    Raises:
        InputError: the network, a shape, a processor, the profile or the board cannot be used.
        InfeasibleError: no plan meets the limits.

    Example:
        >>> round(plan_network("alexnet", board="khadas-vim3", space="paper").rate_hz, 1)
        21.2
    """
    wish = Wish(
        method=method,
        objective=objective,
        space=space,
        max_latency_s=max_latency_s,
        stages=stages,
    )
    if board is not None:
        others = (max_live, profile, runtimes)
        if granularity != "paper" or any(other is not None for other in others):
            raise InputError(
                "a board's table has times of its own, for parts and runtimes of its own: give "
                "--board, or --granularity, --max-live, --profile and --runtimes"
            )
        known = open_on_board(
            net, board, transfers=transfers, shapes=shapes, fixed=fixed, states=states
        ).profile
        return with_simulated(decide(known, wish, processors), known)
    if transfers:
        raise InputError("only a board has times of transfers: give --board with --transfers")
    if profile is not None:
        # The file may be of another machine: its processors and runtimes count, not those here.
        opened = open_network(
            net,
            granularity=granularity,
            max_live=max_live,
            shapes=shapes,
            fixed=fixed,
            states=states,
        )
        known = only_runtimes(load_profile(profile, opened).value, runtimes)
        return with_nodes(with_simulated(decide(known, wish, processors), known), opened.blocks)
    opened = open_network(
        net,
        granularity=granularity,
        max_live=max_live,
        shapes=shapes,
        fixed=fixed,
        states=states,
        processors=processors,
        runtimes=runtimes,
    )
    if space == "paper":
        check_paper(opened)
    plan, _ = plan_opened(opened, wish, fresh=fresh, progress=progress)
    return with_nodes(plan, opened.blocks)


def with_nodes(plan: Plan, blocks: Blocks) -> Plan:
    """Name the nodes of each stage of a plan by the rule "node"; return others as they are."""
    if plan.granularity != "node":
        return plan
    stages = tuple(
        msgspec.structs.replace(
            stage, nodes=blocks.segment_nodes(stage.first_block, stage.last_block)
        )
        for stage in plan.stages
    )
    return msgspec.structs.replace(plan, stages=stages)


def count_plans(
    net: str,
    *,
    granularity: Granularity = "paper",
    max_live: int | None = None,
    shapes: Shapes | None = None,
    fixed: Fixed | None = None,
    states: States | None = None,
    board: str | None = None,
) -> tuple[int, int]:
    """Count the cut points of a network and its plans in the paper's space, whatever the machine.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        granularity: rule by which it is cut.
        max_live: most tensors that cross a cut, by the rule "node"; None for 2.
        shapes: static shapes of the inputs that leave some size open, by input name.
        fixed: a number for each input that is to be constant, by input name.
        states: for each output that is an input of the next frame, the input, by output name.
        board: a board whose table names the network and its parts.

    Returns:
        N cut points, and C(N,2)·3! plans of three non-empty stages on three processors; by the rule
        "node" fewer, as only nested cuts follow each other.

    Example:
        >>> count_plans("squeezenet")
        (18, 918)
    """
    if board is not None:
        points = (
            len(open_on_board(net, board, shapes=shapes, fixed=fixed, states=states).profile.blocks)
            - 1
        )
        return points, paper_configurations(points)
    network = load_network(net, shapes=shapes, fixed=fixed, states=states)
    blocks = cut_into_blocks(network, granularity, max_live=max_live)
    return len(blocks.cuts), paper_configurations(len(blocks.cuts), blocks.form_segment)


def check_paper(opened: Opened) -> None:
    """Refuse the paper's space on a machine of fewer than three processors, before measuring.

    Raises:
        InfeasibleError: too few processors; the text still counts the plans.
    """
    found = len(opened.machine.processors)
    if found < PAPER_STAGES:
        points = len(opened.blocks.cuts)
        plans = paper_configurations(points, opened.blocks.form_segment)
        raise InfeasibleError(
            f"the space 'paper' puts {PAPER_STAGES} stages on {PAPER_STAGES} processors, and "
            f"{opened.machine.host} has {found}; {opened.network.name} has {points} cut points, "
            f"which make {plans} such plans. Take the space 'full', or "
            "--profile of a machine with more processors",
            needed=PAPER_STAGES,
            available=found,
        )


def plan_opened(
    opened: Opened,
    wish: Wish,
    *,
    fresh: bool = False,
    progress: Progress | None = None,
) -> tuple[Plan, Kept[Profile]]:
    """Plan an opened network on this machine, and return the profile it rests on too."""
    profile = settle_profile(opened, wish, fresh=fresh, progress=progress)
    return plan_live(opened, profile, wish, fresh=fresh, progress=progress), profile


def settle_profile(
    opened: Opened,
    wish: Wish,
    *,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Kept[Profile]:
    """Profile an opened network, and time what the best plans rely on until nothing is a guess."""
    kept = profile_opened(opened, fresh=fresh, progress=progress)
    for _ in range(_REFINEMENTS):
        wanted = interpolated(kept.value, _best(kept.value, wish))
        if not wanted:
            break
        kept = refine_profile(opened, kept.value, wanted, progress=progress)
    for _ in range(_BOUND_REFINEMENTS):
        # The bound rests on the estimates that flatter it most; timing those brings it down.
        flattering = _estimates_of_bound(kept.value, wish)
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
    """
    inputs = {"profile": profile.sha256, "wish": wish, "code": code_version("plan", "run")}
    kept = None if fresh else recall(Plan, profile.value.network, inputs)
    if kept is not None:
        return kept.value
    chosen, *rivals = _best(profile.value, wish)
    if rivals:
        if progress is not None:
            progress(f"trying the best {len(rivals) + 1} plans", 0, len(rivals) + 1)
        elapsed_s = chosen.elapsed_s
        chosen = choose_live(
            opened,
            (chosen, *rivals),
            random_frames(opened.network.inputs, 8, seed=0),
        )
        chosen = msgspec.structs.replace(
            chosen, what="plan", method=wish.method, elapsed_s=elapsed_s
        )
    chosen = with_simulated(chosen, profile.value)
    made_from = {"profile": profile.sha256}
    return keep(chosen, profile.value.network, inputs, made_from=made_from).value


def decide(profile: Profile, wish: Wish, processors: Sequence[str] | None = None) -> Plan:
    """Return the best plan under a profile, with the time it took to find."""
    started = time.perf_counter()
    plan = make_plan(
        profile,
        objective=wish.objective,
        method=wish.method,
        space=wish.space,
        max_latency_s=wish.max_latency_s,
        stages=wish.stages,
        processors=processors,
    )
    return msgspec.structs.replace(plan, elapsed_s=time.perf_counter() - started)


def _best(profile: Profile, wish: Wish) -> tuple[Plan, ...]:
    """Return the best plan under a profile and its rivals, if the wish leaves any."""
    first = decide(profile, wish)
    if wish.method != "dp" or wish.space != "full" or wish.stages is not None:
        return (first,)
    rest = candidates(profile, best=BEST, max_latency_s=wish.max_latency_s)
    allowed = (
        plan
        for plan in rest
        if plan.stages != first.stages
        and (wish.max_latency_s is None or plan.latency_s <= wish.max_latency_s)
    )
    rivals = (msgspec.structs.replace(plan, objective=wish.objective) for plan in allowed)
    return (first, *islice(rivals, BEST - 1))


def _estimates_of_bound(profile: Profile, wish: Wish) -> tuple[SegmentTime, ...]:
    """List the estimates that keep the bound far above the best plan; none if it is near."""
    bound = find_bound(make_problem(profile))
    if bound.rate_hz <= _NEAR * decide(profile, wish).rate_hz:
        return ()
    return tuple(one for one in bound.segments if one.interpolated)


def interpolated(profile: Profile, plans: Sequence[Plan]) -> tuple[SegmentTime, ...]:
    """List the times that some plans rest on and that nobody has measured, each once."""
    found = (one for plan in plans for one in estimated_segments(profile, plan))
    return tuple(dict.fromkeys(found))
