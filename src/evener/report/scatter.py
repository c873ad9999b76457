"""Draw accuracy against cost: every network tried, the front, the chosen one, the baselines."""

from collections.abc import Callable, Sequence
from math import log10
from typing import Final
from xml.etree.ElementTree import Element

from evener.artifacts.card import Baseline
from evener.artifacts.front import Front, Scored
from evener.report.markup import tag
from evener.report.svg import WIDTH, canvas, label, line, powers_of_ten, round_ticks

_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, WIDTH - 10, 24.0, 236.0
_HEIGHT: Final = 276.0
_LEAST_GAP: Final = 28.0  # between two lines with a name above each


def accuracy_against_cost(front: Front, baselines: Sequence[Baseline]) -> Element | None:
    """Return the chart, or None if nothing could be scored.

    Args:
        front: what was tried.
        baselines: shown as lines, since their cost does not count in multiply-accumulates.
    """
    scored = [one for one in front.scored if one.score.quality is not None and one.score.macs > 0]
    if not scored:
        return None
    return _draw(front, scored, baselines)


def _draw(front: Front, scored: Sequence[Scored], baselines: Sequence[Baseline]) -> Element:
    qualities = [one.score.quality or 0.0 for one in scored]
    levels = [*qualities, *(one.validation for one in baselines)]
    y_ticks = round_ticks(min(levels), max(levels))
    x_ticks = powers_of_ten(
        min(one.score.macs for one in scored), max(one.score.macs for one in scored)
    )

    def x(macs: float) -> float:
        share = log10(macs / x_ticks[0]) / log10(x_ticks[-1] / x_ticks[0])
        return _LEFT + share * (_RIGHT - _LEFT)

    def y(quality: float) -> float:
        share = (quality - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return _BOTTOM - share * (_BOTTOM - _TOP)

    marks = [label(_LEFT, 12, "accuracy on the validation rows", style="muted")]
    for tick in y_ticks:
        marks.append(line(_LEFT, y(tick), _RIGHT, y(tick), "grid"))
        marks.append(label(_LEFT - 6, y(tick) + 4, f"{tick:g}", anchor="end", style="muted"))
    for tick in x_ticks:
        anchor = "end" if tick == x_ticks[-1] else "middle"
        marks.append(label(x(tick), _BOTTOM + 17, _count(tick), anchor=anchor, style="muted"))
    axis = "multiply-accumulates per prediction"
    marks.append(label(_RIGHT, _BOTTOM + 34, axis, anchor="end", style="muted"))
    marks += _baselines(baselines, y)
    by_id = {one.architecture.id: one for one in scored}
    on_front = [by_id[id_] for id_ in front.front if id_ in by_id]
    corners = " ".join(
        f"{x(one.score.macs):.2f},{y(one.score.quality or 0):.2f}" for one in on_front
    )
    marks.append(tag("polyline", points=corners, class_="front"))
    for one, quality in zip(scored, qualities, strict=True):
        chosen = one.architecture.id == front.chosen
        name = f"{one.architecture}: {quality:.4g} at {one.score.macs:,} multiply-accumulates"
        style = "chosen" if chosen else "front-point" if one in on_front else "point"
        radius = 6 if chosen else 4
        place = {"cx": x(one.score.macs), "cy": y(quality)}
        marks.append(tag("circle", tag("title", name), r=radius, class_=style, **place))
        if chosen:
            marks.append(_name_chosen(one, place["cx"], place["cy"]))
    return canvas(
        "scatter",
        _HEIGHT,
        *marks,
        title="Accuracy against cost",
        description=_describe(front, by_id, baselines),
    )


def _baselines(baselines: Sequence[Baseline], y: Callable[[float], float]) -> list[Element]:
    marks = []
    last = float("-inf")
    for one in sorted(baselines, key=lambda one: -one.validation):
        level = y(one.validation)
        # A name stands above its line, or below where the line before is too near.
        text_y = level - 4 if level - last >= _LEAST_GAP else level + 13
        last = level
        marks.append(line(_LEFT, level, _RIGHT, level, "baseline"))
        text = f"{one.name} {one.validation:.3g}"
        marks.append(label(_LEFT + 4, text_y, text, style="muted halo", room=160))
    return marks


def _name_chosen(one: Scored, x: float, y: float) -> Element:
    to_the_left = x > (_LEFT + _RIGHT) / 2
    above = y > _TOP + 30
    return label(
        x - 9 if to_the_left else x + 9,
        y - 9 if above else y + 18,
        str(one.architecture),
        anchor="end" if to_the_left else "start",
        style="strong halo",
        room=180,
    )


def _describe(front: Front, by_id: dict[str, Scored], baselines: Sequence[Baseline]) -> str:
    text = f"{len(by_id)} networks, {len(front.front)} of them on the front."
    if front.chosen in by_id:
        one = by_id[front.chosen]
        text += (
            f" Chosen: {one.architecture}, {one.score.quality:.4g} at {one.score.macs:,} "
            "multiply-accumulates."
        )
    for baseline in baselines:
        text += f" Baseline {baseline.name}: {baseline.validation:.4g}."
    return text


def _count(number: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g} {unit}"
    return f"{number:g}"
