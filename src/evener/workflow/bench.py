"""Measure plans against single, all cores, copies and peers, in interleaved runs."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Final, TypedDict, Unpack

import msgspec

from evener.artifacts.comparison import Comparison
from evener.artifacts.plan import Lane, Plan
from evener.artifacts.processors import Machine
from evener.artifacts.profile import Profile
from evener.network.frames import random_frames
from evener.plan.baselines import BASELINES
from evener.plan.decide import make_baseline
from evener.profile.energy import find_meter
from evener.runtime.session import Array
from evener.workflow.choices import settle
from evener.workflow.compared import compared, each_once, together, with_limit
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

ROUNDS: Final = 15
SPREADS: Final = "onnxruntime"  # the runtime of which one session can span unequal cores


class ContestChoices(TypedDict, total=False):
    """The fields of `Contest`, as keyword arguments."""

    rounds: int | None
    max_latency_s: float | None
    max_latency_share: float | None


class Contest(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller asks of a comparison.

    Attributes:
        rounds: how often each entrant runs; None for 15, and for 3 on simulated processors, whose
            times do not vary.
        max_latency_s: longest latency of the plan, in seconds.
        max_latency_share: or so as a share of the 99th percentile of the copies' latency, which is
            measured first.
    """

    rounds: int | None = None
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
        traces = measure_plans(opened, {"copies": copies}, frames, rounds=contest.rounds or ROUNDS)
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
        rounds=contest.rounds or ROUNDS,
        throttled=throttled,
        lower=lower,
    )
    return with_limit(found, limit_s, copies_p99_s=copies_p99_s)


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
    first = each_once(plans)
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
    found = compared(
        opened.network.name,
        {
            kind: (plan, measured[first[kind]])
            for kind, plan in plans.items()
            if first[kind] in able
        },
        peers={name: measured[name] for name in peers},
        lower=[(*lower.plans[name], measured[name]) for name in beside if lower is not None],
        left_out=reasons | too_big | refused,
    )
    return msgspec.structs.replace(
        found,
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
