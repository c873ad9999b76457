"""Measure plans against single, all cores, copies and peers, in interleaved runs."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from math import exp, log
from statistics import mean, median
from typing import Final, TypedDict, Unpack

import msgspec

from evener.artifacts.comparison import Comparison, LeftOut, Limit, Ratio, Row
from evener.artifacts.lowering import Deviation
from evener.artifacts.plan import Lane, Plan
from evener.artifacts.processors import Machine
from evener.artifacts.profile import Profile
from evener.artifacts.trace import Trace
from evener.network.frames import random_frames
from evener.plan.baselines import BASELINES
from evener.plan.decide import make_baseline
from evener.profile.energy import find_meter
from evener.run.compare import paired_ratio
from evener.runtime.session import Array
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting
from evener.workflow.little import Little, little_cores
from evener.workflow.live import measure_plans, summarise
from evener.workflow.lower_rivals import Lower, lower_rivals
from evener.workflow.opened import Opened, Progress
from evener.workflow.opening import Engines, OpeningChoices, open_in_precisions
from evener.workflow.peers import find_peers
from evener.workflow.plan import plan_opened, settle_profile
from evener.workflow.race import entrant, race, without_those_too_big
from evener.workflow.several import each_its_own
from evener.workflow.wish import Wish

SPREADS: Final = "onnxruntime"  # the runtime of which one session can span unequal cores


class ContestChoices(TypedDict, total=False):
    """The fields of `Contest`, as keyword arguments."""

    rounds: int
    max_latency_s: float | None
    max_latency_share: float | None


class Contest(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller asks of a comparison.

    Attributes:
        rounds: how often each entrant runs.
        max_latency_s: longest latency of the plan, in seconds.
        max_latency_share: or so as a share of the 99th percentile of the copies' latency, which is
            measured first.
    """

    rounds: int = 15
    max_latency_s: float | None = None
    max_latency_share: float | None = None


class BenchChoices(OpeningChoices, ContestChoices, total=False):
    """What `bench_networks` takes as keyword arguments."""


def bench_networks(
    nets: Sequence[str],
    *,
    little: float | None = None,
    contest: Contest = Contest(),
    cutting: Cutting = Cutting(),
    engines: Engines = Engines(),
    progress: Progress | None = None,
    **choices: Unpack[BenchChoices],
) -> Comparison:
    """Measure the chosen plan of each network against single, all cores, copies and peers.

    All are open at once where memory allows, and run in turn, in an order drawn anew each round,
    so that a drift of the machine's speed meets all of them; ratios are taken round by round.

    Args:
        nets: paths of ONNX files, or names of built-in networks.
        little: throttle half of the fastest cluster to this share of its cores' time, for
            everything that is measured; None to leave the machine as it is.
        contest: how often each runs, and the latency that the plan must keep.
        cutting: how the networks are read and cut; of several networks each gets the shapes,
            numbers and states that name its own inputs or outputs.
        engines: what may compute them. In lower precisions, the best plan and the baselines are
            measured too, and set apart.
        progress: told what is being done.
        choices: fields of these records.

    Raises:
        InputError: a network, a shape or a processor cannot be used, or no core can be throttled.
        InfeasibleError: no plan meets the latency limit, or the plan does not fit in memory.
    """
    contest, cutting, engines = settle(choices, contest, cutting, engines)
    on_all = msgspec.structs.replace(engines, processors=None)  # throttled cores get other names
    found = []
    with little_cores(little) if little is not None else nullcontext() as throttled:
        for index, (net, own) in enumerate(zip(nets, each_its_own(nets, cutting), strict=True)):
            opened = open_in_precisions(
                net, own, on_all if throttled else engines, progress=progress
            )
            if throttled:
                opened = throttled.on(opened, engines.processors)
            found.append(_bench(opened, contest, throttled, progress, (index, len(nets))))
    return together(found)


def _bench(
    opened: Opened,
    contest: Contest,
    throttled: Little | None,
    progress: Progress | None,
    place: tuple[int, int],
) -> Comparison:
    """Plan one network and measure it."""
    lowered, opened = opened, opened.in_f32
    frames = random_frames(opened.network.inputs, 8, seed=0)
    limit_s, copies_p99_s = contest.max_latency_s, None
    if contest.max_latency_share is not None:
        first = settle_profile(opened, Wish(), progress=progress)
        if progress is not None:
            progress(f"measuring copies of {opened.network.name}", *place)
        copies = make_baseline(first.value, "copies")
        traces = measure_plans(opened, {"copies": copies}, frames, rounds=contest.rounds)
        copies_p99_s = summarise(traces["copies"], rivals=0).latency_p99_s
        limit_s = contest.max_latency_share * copies_p99_s
    plan, profile = plan_opened(opened, Wish(max_latency_s=limit_s), progress=progress)
    if progress is not None:
        progress(f"measuring {opened.network.name}", *place)
    lower = None
    if lowered.variants.networks:
        best, times = plan_opened(lowered, Wish(max_latency_s=limit_s), progress=progress)
        lower = lower_rivals(lowered, best, times.value)
    found = compare_opened(
        opened,
        plan,
        profile.value,
        frames,
        rounds=contest.rounds,
        throttled=throttled,
        lower=lower,
    )
    if limit_s is None:
        return found
    reached_s = next(row.latency_p99_s for row in found.rows if row.kind == "plan")
    limit = Limit(
        network=opened.network.name,
        max_latency_s=limit_s,
        latency_p99_s=reached_s,
        copies_p99_s=copies_p99_s,
    )
    return msgspec.structs.replace(found, limits=(limit,))


def compare_opened(
    opened: Opened,
    plan: Plan,
    profile: Profile,
    frames: Sequence[tuple[Array, ...]],
    *,
    rounds: int,
    throttled: Little | None = None,
    lower: Lower | None = None,
) -> Comparison:
    """Measure a plan of one network against its baselines and peers.

    Args:
        opened: the network.
        plan: the plan. Plans that run the same on the same cores are measured once, so that
            noise makes no difference where there is none.
        profile: what the plan rests on; the baselines are made from it.
        frames: what everything runs on.
        rounds: how often each runs.
        throttled: the throttled cores, if some are.
        lower: what runs in lower precision beside it, if anything does.

    Raises:
        InfeasibleError: the plan does not fit in memory.
    """
    plans: dict[str, Plan] = {"plan": msgspec.structs.replace(plan, what="plan")}
    plans |= {what: make_baseline(profile, what) for what in BASELINES}
    reasons: dict[str, str] = {}
    if throttled is not None and SPREADS in opened.runtimes:
        plans["all_cores"] = over_all_cores(opened.machine, plans["copies"])
    elif throttled is not None:
        del plans["all_cores"]
        reasons["all_cores"] = f"only {SPREADS} keeps one thread on each full and throttled core"
    alike = {kind: _what_runs(one) for kind, one in plans.items()}
    first = {what: kind for kind, what in reversed(alike.items())}
    distinct = {kind: entrant(opened, plans[kind]) for kind in first.values()}
    able, too_big = without_those_too_big(distinct)
    if "plan" in too_big:
        able["plan"] = distinct["plan"]  # refused below, with the figures
    peers, refused = find_peers(
        opened, frames, throttle=None if throttled is None else throttled.throttle
    )
    beside = {} if lower is None else lower.entrants
    meter = find_meter()
    measured = race(able | peers | beside, frames, rounds=rounds, meter=meter)
    traces = {kind: measured[first[what]] for kind, what in alike.items() if first[what] in able}
    rows = [_row(opened.network.name, plans[kind], found) for kind, found in traces.items()]
    rows += [_peer_row(opened.network.name, name, measured[name]) for name in peers]
    ratios = [
        _ratio(opened.network.name, name, traces["plan"], found)
        for name, found in (traces | {name: measured[name] for name in peers}).items()
        if name != "plan"
    ]
    rivals = [(row.name if row.kind == "peer" else row.kind, row) for row in rows[1:]]
    lower_rows = [
        _lower_row(opened.network.name, *lower.plans[name], measured[name])
        for name in beside
        if lower is not None
    ]
    best = max(rivals, key=lambda rival: rival[1].rate_hz)[0]
    over_best = next(ratio for ratio in ratios if ratio.over == best)
    left_out = [
        LeftOut(network=opened.network.name, name=name, reason=reason)
        for name, reason in (reasons | too_big | refused).items()
    ]
    return Comparison(
        rows=(*rows, *lower_rows),
        ratios=(over_best,),
        ratio_best=over_best.median,
        rounds=rounds,
        ratios_each=tuple(ratios),
        ratio_means={ratio.over: ratio.median for ratio in ratios},
        left_out=tuple(left_out),
        little=None if throttled is None else throttled.share,
        energy_meter=None if meter is None else meter.name,
    )


def over_all_cores(machine: Machine, copies: Plan) -> Plan:
    """Make a plan of one session over cores of several processors, full and throttled ones.

    Args:
        machine: its processors; those of cores alone count.
        copies: copies on all of them. Nobody has timed this plan; it is taken to be as quick.
    """
    processors = [one for one in machine.processors if one.cores]
    part = msgspec.structs.replace(copies.stages[0].lanes[0].parts[0], runtime=SPREADS)
    lane = Lane(
        processor="+".join(one.name for one in processors),
        cores=tuple(core for one in processors for core in one.cores),
        parts=(part,),
        time_s=1 / copies.rate_hz,
    )
    stage = msgspec.structs.replace(copies.stages[0], lanes=(lane,))
    return msgspec.structs.replace(copies, what="all_cores", stages=(stage,), credits=1)


def together(comparisons: Sequence[Comparison]) -> Comparison:
    """Put the comparisons of several networks into one, with the geometric means of the ratios."""
    ratios = tuple(ratio for one in comparisons for ratio in one.ratios)
    everywhere = [
        over
        for over in comparisons[0].ratio_means
        if all(over in one.ratio_means for one in comparisons)
    ]
    return Comparison(
        rows=tuple(row for one in comparisons for row in one.rows),
        ratios=ratios,
        ratio_best=_geometric_mean(ratio.median for ratio in ratios),
        rounds=comparisons[0].rounds,
        ratios_each=tuple(ratio for one in comparisons for ratio in one.ratios_each),
        ratio_means={
            over: _geometric_mean(one.ratio_means[over] for one in comparisons)
            for over in everywhere
        },
        limits=tuple(limit for one in comparisons for limit in one.limits),
        left_out=tuple(one for found in comparisons for one in found.left_out),
        little=comparisons[0].little,
        energy_meter=comparisons[0].energy_meter,
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
    predicted = plan.what != "all_cores" or "+" not in plan.stages[0].lanes[0].processor
    return msgspec.structs.replace(
        _peer_row(network, describe(plan), traces),
        kind=plan.what,
        predicted_rate_hz=plan.rate_hz if predicted else None,
    )


def _lower_row(network: str, plan: Plan, found: Deviation, traces: Sequence[Trace]) -> Row:
    row = _row(network, plan, traces)
    name = f"{row.name} in {found.precision}"
    return msgspec.structs.replace(row, name=name, deviation=found)


def _peer_row(network: str, name: str, traces: Sequence[Trace]) -> Row:
    found = summarise(traces, rivals=0)
    energies_j = [trace.energy_j for trace in traces if trace.energy_j is not None]
    return Row(
        network=network,
        name=name,
        kind="peer",
        rate_hz=found.rate_hz,
        rate_low_hz=found.rate_low_hz,
        rate_high_hz=found.rate_high_hz,
        latency_p50_s=found.latency_p50_s,
        latency_p99_s=found.latency_p99_s,
        energy_j=median(energies_j) if energies_j else None,
    )


def _ratio(network: str, over: str, plan: Sequence[Trace], other: Sequence[Trace]) -> Ratio:
    paired = paired_ratio(plan, other)
    return Ratio(network=network, over=over, median=paired.median, low=paired.low, high=paired.high)


def _geometric_mean(ratios: Iterable[float]) -> float:
    return exp(mean(map(log, ratios)))
