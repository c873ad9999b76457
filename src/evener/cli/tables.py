"""How each artifact looks to a person: a title, a table and a line of figures."""

from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch

from rich import box
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from evener.artifacts.architecture import Architecture
from evener.artifacts.card import Baselines, Card
from evener.artifacts.comparison import Comparison
from evener.artifacts.dataset import DatasetFacts
from evener.artifacts.front import Front, Scored
from evener.artifacts.page import Page
from evener.artifacts.plan import Lane, Plan
from evener.artifacts.plans import Plans
from evener.artifacts.processors import Machine
from evener.artifacts.profile import Profile, SegmentTime
from evener.artifacts.requirements import METRICS, Verdict, Verdicts
from evener.artifacts.split import Split
from evener.artifacts.tensor import Tensor
from evener.artifacts.trace import Switch, Trace
from evener.cli.comparison_lines import comparison_lines, comparison_table
from evener.cli.plan_lines import bound, energy, estimate, measured, simulated
from evener.cli.precision import lowering_lines
from evener.cli.stage_words import blocks_of, span, stage_in_words
from evener.units import count, show


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Group:
    """Lay out rows below a title; a column whose name starts with ">" is set to the right."""
    made = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        justify: JustifyMethod = "right" if column.startswith(">") else "left"
        made.add_column(column.lstrip(">"), justify=justify, overflow="fold")  # never cut off
    for row in rows:
        made.add_row(*row)
    return Group(Text(title, style="bold"), made)


@singledispatch
def lay_out(value: object) -> RenderableType:
    """Lay out an artifact for people."""
    raise TypeError(f"{type(value).__name__} has no layout; register one in evener.cli.tables")


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


@lay_out.register
def _(dataset: DatasetFacts) -> RenderableType:
    split = ", ".join(f"{rows} {name}" for name, rows in dataset.rows.items())
    return (
        f"dataset {dataset.name}: {count(dataset.features, 'feature')}, rows: {split}; classes: "
        f"{', '.join(dataset.classes)}"
    )


@lay_out.register
def _(verdicts: Verdicts) -> RenderableType:
    return table(
        "requirements",
        ("requirement", ">limit", ">measured", "verdict"),
        [
            (
                one.name,
                f"{one.relation} {show(one.limit, METRICS[one.name].dimension)}",
                one.value_shown,
                _verdict(one),
            )
            for one in verdicts.verdicts
        ],
    )


@lay_out.register
def _(baselines: Baselines) -> RenderableType:
    rows = [(one.name, one.size_bytes, one.test) for one in baselines.models]
    return _qualities("simple models that a network is held against", rows)


@lay_out.register
def _(card: Card) -> RenderableType:
    rows = [(str(card.architecture), card.network_bytes, card.test)]
    rows += [(one.name, one.size_bytes, one.test) for one in card.baselines]
    split = ", ".join(f"{rows} {name}" for name, rows in card.rows.items())
    return Group(
        _qualities(
            f"network of {count(card.weights, 'weight')}, trained in {count(card.epochs, 'epoch')}",
            rows,
        ),
        f"{count(card.features, 'feature')}; rows: {split}; classes: {', '.join(card.classes)}; "
        f"seed {card.seed}",
        f"the ONNX file differs from the trained network by at most {card.export_error:.1e}",
    )


@lay_out.register
def _(page: Page) -> RenderableType:
    return f"page {page.path} of the project, sha256 {page.sha256[:12]}"


@lay_out.register
def _(scored: Scored) -> RenderableType:
    return _candidates("an architecture and its score", (scored,), marks={})


@lay_out.register
def _(front: Front) -> RenderableType:
    marks = dict.fromkeys(front.front, "front") | {front.chosen: "chosen"}
    return _candidates(
        f"{count(len(front.scored), 'architecture')}; none is both better and cheaper than those "
        "of the front",
        front.scored,
        marks,
    )


@lay_out.register
def _(architecture: Architecture) -> RenderableType:
    return f"architecture {architecture.id}: {architecture}"


def _qualities(title: str, models: Sequence[tuple[str, int, Mapping[str, float]]]) -> Group:
    metrics = sorted({name for _, _, test in models for name in test})
    rows = [
        (
            name,
            show(size_bytes, "size"),
            *(f"{test[metric]:.4f}" if metric in test else "-" for metric in metrics),
        )
        for name, size_bytes, test in models
    ]
    return table(title, ("model", ">size", *(f">{metric} (test)" for metric in metrics)), rows)


def _candidates(title: str, scored: Sequence[Scored], marks: Mapping[str, str]) -> Group:
    rows = [
        (
            one.architecture.id,
            str(one.architecture),
            "-" if one.score.quality is None else f"{one.score.quality:.4f}",
            f"{one.score.macs:,}",
            f"{one.score.weights:,}",
            one.score.message or marks.get(one.architecture.id, ""),
        )
        for one in scored
    ]
    return table(title, ("id", "architecture", ">validation", ">MACs", ">weights", ""), rows)


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


def _verdict(one: Verdict) -> str:
    if one.holds:
        return "holds"
    missed = "not measured" if one.value is None else "missed"
    return missed if one.hard else f"{missed} (a wish)"
