"""Draw curves: measured points are filled, projected ones open."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log10
from typing import Final, Literal
from xml.etree.ElementTree import Element

from evener.report.markup import tag
from evener.report.svg import WIDTH, canvas, label, line, powers_of_ten, round_ticks

_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, WIDTH - 96, 24.0, 236.0
_HEIGHT: Final = 276.0
_LINE: Final = 14.0
_DASHES: Final = ("none", "6 3", "2 3", "8 3 2 3", "1 4", "12 4")


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of a curve.

    Attributes:
        x: where.
        y: how much.
        half: of an interval around y, 0 if there is none.
        measured: whether it ran; else it is projected.
    """

    x: float
    y: float
    half: float = 0.0
    measured: bool = True


@dataclass(frozen=True, slots=True)
class Curve:
    """Points that belong together, by rising x.

    Attributes:
        name: written at its end.
        marks: its points.
    """

    name: str
    marks: Sequence[Mark]


def curves(
    name: str,
    drawn: Sequence[Curve],
    *,
    title: str,
    x_axis: str,
    y_axis: str,
    x_scale: Literal["log", "linear"] = "log",
    y_scale: Literal["log", "linear"] = "log",
    write: Callable[[float], str] = "{:g}".format,
) -> Element:
    """Return the chart.

    Args:
        name: unique on the page; letters only.
        drawn: the curves; above 0 on a logarithmic scale.
        title: of the chart.
        x_axis: what x is.
        y_axis: what y is.
        x_scale: of x.
        y_scale: of y.
        write: writes a number at the axis of y.
    """
    marks = [mark for one in drawn for mark in one.marks]
    ends = min(mark.x for mark in marks), max(mark.x for mark in marks)
    x_ticks = powers_of_ten(*ends) if x_scale == "log" else round_ticks(*ends)
    low, high = min(mark.y - mark.half for mark in marks), max(mark.y + mark.half for mark in marks)
    y_ticks = powers_of_ten(low, high) if y_scale == "log" else round_ticks(low, high)

    def x(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * _share(value, x_ticks, log=x_scale == "log")

    def y(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * _share(value, y_ticks, log=y_scale == "log")

    parts = [label(_LEFT, 12, y_axis, style="muted")]
    for tick in y_ticks:
        parts.append(line(_LEFT, y(tick), _RIGHT, y(tick), "grid"))
        parts.append(label(_LEFT - 6, y(tick) + 4, write(tick), anchor="end", style="muted"))
    parts += [
        label(x(tick), _BOTTOM + 17, f"{tick:g}", anchor="middle", style="muted")
        for tick in x_ticks
    ]
    parts.append(label(_RIGHT, _BOTTOM + 34, x_axis, anchor="end", style="muted"))
    text_y = float("-inf")
    by_height = sorted(enumerate(drawn), key=lambda one: y(one[1].marks[-1].y))
    for number, one in by_height:
        parts += _curve(one, x, y, dash=_DASHES[number % len(_DASHES)])
        text_y = max(y(one.marks[-1].y) + 4, text_y + _LINE)
        parts.append(label(_RIGHT + 6, text_y, one.name, room=WIDTH - _RIGHT - 6))
    described = "; ".join(
        f"{one.name}: {write(one.marks[0].y)} to {write(one.marks[-1].y)}" for one in drawn
    )
    return canvas(name, _HEIGHT, *parts, title=title, description=f"{described}.")


def _share(value: float, ticks: Sequence[float], *, log: bool) -> float:
    if log:
        return log10(value / ticks[0]) / log10(ticks[-1] / ticks[0])
    return (value - ticks[0]) / (ticks[-1] - ticks[0])


def _curve(
    one: Curve, x: Callable[[float], float], y: Callable[[float], float], *, dash: str
) -> list[Element]:
    corners = " ".join(f"{x(mark.x):.2f},{y(mark.y):.2f}" for mark in one.marks)
    parts = [tag("polyline", points=corners, class_="front", stroke_dasharray=dash)]
    for mark in one.marks:
        if mark.half:
            parts.append(
                line(x(mark.x), y(mark.y - mark.half), x(mark.x), y(mark.y + mark.half), "spread")
            )
        said = "measured" if mark.measured else "projected"
        parts.append(
            tag(
                "circle",
                tag("title", f"{one.name}: {mark.y:.4g} at {mark.x:g}, {said}"),
                cx=x(mark.x),
                cy=y(mark.y),
                r=3.5,
                class_="chosen" if mark.measured else "point",
            )
        )
    return parts
