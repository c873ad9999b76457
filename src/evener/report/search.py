"""Show how a search went: what it reached beside random search, and between order and chaos."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Final
from xml.etree.ElementTree import Element

from evener.artifacts.front import Front, Generation
from evener.report.curves import Curve, Mark, curves
from evener.report.data_edge import data_edge
from evener.report.document import table
from evener.report.lineage import lineage
from evener.report.markup import tag
from evener.units import count

_NAMES: Final = {"front": "the search", "random": "random search", "fixed": "fixed network"}


def search(front: Front) -> list[Element]:
    """Return the section of a page; nothing of a search without generations.

    Args:
        front: what was found.
    """
    if not front.generations:
        return []
    last = front.generations[-1]
    made = [
        tag("h2", "How the search went"),
        tag(
            "p",
            f"{last.evaluations:,} networks in {len(front.generations):,} generations, and as many "
            "by random search from the same space.",
        ),
        *(tag("p", f"Warning: {text}", class_="note") for text in front.warnings),
    ]
    reached = _reached(front)
    if reached is not None:
        caption = f"Best {front.metric} on the validation split, after the short training."
        made.append(tag("figure", reached, tag("figcaption", caption)))
    alive = _alive(front.generations)
    if alive is not None:
        caption = (
            "λ: share of recent offspring whose network was new (Langton's λ of the search: 0 "
            "repeats itself, 1 draws at random). Diversity: share of choices in which two genomes "
            "differ."
        )
        made.append(tag("figure", alive, tag("figcaption", caption)))
    edge = [] if front.edge is None else data_edge(front.edge)
    return [*made, *lineage(front), *_beginnings(front), *edge, *_retrained(front)]


def _reached(front: Front) -> Element | None:
    """Draw the best after each generation, of the search and of random search."""
    drawn = [
        _curve("search", front.generations, lambda one: one.best),
        _curve("random", front.generations, lambda one: one.random_best),
    ]
    return _chart(
        "reached",
        drawn,
        title=f"Best {front.metric} by evaluations, beside random search",
        y_axis=front.metric,
    )


def _alive(generations: Sequence[Generation]) -> Element | None:
    """Draw λ and the diversity after each generation."""
    drawn = [
        _curve("λ", generations, lambda one: one.lambda_),
        _curve("diversity", generations, lambda one: one.diversity),
    ]
    return _chart("alive", drawn, title="λ and diversity by evaluations", y_axis="share")


def _curve(
    name: str, generations: Sequence[Generation], of: Callable[[Generation], float | None]
) -> Curve:
    figures = [(one.evaluations, of(one)) for one in generations]
    return Curve(name, [Mark(float(x), y) for x, y in figures if y is not None])


def _chart(name: str, drawn: Sequence[Curve], *, title: str, y_axis: str) -> Element | None:
    there = [one for one in drawn if one.marks]
    if not there or len({mark.x for one in there for mark in one.marks}) < 2:
        return None  # one point is no curve
    return curves(
        name,
        there,
        title=title,
        x_axis="networks evaluated",
        y_axis=y_axis,
        x_scale="linear",
        y_scale="linear",
    )


def _beginnings(front: Front) -> list[Element]:
    """Say where networks stood between order and chaos when their training began."""
    if not front.beginnings:
        return []
    rows = [
        (
            one.activation,
            one.domain,
            f"{one.density:.3g}",
            "drawn for each" if one.weight_variance is None else f"{one.weight_variance:.4g}",
            "-" if one.chi is None else f"{one.chi:.3g}",
        )
        for one in front.beginnings
    ]
    head = ("activation", "domain", "density of links", "weight variance", "χ₁")
    text = (
        "Where training begins: χ₁ says by how much two near rows of data come apart in a layer; 1 "
        "is the edge of chaos."
    )
    return [tag("p", text, class_="note"), table(head, rows, numbers=(2, 3, 4))]


def _retrained(front: Front) -> list[Element]:
    """Show the networks that were trained in full, each beside what the search had seen of it."""
    if not (front.retrained or front.set_apart):
        return []
    scored = [*front.scored, *front.random, *([front.fixed] if front.fixed is not None else [])]
    by_id = {one.score.id: one for one in scored}
    rows = [
        (
            str(by_id[one.id].architecture),
            _NAMES[one.of],
            _number(by_id[one.id].score.quality),
            _range(one.validation),
            _range(one.test),
        )
        for one in front.retrained
    ]
    head = ("network", "found by", f"{front.metric}, shortly trained", "in full", "test")
    made = []
    if front.retrained:
        seeds = sorted({len(one.validation) for one in front.retrained})
        fewer = f"{seeds[0]} to " if len(seeds) > 1 else ""
        text = (
            f"Trained in full from {fewer}{count(seeds[-1], 'seed')} each, least to most; "
            f"the choice is by the validation split.{_unpruned(front)}"
        )
        made = [tag("p", text, class_="note"), table(head, rows, numbers=(2, 3, 4))]
    if front.set_apart:
        failed = [
            (str(by_id[one.id].architecture), _NAMES[one.of], f"{one.seed}", one.message)
            for one in front.set_apart
        ]
        text = "Trainings in full that came to nothing; their networks were set apart."
        made.append(tag("p", text, class_="note"))
        made.append(table(("network", "found by", "seed", "why"), failed, numbers=(2,)))
    return made


def _unpruned(front: Front) -> str:
    """Say what the networks came to before units were taken out of them."""
    pairs = [(fmean(one.unpruned), one.quality) for one in front.retrained if one.unpruned]
    if not pairs:
        return ""
    before, after = map(fmean, zip(*pairs, strict=True))
    return (
        f" Units were taken out of each: {front.metric} on the validation rows was {before:.4f} "
        f"before and {after:.4f} after, in the mean of all."
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.4f} to {max(values):.4f}"
