"""Show where λ is critical on the data and in networks of a search, beside the paper's values."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Final
from xml.etree.ElementTree import Element

from evener.artifacts.data_edge import Connectivity, DataEdge
from evener.artifacts.edge_of_chaos import Table
from evener.report.curves import Curve, Mark, curves
from evener.report.document import table
from evener.report.markup import tag

LEGEND: Final = (
    "λ is the share of states in which something happens. The first reading is the paper's own: "
    "states are settings of hyperparameters, each probed for a few steps on the training rows, and "
    "λ is critical where a box of settings learns most. The second counts links: λ is their "
    "density, and is critical where χ₁ passes 1; a dash where it does not up to a density of 1. "
    "Figures are means over seeds, with the interval that holds the true mean with 95 % "
    "confidence. The paper's values are of other data; none is universal."
)


def data_edge(found: DataEdge) -> list[Element]:
    """Return the part of a page.

    Args:
        found: what was measured.
    """
    first = found.tables[0]
    seen = (
        f"{len(found.tables)} probes of {first.quiescent + first.active + first.divergent:,} "
        f"settings, {first.steps} steps each, on {found.rows:,} training rows of "
        f"{found.features:,} features as they were seen."
    )
    return [
        tag("h2", "The edge of chaos"),
        tag("p", LEGEND, class_="note"),
        _critical(found),
        tag("p", seen, class_="note"),
        tag("figure", _boxes(found.tables), tag("figcaption", _TITLE)),
        _states(found.tables),
        _links(found.connectivity),
    ]


_TITLE: Final = "Share of the loss that is gone, and λ, in growing boxes of hyperparameters"


def _critical(found: DataEdge) -> Element:
    head = ("λ_c of hyperparameters", *(f"the paper, {name}" for name in found.paper))
    row = [str(found.critical), *(f"{value:g}" for value in found.paper.values())]
    return table(head, [row], numbers=range(len(head)))


def _boxes(tables: Sequence[Table]) -> Element:
    """Draw what boxes of settings learned, in the order in which they grow, over the seeds."""
    boxes = list(zip(*(one.boxes for one in tables), strict=True))
    return curves(
        "edge",
        [
            Curve(name, [_mark(at, [box[part] for box in of]) for at, of in enumerate(boxes, 1)])
            for part, name in ((1, "learned"), (0, "λ"))
        ],
        title=_TITLE,
        x_axis="box, from the quiescent corner on; bars: standard error over seeds",
        y_axis="share",
        x_scale="linear",
        y_scale="linear",
    )


def _mark(at: int, values: Sequence[float]) -> Mark:
    half = stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return Mark(float(at), fmean(values), half)


def _states(tables: Sequence[Table]) -> Element:
    names = ", ".join(tables[0].hyperparameters)
    head = ("probe", "quiescent", "active", "divergent", "λ_c", f"learned most: {names}")
    rows = [
        [
            str(number),
            str(one.quiescent),
            str(one.active),
            str(one.divergent),
            f"{one.critical:.3f}",
            ", ".join(f"{value:g}" for value in one.best),
        ]
        for number, one in enumerate(tables, start=1)
    ]
    return table(head, rows, numbers=range(5))


def _links(connectivity: Sequence[Connectivity]) -> Element:
    head = ["activation", "start", "density of links", "χ₁, theory", "χ₁, measured"]
    head += ["λ_c of links, theory", "λ_c of links, measured"]
    rows = [
        [
            one.activation,
            one.domain,
            f"{one.density:g}",
            f"{one.chi_theory:.3g}",
            str(one.chi),
            f"{one.critical_theory:.3f}",
            "-" if one.critical is None else str(one.critical),
        ]
        for one in connectivity
    ]
    return table(head, rows, numbers=range(2, len(head)))
