"""Draw accuracy against a cost: all networks tried, the front, the chosen one, the baselines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log10
from typing import Final
from xml.etree.ElementTree import Element

from evener.artifacts.card import Baseline
from evener.artifacts.front import COSTS, Front, Scored
from evener.report.markup import tag
from evener.report.svg import WIDTH, canvas, label, line, powers_of_ten, round_ticks
from evener.units import show

_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, WIDTH - 96, 24.0, 236.0
_HEIGHT: Final = 276.0
_LINE: Final = 14.0  # from one line of text to the next
_ALL_BEST: Final = 0.9  # where the axis begins if every network is as good as can be
_BESIDE: Final = 9.0  # from a point to its name


@dataclass(frozen=True, slots=True)
class _Point:
    """A network, its quality, and its cost as a number and in words."""

    network: Scored
    quality: float
    cost: float
    words: str


def accuracy_against_cost(
    front: Front, baselines: Sequence[Baseline], cost: str = "macs"
) -> Element | None:
    """Return the chart, or None if nothing could be scored.

    Args:
        front: what was tried.
        baselines: shown as lines, since their cost is counted otherwise.
        cost: which of the front's; networks that it is not known of are not drawn.
    """
    points = []
    for one in front.scored:
        value = front.cost_of(one, cost)
        if one.score.quality is not None and value is not None and value > 0:
            points.append(_Point(one, one.score.quality, value, _in_words(cost, value)))
    return _draw(front, points, baselines, cost) if points else None


def _in_words(cost: str, value: float) -> str:
    if cost == "macs":
        return f"{value:,.0f} multiply-accumulates"
    _, dimension = COSTS[cost]
    return f"{value:,.0f} {cost}" if dimension == "count" else show(value, dimension)


def _draw(
    front: Front, points: Sequence[_Point], baselines: Sequence[Baseline], cost: str
) -> Element:
    levels = [*(one.quality for one in points), *(one.validation for one in baselines)]
    # No quality is above 1, and a chart of nothing but the best has room below.
    least = min(levels) if min(levels) < 1 else _ALL_BEST
    y_ticks = round_ticks(least, max(levels))
    x_ticks = powers_of_ten(min(one.cost for one in points), max(one.cost for one in points))

    def x(value: float) -> float:
        share = log10(value / x_ticks[0]) / log10(x_ticks[-1] / x_ticks[0])
        return _LEFT + share * (_RIGHT - _LEFT)

    def y(quality: float) -> float:
        share = (quality - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return _BOTTOM - share * (_BOTTOM - _TOP)

    marks = [label(_LEFT, 12, f"{front.metric} on the validation rows", style="muted")]
    for tick in y_ticks:
        marks.append(line(_LEFT, y(tick), _RIGHT, y(tick), "grid"))
        marks.append(label(_LEFT - 6, y(tick) + 4, f"{tick:g}", anchor="end", style="muted"))
    axis, dimension = COSTS[cost]
    for tick in x_ticks:
        anchor = "end" if tick == x_ticks[-1] else "middle"
        marks.append(
            label(x(tick), _BOTTOM + 17, show(tick, dimension), anchor=anchor, style="muted")
        )
    marks.append(label(WIDTH - 10, _BOTTOM + 34, axis, anchor="end", style="muted"))
    marks += _baselines(baselines, y)
    by_id = {one.network.architecture.id: one for one in points}
    on_front = [by_id[id_] for id_ in front.front if id_ in by_id]
    corners = " ".join(f"{x(one.cost):.2f},{y(one.quality):.2f}" for one in _steps(on_front))
    marks.append(tag("polyline", points=corners, class_="front"))
    for id_, one in by_id.items():
        chosen = id_ == front.chosen
        name = f"{one.network.architecture}: {one.quality:.4g} at {one.words}"
        style = "chosen" if chosen else "front-point" if one in on_front else "point"
        radius = 6 if chosen else 4
        place = {"cx": x(one.cost), "cy": y(one.quality)}
        marks.append(tag("circle", tag("title", name), r=radius, class_=style, **place))
        if chosen:
            avoid = [y(level) for level in levels]
            marks.append(_name_chosen(one.network, place["cx"], place["cy"], avoid))
    return canvas(
        f"scatter{cost}",
        _HEIGHT,
        *marks,
        title=f"{front.metric} against {axis}",
        description=_describe(front, by_id, baselines),
    )


def _steps(points: Sequence[_Point]) -> list[_Point]:
    """Return those than which no other is as good and as cheap in this cost, cheapest first.

    With one cost that is the whole front; with several the others are cheaper in another.
    """
    steps: list[_Point] = []
    for one in sorted(points, key=lambda one: (one.cost, -one.quality)):
        if not steps or one.quality > steps[-1].quality:
            steps.append(one)
    return steps


def _baselines(baselines: Sequence[Baseline], y: Callable[[float], float]) -> list[Element]:
    """Return a line for each, its name on the right, where no point is."""
    marks = []
    text_y = float("-inf")
    for one in sorted(baselines, key=lambda one: -one.validation):
        level = y(one.validation)
        text_y = max(level + 4, text_y + _LINE)
        marks.append(line(_LEFT, level, _RIGHT, level, "baseline"))
        text = f"{one.name} {one.validation:.3g}"
        marks.append(label(_RIGHT + 4, text_y, text, style="muted", room=WIDTH - _RIGHT - 4))
    return marks


def _name_chosen(one: Scored, x: float, y: float, avoid: Sequence[float]) -> Element:
    """Name a point above on its left or below on its right, where a rising front is not.

    Args:
        one: the point.
        x: where it is.
        y: where it is.
        avoid: heights of what the name should not cover.
    """
    left = x > (_LEFT + _RIGHT) / 2
    step = -_LINE if left else _LINE
    start = y - _BESIDE if left else y + _BESIDE + 8
    places = [start + step * times for times in range(4)]
    beside = y + 4
    inside = [place for place in places if _TOP < place < _BOTTOM - 4] or [beside]
    free = [
        place
        for place in inside
        if not any(place - _LINE <= height <= place + 4 for height in avoid)
    ]
    return label(
        x - _BESIDE if left else x + _BESIDE,
        (free or inside)[0],
        str(one.architecture),
        anchor="end" if left else "start",
        style="strong halo",
        room=180,
    )


def _describe(front: Front, by_id: dict[str, _Point], baselines: Sequence[Baseline]) -> str:
    text = f"{len(by_id)} networks, {len(front.front)} of them on the front."
    if front.chosen in by_id:
        one = by_id[front.chosen]
        text += f" Chosen: {one.network.architecture}, {one.quality:.4g} at {one.words}."
    for baseline in baselines:
        text += f" Baseline {baseline.name}: {baseline.validation:.4g}."
    return text
