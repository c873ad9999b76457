"""Write what a benchmark found as Markdown, and as a page with charts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from xml.etree.ElementTree import Element

from evener.report.document import document, table
from evener.report.markup import page, tag


@dataclass(frozen=True)
class Table:
    """Rows under a head; all columns but the first few hold numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    title: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    charts: Sequence[Element | None] = field(default=())


def markdown(parts: Iterable[Section]) -> str:
    """Write the sections as Markdown, without the charts."""
    lines: list[str] = []
    for number, part in enumerate(parts):
        lines += [f"{'##' if number else '#'} {part.title}", ""]
        for text, after in pairwise((*part.text, "")):
            listed = text.startswith("- ") and after.startswith("- ")
            lines += [text] if listed else [text, ""]
        for one in part.tables:
            lines += [
                _cells(one.head),
                _cells("---" if at < one.words else "---:" for at in range(len(one.head))),
                *(_cells(row) for row in one.rows),
                "",
            ]
    return "\n".join(lines).rstrip() + "\n"


def html(parts: Sequence[Section]) -> str:
    """Write the sections as a page that needs nothing but a browser."""
    body: list[Element] = []
    for number, part in enumerate(parts):
        body.append(tag("h2" if number else "h1", part.title))
        body += [tag("p", text.removeprefix("- ")) for text in part.text]
        body += [
            table(one.head, one.rows, numbers=range(one.words, len(one.head)))
            for one in part.tables
        ]
        body += [_figure(chart) for chart in part.charts if chart is not None]
    return page(document(parts[0].title, *body))


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _figure(chart: Element) -> Element:
    title = chart.find("title")
    return tag("figure", chart, tag("figcaption", (title is not None and title.text) or ""))
