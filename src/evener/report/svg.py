"""What every chart is drawn with: a canvas with a title, text, and round numbers for an axis.

Charts are 400 units wide, about a phone's width, so that their text is read without zooming.
Colours are classes that the page's style knows for light and for dark.
"""

from math import ceil, floor, log10
from typing import Final
from xml.etree.ElementTree import Element

from evener.report.markup import Child, tag

WIDTH: Final = 400.0
_CHARACTER: Final = 6.4  # mean width of a character of the charts' text


def canvas(name: str, height: float, *marks: Element, title: str, description: str) -> Element:
    """Make a chart that a screen reader can tell of.

    Args:
        name: unique on the page; letters only.
        height: in units.
        marks: what is drawn, in order.
        title: what it shows, in a few words.
        description: what is to be seen in it, in a sentence with figures.
    """
    return tag(
        "svg",
        tag("title", title, id=f"{name}-title"),
        tag("desc", description, id=f"{name}-desc"),
        *marks,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


def label(
    x: float, y: float, text: str, *, anchor: str = "start", style: str = "", room: float = WIDTH
) -> Element:
    """Write text at a place, cut to the room there is; the whole is in its tooltip.

    Args:
        x: where it is anchored.
        y: of its base line.
        text: what it says.
        anchor: "start", "middle" or "end".
        style: class.
        room: units it may take.
    """
    most = max(int(room / _CHARACTER), 1)
    shown: list[Child] = [text]
    if len(text) > most:
        shown = [f"{text[: most - 1]}…", tag("title", text)]
    return tag("text", *shown, x=x, y=y, text_anchor=anchor, class_=style)


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> Element:
    """Draw a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=style)


def round_ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Return round numbers, equally far apart, that enclose a range.

    Example:
        >>> round_ticks(0.921, 0.978)
        [0.92, 0.94, 0.96, 0.98]
    """
    if high <= low:
        high = low + (abs(low) or 1) * 0.1
    raw = (high - low) / about
    power = 10.0 ** floor(log10(raw))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= raw * (1 - 1e-9))
    digits = max(-floor(log10(step)), 0)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(number * step, digits) for number in range(first, last + 1)]


def powers_of_ten(low: float, high: float) -> list[float]:
    """Return the powers of ten that enclose a range of positive numbers.

    Example:
        >>> powers_of_ten(1184, 84480)
        [1000.0, 10000.0, 100000.0]
    """
    first, last = floor(log10(low)), ceil(log10(high))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]
