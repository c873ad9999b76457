"""Draw groups of bars that share one scale, such as several ways to run each of some networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element

from evener.report.markup import tag
from evener.report.svg import WIDTH, canvas, label
from evener.units import Dimension, show

_HEAD: Final = 22.0
_BAR: Final = 17.0
_LEFT: Final = 84.0  # names stand before the bars, values behind them
_RIGHT: Final = WIDTH - 66


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a group.

    Attributes:
        name: what it stands for.
        value: in SI units; at least 0.
        chosen: whether it is the one to look at.
    """

    name: str
    value: float
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Bars under one name.

    Attributes:
        name: what they have in common.
        bars: from top to bottom.
    """

    name: str
    bars: Sequence[Bar]


def groups(
    name: str, found: Sequence[Group], *, dimension: Dimension, title: str
) -> Element | None:
    """Return a chart of groups one below the other, in the order given; None if no bar is in them.

    Args:
        name: of the chart: unique on its page, letters only.
        found: the groups.
        dimension: of the values; see `evener.units`.
        title: what the chart shows, in a few words.
    """
    values = [bar.value for group in found for bar in group.bars]
    if not values:
        return None
    scale = (_RIGHT - _LEFT) / max(*values, 1e-12)
    marks: list[Element] = []
    top = 0.0
    for group in found:
        marks.append(label(4, top + 15, group.name, style="strong"))
        top += _HEAD
        for bar in group.bars:
            marks += _bar(bar, show(bar.value, dimension), top=top, scale=scale)
            top += _BAR
        top += 6
    description = "; ".join(
        f"{group.name}: "
        + ", ".join(f"{bar.name} {show(bar.value, dimension)}" for bar in group.bars)
        for group in found
    )
    return canvas(name, top, *marks, title=title, description=f"{description}.")


def _bar(bar: Bar, shown: str, *, top: float, scale: float) -> list[Element]:
    width = bar.value * scale
    style = "strong" if bar.chosen else "muted"
    return [
        label(_LEFT - 6, top + 11, bar.name, anchor="end", style=style, room=_LEFT - 10),
        tag(
            "rect",
            tag("title", f"{bar.name}: {shown}"),
            x=_LEFT,
            y=top,
            width=width,
            height=_BAR - 4,
            class_="bar-plan" if bar.chosen else "bar",
        ),
        label(_LEFT + width + 5, top + 11, shown, style=style),
    ]
