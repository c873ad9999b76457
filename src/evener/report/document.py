"""The frame of every page, and the table that pages show: nothing on it comes from the network."""

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element

from evener.report.markup import Child, tag
from evener.report.style import STYLE


def document(title: str, *body: Element) -> Element:
    """Return the root of a page.

    Args:
        title: of the page, for the browser.
        body: what stands on it, in order.
    """
    return tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("title", title),
            tag("style", STYLE),
        ),
        tag("body", tag("main", *body)),
        lang="en",
    )


def table(
    head: Sequence[str], rows: Iterable[Sequence[Child]], *, numbers: Sequence[int]
) -> Element:
    """Return a table, which scrolls by itself where a page is narrow.

    Args:
        head: names of the columns.
        rows: their cells.
        numbers: which columns hold numbers, from 0.
    """

    def cell(kind: str, place: int, child: Child) -> Element:
        return tag(kind, child, **({"class": "number"} if place in numbers else {}))

    return tag(
        "div",
        tag(
            "table",
            tag("thead", tag("tr", *(cell("th", i, name) for i, name in enumerate(head)))),
            tag(
                "tbody",
                *(tag("tr", *(cell("td", i, one) for i, one in enumerate(row))) for row in rows),
            ),
        ),
        class_="wide",
    )
