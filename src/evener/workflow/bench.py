"""Measure plans against single, all cores and copies, network by network, in interleaved runs."""

from collections.abc import Sequence
from math import exp, log
from statistics import mean

import msgspec

from evener.artifacts.comparison import Comparison, Ratio, Row
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.trace import Trace
from evener.network.frames import random_frames
from evener.plan.baselines import BASELINES
from evener.plan.decide import make_baseline
from evener.run.compare import paired_ratio
from evener.runtime.session import Array, Optimisation
from evener.workflow.live import measure_plans, summarise
from evener.workflow.opened import Fixed, Opened, Progress, Shapes, States, open_network
from evener.workflow.plan import plan_opened
from evener.workflow.wish import Wish


def bench_networks(
    nets: Sequence[str],
    *,
    rounds: int = 15,
    max_latency_s: float | None = None,
    optimisation: Optimisation = "all",
    processors: Sequence[str] | None = None,
    runtimes: Sequence[str] | None = None,
    shapes: Shapes | None = None,
    fixed: Fixed | None = None,
    states: States | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Measure the chosen plan of each network against single, all cores and copies.

    All plans of a network are open at once and run in turn, in an order drawn anew each round,
    so that a drift of the machine's speed meets all of them; ratios are taken round by round.

    Args:
        nets: paths of ONNX files, or names of built-in networks.
        rounds: how often each plan runs.
        max_latency_s: longest predicted latency of the plan, in seconds.
        optimisation: graph optimisation level of the runtimes.
        processors: names of the processors to use; None for all.
        runtimes: names of the runtimes to use; None for all that suit the optimisation level.
        shapes: static shapes of the inputs that leave some size open, by input name.
        fixed: a number for each input that is to be constant, by input name.
        states: for each output that is an input of the next frame, the input, by output name.
        progress: told what is being done.

    Raises:
        InputError: a network, a shape or a processor cannot be used.
        InfeasibleError: no plan meets the latency limit.
    """
    found = []
    for index, net in enumerate(nets):
        opened = open_network(
            net,
            shapes=shapes,
            fixed=fixed,
            states=states,
            processors=processors,
            runtimes=runtimes,
            optimisation=optimisation,
        )
        plan, profile = plan_opened(
            opened,
            Wish(max_latency_s=max_latency_s),
            progress=progress,
        )
        if progress is not None:
            progress(f"measuring {opened.network.name}", index, len(nets))
        frames = random_frames(opened.network.inputs, 8, seed=0)
        found.append(compare_opened(opened, plan, profile.value, frames, rounds=rounds))
    return together(found)


def compare_opened(
    opened: Opened,
    plan: Plan,
    profile: Profile,
    frames: Sequence[tuple[Array, ...]],
    *,
    rounds: int,
) -> Comparison:
    """Measure a plan of one network against its baselines.

    Args:
        opened: the network.
        plan: the plan. Plans that run the same on the same cores are measured once, so that
            noise makes no difference where there is none.
        profile: what the plan rests on; the baselines are made from it.
        frames: what everything runs on.
        rounds: how often each runs.
    """
    plans: dict[str, Plan] = {"plan": msgspec.structs.replace(plan, what="plan")}
    plans |= {what: make_baseline(profile, what) for what in BASELINES}
    alike = {kind: _what_runs(one) for kind, one in plans.items()}
    first = {what: kind for kind, what in reversed(alike.items())}
    distinct = {kind: plans[kind] for kind in first.values()}
    measured = measure_plans(opened, distinct, frames, rounds=rounds)
    traces = {kind: measured[first[what]] for kind, what in alike.items()}
    rows = tuple(_row(opened.network.name, plans[kind], traces[kind]) for kind in plans)
    rivals = [row for row in rows if row.kind != "plan"]
    best = max(rivals, key=lambda row: row.rate_hz)
    paired = paired_ratio(traces["plan"], traces[best.kind])
    ratio = Ratio(
        network=opened.network.name,
        over=best.kind,
        median=paired.median,
        low=paired.low,
        high=paired.high,
    )
    return Comparison(rows=rows, ratios=(ratio,), ratio_best=paired.median, rounds=rounds)


def together(comparisons: Sequence[Comparison]) -> Comparison:
    """Put the comparisons of several networks into one, with the geometric mean of the ratios."""
    ratios = tuple(ratio for one in comparisons for ratio in one.ratios)
    return Comparison(
        rows=tuple(row for one in comparisons for row in one.rows),
        ratios=ratios,
        ratio_best=exp(mean(log(ratio.median) for ratio in ratios)),
        rounds=comparisons[0].rounds,
    )


def describe(plan: Plan) -> str:
    """Name a plan in a few words, such as "2 stages: 1+1 cores".

    Example:
        >>> from evener.artifacts.plan import Lane, Part, Stage
        >>> part = Part(first_block=0, last_block=3, runtime="onnxruntime")
        >>> lane = Lane(processor="cpu0", cores=(0,), parts=(part,), time_s=0.1)
        >>> stage = Stage(first_block=0, last_block=3, inputs=("x",), outputs=("y",),
        ...               lanes=(lane, lane))
        >>> describe(Plan(network="n", network_sha256="", granularity="paper", method="dp",
        ...     objective="throughput", stages=(stage,), credits=2, rate_hz=20.0, latency_s=0.1,
        ...     cut_points=3, configurations=1))
        '2 copies: cpu0[0] | cpu0[0]'
    """
    return plan.outline


def _what_runs(plan: Plan) -> tuple[object, ...]:
    """Return all that makes a difference when a plan runs."""
    lanes = [
        (index, lane.processor, lane.cores, lane.parts)
        for index, stage in enumerate(plan.stages)
        for lane in stage.lanes
    ]
    return plan.credits, *lanes


def _row(network: str, plan: Plan, traces: Sequence[Trace]) -> Row:
    found = summarise(traces, rivals=0)
    return Row(
        network=network,
        name=describe(plan),
        kind=plan.what,
        rate_hz=found.rate_hz,
        rate_low_hz=found.rate_low_hz,
        rate_high_hz=found.rate_high_hz,
        latency_p50_s=found.latency_p50_s,
        latency_p99_s=found.latency_p99_s,
        predicted_rate_hz=plan.rate_hz,
    )
