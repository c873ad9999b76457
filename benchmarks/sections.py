"""Write what a benchmark found as Markdown, and as a page with charts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from evener.report.markup import page, tag
from evener.report.style import STYLE


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
        for text in part.text:
            lines += [text] if text.startswith("- ") else [text, ""]
        for table in part.tables:
            lines += [
                _cells(table.head),
                _cells("---" if at < table.words else "---:" for at in range(len(table.head))),
                *(_cells(row) for row in table.rows),
                "",
            ]
    return "\n".join(lines).rstrip() + "\n"


def html(parts: Sequence[Section]) -> str:
    """Write the sections as a page that needs nothing but a browser."""
    body: list[Element] = []
    for number, part in enumerate(parts):
        body.append(tag("h2" if number else "h1", part.title))
        body += [tag("p", text.removeprefix("- ")) for text in part.text]
        body += [tag("div", _html_table(table), class_="wide") for table in part.tables]
        body += [_figure(chart) for chart in part.charts if chart is not None]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", parts[0].title),
        tag("style", STYLE),
    )
    return page(tag("html", head, tag("body", tag("main", *body)), lang="en"))


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _figure(chart: Element) -> Element:
    title = chart.find("title")
    return tag("figure", chart, tag("figcaption", (title is not None and title.text) or ""))


def _html_table(table: Table) -> Element:
    def row(kind: str, cells: Iterable[str]) -> Element:
        return tag(
            "tr",
            *(
                tag(kind, cell, **({} if at < table.words else {"class": "number"}))
                for at, cell in enumerate(cells)
            ),
        )

    return tag(
        "table",
        tag("thead", row("th", table.head)),
        tag("tbody", *(row("td", cells) for cells in table.rows)),
    )
