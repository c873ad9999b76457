"""Run the networks of the Pipe-All paper each way: by prediction, simulated, and by computing here.

A board's times are those of its table. Where it has none of a network, its cost model's stand in.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Final

import msgspec
import numpy as np
from board_networks import mobilenet
from pipe_all_paper import (
    BEST,
    PARALLEL,
    PEAK,
    PIPE_ALL,
    Basis,
    Found,
    Way,
    latency_as_the_paper,
)

from evener.artifacts.board import Board
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.trace import Trace
from evener.data.frames import Frames
from evener.errors import InfeasibleError
from evener.network.blocks import Blocks, cut_into_blocks
from evener.network.cost import is_main
from evener.network.frames import random_frames
from evener.network.light import FILES
from evener.network.model import Network, load_network
from evener.plan import make_baseline, make_plan
from evener.plan.baselines import Baseline
from evener.plan.board import board_blocks, board_profile
from evener.plan.problem import PAPER_STAGES
from evener.run.entry import Frame
from evener.workflow.compared import each_once
from evener.workflow.little import Little
from evener.workflow.live import choose_live, measure_plans, summarise
from evener.workflow.opened import Opened, open_blocks
from evener.workflow.profile import profile_opened, refine_profile
from evener.workflow.run import run_opened
from evener.workflow.stand_in import slowed, stand_in
from evener.workflow.wish import Wish, best_plans, interpolated

RUNTIME: Final = "onnxruntime"  # one for all, as the paper has
DISTINCT: Final = 4  # frames with answers of their own
SLOWDOWNS: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
_BESIDE: Final = 2.0  # slowdown to begin with where several stages are computed at once
_REFINEMENTS: Final = 3
_ROUNDS: Final = 3  # fewest frames of a run, in as many as are in flight at once
# A run ends when the slowest copy is done with its last frame, the others idle: at 12 times as many
# frames as are in flight that is a few per cent of the run, at 3 it was a tenth.
_COPIED_ROUNDS: Final = 12


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """How long it took to find the best plan of the paper's space.

    Attributes:
        network: name of the network.
        layers: convolutions and fully connected layers.
        points: where it may be cut.
        configurations: plans of the paper's space.
        dp_s: time of dynamic programming.
        exhaustive_s: time of trying every plan, by the same times.
        full: plans of any stages and copies.
        full_s: time of dynamic programming over those.
    """

    network: str
    layers: int
    points: int
    configurations: int
    dp_s: float
    exhaustive_s: float
    full: int
    full_s: float


def build(name: str) -> Network:
    """Return a network by the paper's name for it; MobileNet-V1 is in no package and built here."""
    return load_network(name) if name in FILES else mobilenet(np.random.default_rng(0))


def search(network: Network, board: Board) -> Search:
    """Plan a network over a board of three processors, both ways, and take the time.

    How long that takes depends on the number of cut points. A board's table may have fewer, so the
    times planned by are those of its cost model.

    Raises:
        RuntimeError: the two ways find plans of different rates.
    """
    untimed = msgspec.structs.replace(board, networks={})
    profile = board_profile(untimed, network, transfers=False)
    blocks = cut_into_blocks(network, "paper")
    make_plan(profile, space="paper")  # the first of all imports the solver of the bound
    plan, dp_s = timed(lambda: make_plan(profile, space="paper"))
    tried, exhaustive_s = timed(lambda: make_plan(profile, space="paper", method="exhaustive"))
    best, full_s = timed(lambda: make_plan(profile))
    if not np.isclose(plan.rate_hz, tried.rate_hz):
        raise RuntimeError(
            f"{network.name}: dynamic programming finds {plan.rate_hz} /s, trying every plan "
            f"{tried.rate_hz} /s"
        )
    nodes = {node.name: node for node in network.model.graph}
    return Search(
        network=network.name,
        layers=sum(is_main(nodes[name]) for part in blocks.nodes for name in part),
        points=plan.cut_points,
        configurations=plan.configurations,
        dp_s=dp_s,
        exhaustive_s=exhaustive_s,
        full=best.configurations,
        full_s=full_s,
    )


def timed(make: Callable[[], Plan]) -> tuple[Plan, float]:
    """Return what is made and the seconds it took."""
    started = time.perf_counter()
    made = make()
    return made, time.perf_counter() - started


def on_board(network: Network, board: Board) -> tuple[Profile, Blocks]:
    """Return what a network costs on a board, and the blocks that are timed there."""
    table = network.name if network.name in board.networks else None
    profile = board_profile(board, network, transfers=False, table=table)
    return profile, board_blocks(board, network, table=table)[1]


def predict(network: Network, board: Board) -> Found:
    """Say what each way is predicted to reach on a board."""
    profile, _ = on_board(network, board)
    alone, plans = plans_of(profile)
    return _found(
        profile,
        "predicted",
        board.name,
        alone={name: _predicted(name, plan) for name, plan in alone.items()},
        ways={name: _predicted(name, plan) for name, plan in plans.items()},
    )


def simulate(
    network: Network, board: Board, *, frames: int, slowdowns: Sequence[float] = SLOWDOWNS
) -> Found:
    """Run each way through the real pipeline, every answer computed, as slow as on the board.

    Where this machine computes longer than the board would, all take longer by the least of the
    slowdowns with which it does not; rates and latencies are given as without it.

    Raises:
        InfeasibleError: this machine is too slow even with the largest slowdown.
        RuntimeError: an answer is not the unsplit network's.
    """
    profile, blocks = on_board(network, board)
    opened = open_blocks(network, blocks, runtimes=[RUNTIME])
    pool = random_frames(network.inputs, DISTINCT, seed=0)
    alone, plans = plans_of(profile)
    used: list[float] = []
    used_beside: list[float] = []
    errors: list[float] = []

    def run(name: str, plan: Plan) -> Way:
        copied = any(len(stage.lanes) > 1 for stage in plan.stages)
        count = max(frames, (_COPIED_ROUNDS if copied else _ROUNDS) * plan.credits)
        lanes = sum(len(stage.lanes) for stage in plan.stages)
        least = max([min(_BESIDE, slowdowns[-1]), *used_beside]) if lanes > 1 else 0.0
        able = [slowdown for slowdown in slowdowns if slowdown >= least]
        trace, slowdown = _run_slowed(opened, plan, pool, count, able)
        used.append(slowdown)
        if lanes > 1:
            used_beside.append(slowdown)  # others side by side will need it too
        errors.append(trace.max_error or 0.0)
        return _ran(name, plan, [trace], slowdown)

    load = os.getloadavg()[0]
    ran_alone = {name: run(name, plan) for name, plan in alone.items()}
    found = _found(
        profile,
        "simulated",
        board.name,
        alone=ran_alone,
        ways={name: run(name, plan) for name, plan in plans.items()},
    )
    return msgspec.structs.replace(
        found, slowdown=max(used), max_error=max(errors), load=max(load, os.getloadavg()[0])
    )


def compute(network: Network, *, place: str, throttled: Little | None, rounds: int) -> Found:
    """Run each way on this machine's own cores, in turn, in an order drawn anew each round.

    Pipe-All has three stages where there are as many cores, else one for each core. Evener's plan
    is the best of those that it tries here, as `evener plan` does. Plans that run the same on the
    same cores are measured once, so that noise makes no difference where there is none.

    Args:
        network: what to run.
        place: what to call this machine.
        throttled: its throttled cores; None if all are equal.
        rounds: how often each way runs.

    Raises:
        InfeasibleError: there is only one core, or too little memory.
    """
    opened = open_blocks(network, cut_into_blocks(network, "paper"), runtimes=[RUNTIME])
    if throttled is not None:
        opened = throttled.on(opened)
    stages = min(PAPER_STAGES, sum(one.units for one in opened.machine.processors))
    if stages == 1:
        raise InfeasibleError("a pipeline needs two cores, and there is one", needed=2, available=1)
    profile = profile_opened(opened).value
    for _ in range(_REFINEMENTS):
        guessed = interpolated(profile, list(plans_of(profile, stages=stages)[1].values()))
        if not guessed:
            break
        profile = refine_profile(opened, profile, guessed).value
    alone, plans = plans_of(profile, stages=stages)
    frames = random_frames(network.inputs, 8, seed=0)
    load = os.getloadavg()[0]
    plans[BEST] = choose_live(opened, best_plans(profile, Wish()), frames)
    first = each_once(alone | plans)
    traces = measure_plans(
        opened,
        {name: plan for name, plan in (alone | plans).items() if name in first.values()},
        frames,
        rounds=rounds,
    )
    found = _found(
        profile,
        "computed",
        place,
        alone={name: _ran(name, plan, traces[first[name]]) for name, plan in alone.items()},
        ways={name: _ran(name, plan, traces[first[name]]) for name, plan in plans.items()},
    )
    return msgspec.structs.replace(found, load=max(load, os.getloadavg()[0]))


def plans_of(
    profile: Profile, *, stages: int | None = None
) -> tuple[dict[str, Plan], dict[str, Plan]]:
    """Return the whole network on each processor, and what the paper holds against the best of it.

    Args:
        profile: times of the network.
        stages: how many stages Pipe-All has; None for three on three whole processors.
    """
    processors = profile.machine.processors
    # Of equal cores each is a processor.
    what: Baseline = "all_cores" if len(processors) > 1 else "single"
    alone = {}
    for processor in processors:
        try:
            alone[processor.name] = make_baseline(profile, what, processors=[processor.name])
        except InfeasibleError:
            continue  # it cannot run some block, and so has no bar
    pipe = (
        make_plan(profile, space="paper") if stages is None else make_plan(profile, stages=stages)
    )
    return alone, {
        PARALLEL: make_baseline(profile, "copies"),
        PIPE_ALL: pipe,
        BEST: make_plan(profile),
    }


def _run_slowed(
    opened: Opened,
    plan: Plan,
    pool: Sequence[Frame],
    count: int,
    slowdowns: Sequence[float],
) -> tuple[Trace, float]:
    """Run a plan on simulated processors, slowed down until this machine keeps up."""
    refused: InfeasibleError | None = None
    for slowdown in slowdowns:
        slow = slowed(plan, slowdown)
        stand_ins = stand_in(slow, opened.runtimes[RUNTIME])
        frames = Frames.going_round(pool, count)
        result = run_opened(opened, slow, frames, stand_ins=stand_ins)
        if not result.holds:
            raise RuntimeError(
                f"{plan.network} by {plan.outline}: an answer is {result.trace.max_error} off, "
                f"more than {result.tolerance}"
            )
        try:
            stand_ins.check()
        except InfeasibleError as error:
            refused = error
            continue
        return result.trace, slowdown
    raise refused or InfeasibleError("no slowdown is given", needed=1, available=0)


def _found(
    profile: Profile,
    basis: Basis,
    place: str,
    *,
    alone: Mapping[str, Way],
    ways: Mapping[str, Way],
) -> Found:
    """Put ways together; Peak is the best of the processors alone."""
    peak = max(alone.values(), key=lambda way: way.rate_hz)
    return Found(
        network=profile.network,
        basis=basis,
        place=place,
        processors=tuple(alone.values()),
        ways=(msgspec.structs.replace(peak, name=PEAK), *ways.values()),
        estimate=profile.estimate,
        counts=profile.estimate_error is None,
    )


def _predicted(name: str, plan: Plan) -> Way:
    return Way(
        name=name,
        outline=plan.outline,
        rate_hz=plan.rate_hz,
        latency_s=latency_as_the_paper(
            plan, lambda stage, lane: plan.stages[stage].lanes[lane].time_s
        ),
    )


def _ran(name: str, plan: Plan, traces: Sequence[Trace], slowdown: float = 1.0) -> Way:
    """Say what a plan reached over some rounds, slowdown taken out."""
    lanes = [
        median(each)
        for each in zip(*([one.median_s for one in trace.stages] for trace in traces), strict=True)
    ]
    numbers = iter(range(len(lanes)))
    at = {
        (number, place): next(numbers)
        for number, stage in enumerate(plan.stages)
        for place in range(len(stage.lanes))
    }
    reached = summarise(traces, rivals=0)
    latency_s = latency_as_the_paper(plan, lambda *place: lanes[at[place]])
    return Way(
        name=name,
        outline=plan.outline,
        rate_hz=reached.rate_hz * slowdown,
        latency_s=latency_s / slowdown,
        latency_p50_s=reached.latency_p50_s / slowdown,
        latency_p99_s=reached.latency_p99_s / slowdown,
    )
