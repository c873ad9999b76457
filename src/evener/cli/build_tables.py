"""How the artifacts of a build look to a person: data, candidates, networks and verdicts."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType

from evener.artifacts.architecture import Architecture
from evener.artifacts.card import Baselines, Card
from evener.artifacts.dataset import DatasetFacts
from evener.artifacts.front import Front, Scored
from evener.artifacts.page import Page
from evener.artifacts.recommended import NETWORK
from evener.artifacts.requirements import METRICS, Verdict, Verdicts
from evener.cli.layout import lay_out, table
from evener.cli.search_tables import planned_costs
from evener.units import count, show

_SHOWN = 20  # classes that are listed


@lay_out.register
def _(dataset: DatasetFacts) -> RenderableType:
    split = ", ".join(f"{rows} {name}" for name, rows in dataset.rows.items())
    shape = ""
    if dataset.picture is not None:
        channels, height, width = dataset.picture
        shape = f" ({width} x {height} pixels, {count(channels, 'channel')})"
    line = (
        f"dataset {dataset.name}: {count(dataset.features, 'feature')}{shape}, rows: {split}; "
        f"{dataset.task}: {_names(dataset.classes)}"
    )
    return "\n".join([line, *(f"note: {note}" for note in dataset.notes)])


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
    refitted = "validation" in card.learned_from
    alone = " (learned from the training rows alone)" if refitted else ""
    rows = [(str(card.architecture), card.network_bytes, card.test)]
    rows += [(f"{one.name}{alone}", one.size_bytes, one.test) for one in card.baselines]
    split = ", ".join(f"{rows} {name}" for name, rows in card.rows.items())
    learned_from = " and ".join(card.learned_from)
    kind, network = "network", f"network of {count(card.weights, 'weight')}"
    if card.family != NETWORK:
        kind, network = "model", f"{card.architecture} of {count(card.weights, 'number')}"
    if card.topology is not None:
        network += f" in {card.topology}"
    epochs = f" in {count(card.epochs, 'epoch')}" if card.epochs else ""
    return Group(
        _qualities(f"{network}, trained{epochs} on {learned_from} rows", rows),
        f"{count(card.features, 'feature')}; rows: {split}; "
        f"{card.task}: {_names(card.classes)}; "
        f"seed {card.seed}",
        *_learning(card),
        f"the ONNX file differs from the trained {kind} by at most {card.export_error:.1e}",
        *([] if card.pruning is None else [card.pruning]),
        *([] if card.advice is None else [card.advice]),
    )


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _learning(card: Card) -> list[str]:
    """Say how the loss fell, where the card knows."""
    if not card.losses:
        return []
    marks = sorted({0, *range(9, len(card.losses), 10), len(card.losses) - 1})
    curve = ", ".join(f"{card.losses[mark]:.4g} (epoch {mark + 1})" for mark in marks)
    share = card.communication_share
    return [
        f"loss: {curve}",
        *([] if share is None else [f"{share:.1%} of the training's time in messages"]),
    ]


@lay_out.register
def _(page: Page) -> RenderableType:
    return f"page {page.path} of the project, sha256 {page.sha256[:12]}"


@lay_out.register
def _(scored: Scored) -> RenderableType:
    return _candidates("an architecture and its score", (scored,), front=None)


@lay_out.register
def _(front: Front) -> RenderableType:
    return _candidates(
        f"{count(len(front.scored), 'architecture')}; none is both better and cheaper than those "
        "of the front",
        front.scored,
        front,
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


def _candidates(title: str, scored: Sequence[Scored], front: Front | None) -> Group:
    marks = {}
    if front is not None:
        marks = dict.fromkeys(front.front, "front") | {front.chosen: "chosen"}
    rows = [
        (
            one.architecture.id,
            str(one.architecture),
            "-" if one.score.quality is None else f"{one.score.quality:.4f}",
            f"{one.score.macs:,}",
            f"{one.score.weights:,}",
            *(() if front is None else planned_costs(front, one)),
            one.score.message or marks.get(one.architecture.id, ""),
        )
        for one in scored
    ]
    planned = () if front is None else front.planned
    head = ("id", "architecture", ">validation", ">MACs", ">weights")
    return table(title, (*head, *(f">{cost}" for cost in planned), ""), rows)


def _verdict(one: Verdict) -> str:
    if one.holds:
        return "holds"
    missed = "not measured" if one.value is None else "missed"
    return missed if one.hard else f"{missed} (a wish)"
