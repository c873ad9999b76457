"""How the artifacts on the way from a profile to a run look to a person."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType

from evener.artifacts.comparison import Comparison
from evener.artifacts.machine_costs import MachineCosts
from evener.artifacts.plan import Lane, Plan
from evener.artifacts.plans import Plans
from evener.artifacts.processors import Machine
from evener.artifacts.profile import Profile, SegmentTime
from evener.artifacts.split import Split
from evener.artifacts.tensor import Tensor
from evener.artifacts.trace import Switch, Trace
from evener.cli.comparison_lines import comparison_lines, comparison_table
from evener.cli.layout import lay_out, table
from evener.cli.plan_lines import bound, energy, estimate, finer, measured, simulated
from evener.cli.precision import lowering_lines
from evener.cli.stage_words import blocks_of, span, stage_in_words
from evener.units import count, show


@lay_out.register
def _(machine: Machine) -> RenderableType:
    rows = [
        (
            one.name,
            one.kind,
            _cores(one.cores),
            ", ".join(one.runtimes),
            f"{one.capacity:.2f}" if one.cores else "-",
            "-" if one.max_hz is None else f"{one.max_hz / 1e9:.2f} GHz",
            show(one.cache_bytes, "size"),
            one.model or "-",
        )
        for one in machine.processors
    ]
    versions = ", ".join(f"{name} {version}" for name, version in machine.runtimes.items())
    return Group(
        table(
            f"processors of {machine.host}, {machine.system}",
            ("name", "kind", "cores", "runtimes", ">capacity", ">clock", ">cache", "model"),
            rows,
        ),
        f"runtimes: {versions or 'none'}",
    )


@lay_out.register
def _(costs: MachineCosts) -> RenderableType:
    rows = [
        (
            one.processor,
            str(one.cores),
            one.runtime,
            show(one.fixed_s, "time"),
            feature,
            show(seconds, "time"),
        )
        for one in costs.rates
        for feature, seconds in one.seconds.items()
        if seconds
    ]
    return Group(
        table(
            f"cost model of {costs.machine.host}",
            ("processor", ">cores", "runtime", ">a segment", "feature", ">a unit of it"),
            rows,
        ),
        f"error: {costs.error:.0%} in the median, {costs.error_p90:.0%} for nine in ten",
    )


@lay_out.register
def _(profile: Profile) -> RenderableType:
    singles: dict[tuple[int, str, int], SegmentTime] = {}
    for one in profile.segments:
        if one.first_block == one.last_block:
            key = (one.first_block, one.processor, one.cores)
            singles[key] = min(singles.get(key, one), one, key=lambda each: each.median_s)
    columns = sorted({(processor, cores) for _, processor, cores in singles})
    rows = []
    for index, block in enumerate(profile.blocks):
        times = [_median(singles.get((index, *column))) for column in columns]
        rows.append(
            (
                str(index),
                block.name,
                show(block.macs, "count"),
                show(block.weights_bytes, "size"),
                show(sum(tensor.size_bytes for tensor in block.outputs), "size"),
                *(show(time_s, "time") for time_s in times),
            )
        )
    blocks = count(len(profile.blocks), "step" if profile.granularity == "node" else "block")
    timed = sum(not one.interpolated for one in profile.segments)
    return Group(
        table(
            f"{profile.network} in {blocks} on {profile.machine.host}",
            (
                *(">block", "first node", ">MACs", ">weights", ">hands on"),
                *(f">{processor} x{cores}" for processor, cores in columns),
            ),
            rows,
        ),
        f"{count(timed, 'segment time')} measured, {len(profile.segments) - timed} interpolated; "
        f"a hand-off takes {show(profile.hand_off.fixed_s, 'time')}",
        *estimate(profile),
    )


@lay_out.register
def _(plan: Plan) -> RenderableType:
    rows = [
        (
            str(index) if first else "",
            blocks_of(stage) if first else "",
            _processor(lane),
            _cores(lane.cores),
            runtimes(lane),
            show(lane.time_s, "time"),
            f"{stage.period_s * plan.rate_hz:.0%}",
        )
        for index, stage in enumerate(plan.stages)
        for first, lane in zip((True, *[False] * len(stage.lanes)), stage.lanes, strict=False)
    ]
    return Group(
        table(
            f"{plan.what} of {plan.network} for {plan.objective} ({plan.method}); {plan.space} "
            f"space: {count(plan.configurations, 'plan')} over "
            f"{count(plan.cut_points, 'cut point')}",
            (
                *(">stage", ">nodes" if plan.granularity == "node" else ">blocks"),
                *("processor", "cores", "runtime", ">per frame", ">busy"),
            ),
            rows,
        ),
        f"predicted: {show(plan.rate_hz, 'rate')}{bound(plan)}, latency "
        f"{show(plan.latency_s, 'time')} with {count(plan.credits, 'frame')} in flight"
        f"{energy(plan)}",
        *estimate(plan),
        simulated(plan.simulated),
        measured(plan.measured),
        *finer(plan),
        *lowering_lines(plan.lowering),
    )


@lay_out.register
def _(plans: Plans) -> RenderableType:
    rows = [
        (
            show(plan.rate_hz, "rate"),
            show(plan.latency_s, "time"),
            show(plan.energy_j, "energy"),
            str(plan.credits),
            " | ".join(map(stage_in_words, plan.stages)),
        )
        for plan in plans.plans
    ]
    known = any(plan.energy_j is not None for plan in plans.plans)
    figures = "rate, latency and energy" if known else "rate and latency"
    return table(
        f"{count(len(rows), 'plan')} of {plans.network}; no other beats one of them in {figures}",
        (">rate", ">latency", ">energy per frame", ">in flight", "blocks on processors"),
        rows,
    )


@lay_out.register
def _(split: Split) -> RenderableType:
    rows = [
        (
            part.file,
            span(part.first_block, part.last_block),
            _tensors(part.inputs),
            _tensors(part.outputs),
        )
        for part in split.parts
    ]
    return table(
        f"{split.network} in {count(len(split.parts), 'part')}",
        ("file", ">blocks", "reads", "hands on"),
        rows,
    )


@lay_out.register
def _(trace: Trace) -> RenderableType:
    judged = (trace.quality or {}).items()
    quality = [f"{name} against the labels: {value:.4f}" for name, value in judged]
    rows = [
        (
            str(one.stage),
            one.processor,
            _cores(one.cores),
            str(one.frames),
            show(one.median_s, "time"),
            show(one.planned_s, "time"),
            f"{one.busy:.0%}",
        )
        for one in trace.stages
    ]
    return Group(
        table(
            f"{count(trace.frames, 'frame')} in {show(trace.elapsed_s, 'time')}",
            (">stage", "processor", "cores", ">frames", ">per frame", ">planned", ">busy"),
            rows,
        ),
        f"{show(trace.rate_hz, 'rate')}, latency {show(trace.latency_p50_s, 'time')} (median), "
        f"{show(trace.latency_p99_s, 'time')} (p99), {trace.dropped} dropped",
        _equality(trace),
        *quality,
        *map(_switch, trace.switches),
    )


@lay_out.register
def _(comparison: Comparison) -> RenderableType:
    return Group(table(*comparison_table(comparison)), *comparison_lines(comparison))


def runtimes(lane: Lane) -> str:
    """Name the runtimes of a lane, each once, in the order of its parts."""
    return "+".join(
        dict.fromkeys(
            part.runtime + ", branches at once" * (part.execution == "parallel")
            for part in lane.parts
        )
    )


def _median(one: SegmentTime | None) -> float | None:
    return None if one is None else one.median_s


def _tensors(tensors: Iterable[Tensor]) -> str:
    return ", ".join(f"{tensor.name} ({show(tensor.size_bytes, 'size')})" for tensor in tensors)


def _cores(cores: Sequence[int]) -> str:
    return ",".join(map(str, cores)) or "-"


def _processor(lane: Lane) -> str:
    clock = "" if lane.clock_hz is None else f" at {lane.clock_hz / 1e6:.0f} MHz"
    return f"{lane.processor}{clock}"


def _switch(switch: Switch) -> str:
    when = f"after {show(switch.at_s, 'time')}, from frame {switch.frame} on"
    again = count(switch.replayed, "frame")
    pause = show(switch.pause_s, "time")
    if switch.noticing_s > switch.pause_s / 2:
        pause += f", of which {show(switch.noticing_s, 'time')} until it was noticed,"
    ready = ", which was held ready" * switch.ready
    missed = "".join(f"; no plan that is left keeps {limit}" for limit in switch.misses)
    return (
        f"{when}: {switch.before} gave way to {switch.after}{ready}, {switch.cause}: "
        f"{switch.reason} "
        f"({again} run again, {pause} without an answer){missed}"
    )


def _equality(trace: Trace) -> str:
    if trace.equal is None:
        return "the answers were not compared with the unsplit network's"
    some = 0 < trace.checked < trace.frames  # files of older versions do not say how many
    first = f"first {count(trace.checked, 'answer')}" if some else "answers"
    if trace.equal:
        return f"the {first} equal the unsplit network's to the bit"
    off = f"within {trace.max_error:.2g} of the unsplit network's"
    return f"the {first} are {off}, relative to the largest output"
