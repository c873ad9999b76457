"""Show what the chosen network was bred from: its ancestors, generation by generation."""

from typing import Final
from xml.etree.ElementTree import Element

from evener.artifacts.front import Front, Scored
from evener.report.document import table
from evener.report.markup import tag
from evener.report.svg import WIDTH, canvas, label, line, round_ticks

_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, WIDTH - 16, 24.0, 236.0
_HEIGHT: Final = 276.0


def lineage(front: Front) -> list[Element]:
    """Return a chart and a table of the chosen network's ancestors; nothing where it has none.

    Args:
        front: what was found.
    """
    line_ = ancestors(front, front.chosen)
    if len(line_) < 2:
        return []
    text = (
        f"The chosen network descends from {len(line_) - 1} others. Two parents were crossed over; "
        "one parent was changed by mutation alone."
    )
    rows = [
        (
            f"{one.generation + 1}",
            str(one.architecture),
            _quality(one),
            ", ".join(parent[:6] for parent in one.parents) or "drawn",
            one.score.id[:6],
        )
        for one in line_
    ]
    head = ("generation", "network", front.metric, "bred from", "id")
    caption = f"{front.metric} of each after the short training; lines lead from parent to child."
    return [
        tag("p", text, class_="note"),
        tag("figure", _chart(front, line_), tag("figcaption", caption)),
        table(head, rows, numbers=(0, 2)),
    ]


def ancestors(front: Front, id_: str) -> tuple[Scored, ...]:
    """Return a network and all that it descends from, in the order in which they were proposed.

    Parents that broke a limit were never evaluated, and are not among them.

    Args:
        front: what was found.
        id_: of the network.
    """
    by_id = {one.score.id: one for one in front.scored}
    found: dict[str, Scored] = {}
    left = [id_]
    while left:
        one = by_id.get(left.pop())
        if one is None or one.score.id in found:
            continue
        found[one.score.id] = one
        left += one.parents
    return tuple(one for one in front.scored if one.score.id in found)


def _chart(front: Front, line_: tuple[Scored, ...]) -> Element:
    known = {one.score.id: one for one in line_ if one.score.quality is not None}
    values = [one.score.quality or 0.0 for one in known.values()]
    ticks = round_ticks(min(values), max(values))
    last = max(*(one.generation for one in line_), 1)

    def place(one: Scored) -> tuple[float, float]:
        share = ((one.score.quality or 0.0) - ticks[0]) / (ticks[-1] - ticks[0])
        x = _LEFT + 8 + (_RIGHT - _LEFT - 16) * one.generation / last
        return x, _BOTTOM - (_BOTTOM - _TOP) * share

    parts = [label(_LEFT, 12, front.metric, style="muted")]
    for tick in ticks:
        y = _BOTTOM - (_BOTTOM - _TOP) * (tick - ticks[0]) / (ticks[-1] - ticks[0])
        parts.append(line(_LEFT, y, _RIGHT, y, "grid"))
        parts.append(label(_LEFT - 6, y + 4, f"{tick:g}", anchor="end", style="muted"))
    for number in sorted({one.generation for one in known.values()}):
        x = _LEFT + 8 + (_RIGHT - _LEFT - 16) * number / last
        parts.append(label(x, _BOTTOM + 17, f"{number + 1}", anchor="middle", style="muted"))
    parts.append(label(_RIGHT, _BOTTOM + 34, "generation", anchor="end", style="muted"))
    for one in known.values():
        there = [known[parent] for parent in one.parents if parent in known]
        parts += [line(*place(parent), *place(one), "spread") for parent in there]
    for id_, one in known.items():
        x, y = place(one)
        said = f"{one.architecture}: {one.score.quality:.4g}, generation {one.generation + 1}"
        style = "chosen" if id_ == front.chosen else "point"
        parts.append(tag("circle", tag("title", said), cx=x, cy=y, r=3.5, class_=style))
    return canvas(
        "lineage",
        _HEIGHT,
        *parts,
        title="Ancestors of the chosen network",
        description=f"{len(known)} networks over {last + 1} generations.",
    )


def _quality(one: Scored) -> str:
    return "-" if one.score.quality is None else f"{one.score.quality:.4f}"
