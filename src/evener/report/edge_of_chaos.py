"""Show what starting at the edge of chaos came to: charts, tables, and verdicts in words."""

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from evener.artifacts.edge_of_chaos import Course, Deviation, EdgeOfChaos, Table, Walk
from evener.report.curves import Curve, Mark, curves
from evener.report.document import table
from evener.report.markup import tag
from evener.report.svg import WIDTH, canvas, label, line

LEGEND: Final = (
    "λ is the share of states in which something happens. For links that is their density, and χ₁ "
    "says by how much two near rows of data come apart in a layer: 1 is the edge of chaos. For "
    "hyperparameters it is the share of settings that a search gets on with. Figures are means, "
    "with the interval that holds the true mean with 95 % confidence, if results of seeds are "
    "normally distributed."
)
_ROW: Final = 16.0
_LEFT: Final = 110.0
_HEAD: Final = 22.0


def edge_of_chaos(found: EdgeOfChaos) -> list[Element]:
    """Return the section of a page.

    Args:
        found: what it shows; parts that it lacks are left out.
    """
    made = [
        tag("h2", "The edge of chaos"),
        tag("p", LEGEND, class_="note"),
        *(tag("p", verdict) for verdict in found.verdicts),
    ]
    if found.walks:
        made += [_figure(_walks(found.walks)), _walk_table(found)]
    for depth in dict.fromkeys(one.depth for one in found.courses):
        made.append(_figure(_losses([one for one in found.courses if one.depth == depth])))
    if found.courses:
        made.append(_course_table(found.courses))
    made += [_figure(_boxes(number, one)) for number, one in enumerate(found.tables)]
    if found.tables:
        made.append(_state_table(found))
        names = found.tables[0].hyperparameters
        made += [_figure(_variants(one, names)) for one in found.deviations]
        made.append(_deviation_table(found.deviations, names))
    return made


def _figure(chart: Element) -> Element:
    title = chart.find("title")
    return tag("figure", chart, tag("figcaption", (title is not None and title.text) or ""))


def _walks(walks: Sequence[Walk]) -> Element:
    """Draw χ₁ over the density of links."""
    ends = [min(one.chi[0][0] for one in walks), max(one.chi[-1][0] for one in walks)]
    drawn = [
        Curve(
            f"{one.activation} {one.weight_variance:.4g}",
            [Mark(density, chi) for density, chi in one.chi],
        )
        for one in walks
    ]
    drawn.append(Curve("edge", [Mark(end, 1.0, measured=False) for end in ends]))
    return curves(
        "chi",
        drawn,
        title="χ₁ of random networks by their density of links, for some weight variances",
        x_axis="density of links",
        y_axis="χ₁",
        x_scale="linear",
        y_scale="linear",
    )


def _walk_table(found: EdgeOfChaos) -> Element:
    head = ["activation", "weight variance", "bias variance", "λ_c, theory", "λ_c, measured"]
    rows = [
        [
            one.activation,
            f"{one.weight_variance:.4g}",
            f"{one.bias_variance:g}",
            f"{one.theory:.3f}",
            str(one.measured),
        ]
        for one in found.walks
    ]
    return table(head, rows, numbers=range(1, len(head)))


def _losses(courses: Sequence[Course]) -> Element:
    """Draw the loss over the epochs, by domain: the paper's figure 2."""
    drawn = [
        Curve(
            one.domain,
            [
                Mark(max(epoch, 0.5), loss.mean, loss.half_width or 0.0)
                for epoch, loss in zip(one.epochs, one.loss, strict=True)
            ],
        )
        for one in courses
    ]
    return curves(
        f"losses{courses[0].depth}",
        drawn,
        title=f"Loss of networks of {courses[0].depth} hidden layers, by where they start",
        x_axis="epochs (0.5: before the first)",
        y_axis="loss on rows learned from",
        y_scale="linear",
    )


def _course_table(courses: Sequence[Course]) -> Element:
    head = ["hidden layers", "start", "networks", "learning rate", "loss at the end"]
    head += ["accuracy on test rows", "diverged", "first gradient over last, 10^"]
    rows = [
        [
            str(one.depth),
            one.domain,
            str(one.seeds),
            f"{one.learning_rate:g}",
            str(one.loss[-1]),
            str(one.accuracy),
            str(one.diverged),
            f"{one.gradient.mean:.2f}",
        ]
        for one in courses
    ]
    return table(head, rows, numbers=(0, *range(2, len(head))))


def _boxes(number: int, found: Table) -> Element:
    """Draw what boxes of the table learned, in the order in which they grow."""
    return curves(
        f"boxes{chr(ord('a') + number)}",
        [
            Curve(
                "learned",
                [Mark(at, learned) for at, (_, learned) in enumerate(found.boxes, start=1)],
            ),
            Curve("λ", [Mark(at, share) for at, (share, _) in enumerate(found.boxes, start=1)]),
        ],
        title=f"Share of the loss that is gone, and λ, in growing boxes of the table: {found.data}",
        x_axis="box, from the quiescent corner on",
        y_axis="share",
        x_scale="linear",
        y_scale="linear",
    )


def _state_table(found: EdgeOfChaos) -> Element:
    head = ["data", "steps", "quiescent", "active", "divergent", "λ_c, measured", "best state"]
    head += [f"λ_c, {name}" for name in found.paper]
    rows = [
        [
            one.data,
            str(one.steps),
            str(one.quiescent),
            str(one.active),
            str(one.divergent),
            f"{one.critical:.3f}",
            ", ".join(f"{value:g}" for value in one.best),
            *(f"{value:g}" for value in found.paper.values()),
        ]
        for one in found.tables
    ]
    return table(head, rows, numbers=(*range(1, 6), *range(7, len(head))))


def _variants(found: Deviation, names: Sequence[str]) -> Element:
    """Draw each variant's hyperparameters beside the best state: the paper's figures 5 and 6."""
    scale = (WIDTH - 12 - _LEFT) / 2
    middle = _LEFT + scale
    height = _HEAD + _ROW * len(names)
    marks: list[Element] = []
    for half, when in enumerate(("at the start", f"after {found.iterations} iterations")):
        top = half * (height + 6)
        marks.append(label(4, top + 15, when, style="strong"))
        marks.append(line(middle, top + _HEAD - 4, middle, top + height, "grid"))
        for at, name in enumerate(names):
            y = top + _HEAD + _ROW * at + 6
            marks.append(label(_LEFT - 14, y + 4, name, anchor="end", style="muted", room=_LEFT))
            marks += [
                tag(
                    "circle",
                    tag("title", f"{name}: {values[half][at]:+.2f} of its range"),
                    cx=middle + scale * values[half][at],
                    cy=y,
                    r=3.5,
                    class_="chosen",
                )
                for values in found.variants
            ]
    spread = f"{found.spread_start.mean:.2f} at the start, {found.spread_after.mean:.2f} at the end"
    return canvas(
        f"variants{found.domain}",
        2 * height + 6,
        *marks,
        title=f"Hyperparameters beside the best state, variants that start {found.domain}",
        description=f"Variants differ from one another by {spread}, as shares of the range.",
    )


def _deviation_table(deviations: Sequence[Deviation], names: Sequence[str]) -> Element:
    head = ["start", "when", *names, "among variants"]
    rows = [
        [one.domain, when, *(str(value) for value in values), str(spread)]
        for one in deviations
        for when, values, spread in (
            ("at the start", one.start, one.spread_start),
            (f"after {one.iterations} iterations", one.after, one.spread_after),
        )
    ]
    return table(head, rows, numbers=range(2, len(head)))
