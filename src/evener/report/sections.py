"""The sections of the page, in the order in which a reader asks: does it hold, why, what next."""

from collections.abc import Sequence
from itertools import chain
from typing import Final
from xml.etree.ElementTree import Element

from evener.artifacts.card import Card, to_deliver
from evener.artifacts.front import COSTS, Front, Scored
from evener.artifacts.recommended import NETWORK
from evener.artifacts.requirements import METRICS, Verdict
from evener.report.bars import kind_of, rates
from evener.report.content import ReportContent
from evener.report.document import table
from evener.report.markup import Child, tag
from evener.report.scatter import accuracy_against_cost
from evener.report.stages import stages
from evener.units import show

_METHODS: Final = {
    "dp": "dynamic programming",
    "exhaustive": "trying every plan",
    "baseline": "rule, as one of the simple ways,",
}


def verdict(content: ReportContent) -> list[Element]:
    """Say whether the requirements hold, and what the network is."""
    card = content.card
    quality = ", ".join(f"{name} {value:.3g}" for name, value in card.test.items())
    made = [
        tag("h1", content.project),
        tag(
            "p",
            f"{card.architecture}: {card.weights:,} "
            f"{'weights' if card.family == NETWORK else 'numbers'}, "
            f"{show(card.network_bytes, 'size')}, "
            f"{quality} on {card.rows.get('test', 0):,} test rows.",
            class_="lead",
        ),
        *_pruned(card),
        *_recommended(card, board=content.trace.simulated),
    ]
    if not content.verdicts:
        return [*made, tag("p", "No requirements were set in evener.toml.", class_="verdict")]
    text, missed = _headline(content.verdicts)
    made.append(tag("p", text, class_=f"verdict {'bad' if missed else 'good'}"))
    made.append(
        table(
            ("requirement", "limit", "found" if content.trace.simulated else "measured", "holds"),
            [_verdict_row(one) for one in content.verdicts],
            numbers=(1, 2),
        )
    )
    return [*made, *_simulated(content)]


def _pruned(card: Card) -> list[Element]:
    """Say what was taken out of the network, and what that cost."""
    told = card.pruning
    return [] if told is None else [tag("p", f"{told[0].upper()}{told[1:]}.", class_="note")]


def _recommended(card: Card, *, board: bool) -> list[Element]:
    """Say which model is recommended, where it is another than was delivered, or no network."""
    if card.advice is not None:
        text = f"{card.advice[0].upper()}{card.advice[1:]}; {to_deliver(board=board)}."
    elif card.family != NETWORK:
        text = (
            f"It is no network but the model '{card.family}', which answers the validation rows "
            "best. Networks that were tried stand below."
        )
    else:
        return []
    return [tag("p", text)]


def candidates(content: ReportContent) -> list[Element]:
    """Show what was tried, and what it was held against."""
    made = [tag("h2", "Networks tried")]
    caption = (
        "Filled: the one chosen. Joined: those than which no other is both as good and as "
        "cheap. Dashed: simple models, whose cost is counted otherwise."
    )
    if len(content.front.costs) > 1:
        caption += " Coloured ones beside the line are cheaper in another cost."
    for cost in content.front.costs:
        chart = accuracy_against_cost(content.front, content.card.baselines, cost)
        if chart is not None:
            made.append(tag("figure", chart, tag("figcaption", caption)))
    tests = "; ".join(
        f"{one.name}: {', '.join(f'{name} {value:.3g}' for name, value in one.test.items())}, "
        f"{show(one.size_bytes, 'size')}"
        for one in content.card.baselines
    )
    refitted = "validation" in content.card.learned_from
    alone = " (learned from the training rows alone)" if refitted else ""
    if tests:
        made.append(tag("p", f"On the test rows the simple models reach{alone}: {tests}."))
    rows = [_scored_row(one, content.front) for one in content.front.scored]
    planned = content.front.planned
    quality = f"validation {content.front.metric}"
    head = ("network", "multiply-accumulates", "weights", *planned, quality)
    every = table(head, rows, numbers=range(1, len(head)))
    return [*made, tag("details", tag("summary", f"All {len(rows)} as a table"), every)]


def plan(content: ReportContent) -> list[Element]:
    """Show which blocks run where."""
    found = content.plan
    method = _METHODS.get(found.method, found.method)
    text = (
        f"{len(found.stages)} {'stage' if len(found.stages) == 1 else 'stages'}, found by {method} "
        f"for {found.objective}: predicted {show(found.rate_hz, 'rate')} and "
        f"{show(found.latency_s, 'time')} per answer with {found.credits} in flight"
        + ("." if found.energy_j is None else f", {show(found.energy_j, 'energy')} each.")
    )
    if found.bound_rate_hz is not None:
        text += f" No plan can be faster than {show(found.bound_rate_hz, 'rate')} by this profile."
    caption = "Bars: time per frame; filled as measured in the run, outlined as predicted."
    if content.trace.simulated:
        caption = "Bars: time per frame, as predicted."
    return [
        tag("h2", "The plan"),
        tag("p", text),
        tag("figure", stages(found, content.trace), tag("figcaption", caption)),
    ]


def measured(content: ReportContent) -> list[Element]:
    """Show the plan beside single, all cores and copies, by the wall clock."""
    comparison = content.comparison
    where = "Measured on this machine"
    if comparison.simulated:
        where = f"Simulated for {content.profile.machine.host}"
    made = [tag("h2", where)]
    for ratio in comparison.ratios:
        text = (
            f"The plan reaches {ratio.median:.3g} times the rate of "
            f"{ratio.over.replace('_', ' ')}, the best other way"
        )
        if not comparison.simulated:
            text += (
                f" (middle half of {comparison.rounds} rounds: {ratio.low:.3g} to {ratio.high:.3g})"
            )
        made.append(tag("p", f"{text}."))
    chart = rates(comparison.rows)
    if chart is not None:
        caption = (
            "Bars: median rate over the rounds; line: lower to upper quartile; diamond: predicted."
            if not comparison.simulated
            else "Bars: simulated rate; diamond: predicted."
        )
        made.append(tag("figure", chart, tag("figcaption", caption)))
        metered = any(row.energy_j is not None for row in comparison.rows)
        rows = [
            (
                tag("span", kind_of(row), tag("small", row.name)),
                show(row.rate_hz, "rate"),
                show(row.predicted_rate_hz, "rate"),
                show(row.latency_p50_s, "time"),
                show(row.latency_p99_s, "time"),
                *((show(row.energy_j, "energy"),) if metered else ()),
            )
            for row in comparison.rows
        ]
        columns = ("way", "rate", "predicted", "latency p50", "latency p99", "energy")
        head = columns if metered else columns[:-1]
        made.append(table(head, rows, numbers=range(1, len(head))))
    trace = content.trace
    text = (
        f"{'Simulated' if trace.simulated else 'The test'} rows went through the plan as "
        f"{trace.frames:,} frames in "
        f"{show(trace.elapsed_s, 'time')}: {show(trace.rate_hz, 'rate')}, latency "
        f"{show(trace.latency_p50_s, 'time')} (median) and {show(trace.latency_p99_s, 'time')} "
        f"(99th percentile), {trace.dropped:,} dropped."
    )
    return [*made, tag("p", text)]


def made(content: ReportContent) -> list[Element]:
    """Say from what and how the network was made."""
    card, machine = content.card, content.profile.machine
    processors = "; ".join(
        f"{one.name}: {one.model or one.kind}"
        + (f", {len(one.cores)} {'core' if len(one.cores) == 1 else 'cores'}" if one.cores else "")
        for one in machine.processors
    )
    facts = {
        "Data": f"{', '.join(f'{count:,} {part}' for part, count in card.rows.items())} rows, "
        f"{len(card.classes):,} {card.task}",
        "Data sha256": card.data_sha256,
        "Training": (f"{card.epochs} epochs in " if card.epochs else "")
        + f"{show(content.training_s, 'time')}, seed {card.seed}",
        "Learned from": _learned_from(card),
        f"{_kind(card).capitalize()} sha256": card.network_sha256,
        "File against trainer": f"largest difference of an answer {card.export_error:.2g}",
        "Machine": f"{machine.host}, {machine.system}",
        "Processors": processors,
        "Versions": ", ".join(f"{name} {version}" for name, version in content.versions.items()),
    }
    terms = [(tag("dt", term), tag("dd", fact)) for term, fact in facts.items()]
    told = [tag("p", f"Note on the data: {note}.", class_="note") for note in content.notes]
    return [tag("h2", "How it was made"), tag("dl", *chain.from_iterable(terms)), *told]


def _kind(card: Card) -> str:
    return "network" if card.family == NETWORK else "model"


def _learned_from(card: Card) -> str:
    """Say which rows the weights have seen, and whose figure that of the validation rows is."""
    if "validation" not in card.learned_from:
        return "the training rows"
    text = f"the training and validation rows, once the {_kind(card)} was chosen by the latter"
    if not card.validation:
        return text
    came_to = ", ".join(f"{name} {value:.4f}" for name, value in card.validation.items())
    return f"{text}; on them it came to {came_to} before, learning from the training rows alone"


def next_steps(content: ReportContent) -> list[Element]:
    """Say what to type next, from the project's folder."""
    features = content.card.features
    network = f"{content.network_file} --shape features=1,{features}"
    here = (
        ("Measure again, beside the other ways:", f"evener bench {network}"),
        ("Plan for another limit:", f"evener plan {network} --max-latency '5 ms'"),
    )
    steps = (
        (f"Answer your own rows, in an npz file with an array features of (rows, 1, {features}):",
         f"evener run {network} --frames rows.npz --out answers.npz"),
        *(here if not content.trace.simulated else ()),
        ("After a change of evener.toml or the data; what did not change is kept:",
         "evener build ."),
    )  # fmt: skip
    made = [tag("h2", "What to type next"), tag("p", "In the project's folder:", class_="note")]
    for why, command in steps:
        made += [tag("p", why), tag("pre", tag("code", command))]
    return made


def _headline(verdicts: Sequence[Verdict]) -> tuple[str, bool]:
    """Return what the verdicts come to, and whether a hard requirement is missed."""
    missed = [one.name for one in verdicts if one.hard and not one.holds]
    wishes = [one.name for one in verdicts if not one.hard and not one.holds]
    hard = sum(one.hard for one in verdicts)
    if missed:
        text = f"{len(missed)} of {hard} requirements missed: {', '.join(missed)}"
    else:
        text = "All requirements hold" if hard else "Nothing is required"
    if wishes:
        text += f"; wishes missed: {', '.join(wishes)}"
    return text, bool(missed)


def _simulated(content: ReportContent) -> list[Element]:
    """Say that nothing was measured where the network is to serve, and what the times are."""
    if not content.trace.simulated:
        return []
    text = (
        f"Rates and latencies are simulated for {content.profile.machine.host}; nothing was "
        "measured there."
    )
    found = content.plan
    if found.estimate is not None:
        text += f" Times are estimated: {found.estimate}"
        if found.estimate_error is not None:
            text += f", whose cross-validated error is {found.estimate_error:.0%} a block"
        text += "."
    return [tag("p", text, class_="note")]


def _verdict_row(one: Verdict) -> tuple[Child, ...]:
    metric = METRICS[one.name]
    name = tag("span", one.name, *([] if one.hard else [" (wish)"]), tag("small", metric.means))
    text, style = ("✓ yes", "good") if one.holds else ("✗ no", "bad")
    if one.value is None:
        text = "✗ not measured"
    return (
        name,
        f"{'≤' if one.relation == '<=' else '≥'} {show(one.limit, metric.dimension)}",
        one.value_shown,
        tag("span", text, class_=style),
    )


def _scored_row(one: Scored, front: Front) -> tuple[Child, ...]:
    score = one.score
    name: Child = str(one.architecture)
    if one.architecture.id == front.chosen:
        name = tag("strong", f"{one.architecture} (chosen)")
    if score.quality is None:
        return (
            name,
            "-",
            "-",
            *("-" for _ in front.planned),
            f"{score.status}: {score.message}" if score.message else score.status,
        )
    return (
        name,
        f"{score.macs:,}",
        f"{score.weights:,}",
        *(show(front.cost_of(one, cost), COSTS[cost][1]) for cost in front.planned),
        f"{score.quality:.4f} ± {score.quality_error:.4f}",
    )
