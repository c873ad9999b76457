"""Draw measured rates as bars, with their spread and what was predicted."""

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from evener.artifacts.comparison import Row
from evener.report.markup import tag
from evener.report.svg import WIDTH, canvas, label, line
from evener.units import show

_ROW: Final = 58.0
_LEFT, _RIGHT = 4.0, WIDTH - 16


def rates(rows: Sequence[Row]) -> Element | None:
    """Return one bar a row, in the order given; None without rows.

    The bar is the median over the rounds, the line on it goes from the lower to the upper
    quartile, the diamond is the prediction.
    """
    if not rows:
        return None
    largest = max(max(row.rate_high_hz, row.rate_hz, row.predicted_rate_hz or 0) for row in rows)
    scale = (_RIGHT - _LEFT) / largest if largest > 0 else 0.0
    marks: list[Element] = []
    for index, row in enumerate(rows):
        marks += _bar(row, top=index * _ROW, scale=scale)
    return canvas(
        "rates",
        len(rows) * _ROW + 4,
        *marks,
        title="Answers per second, measured and predicted",
        description="; ".join(_describe(row) for row in rows) + ".",
    )


def kind_of(row: Row) -> str:
    """Name the kind of a row for people, such as "all cores"."""
    return row.kind.replace("_", " ")


def _bar(row: Row, *, top: float, scale: float) -> list[Element]:
    middle = top + 45
    low, high = (_LEFT + rate * scale for rate in (row.rate_low_hz, row.rate_high_hz))
    marks = [
        label(_LEFT, top + 16, kind_of(row), style="strong"),
        label(_RIGHT, top + 16, show(row.rate_hz, "rate"), anchor="end", style="strong"),
        label(_LEFT, top + 31, row.name, style="muted", room=_RIGHT - _LEFT),
        tag(
            "rect",
            tag("title", _describe(row)),
            x=_LEFT,
            y=top + 37,
            width=row.rate_hz * scale,
            height=16,
            rx=2,
            class_="bar-plan" if row.kind == "plan" else "bar",
        ),
        line(low, middle, high, middle, "spread"),
        line(low, middle - 4, low, middle + 4, "spread"),
        line(high, middle - 4, high, middle + 4, "spread"),
    ]
    if row.predicted_rate_hz is not None:
        x = _LEFT + row.predicted_rate_hz * scale
        corners = [(x, middle - 7), (x + 5, middle), (x, middle + 7), (x - 5, middle)]
        points = " ".join(f"{one:.2f},{other:.2f}" for one, other in corners)
        predicted = tag("title", f"predicted: {show(row.predicted_rate_hz, 'rate')}")
        marks.append(tag("polygon", predicted, points=points, class_="predicted"))
    return marks


def _describe(row: Row) -> str:
    text = (
        f"{row.name}: {show(row.rate_hz, 'rate')} "
        f"({show(row.rate_low_hz, 'rate')} to {show(row.rate_high_hz, 'rate')})"
    )
    if row.predicted_rate_hz is not None:
        text += f", predicted {show(row.predicted_rate_hz, 'rate')}"
    return text
