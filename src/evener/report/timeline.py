"""Draw which frame each lane ran when."""

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, tostring

from evener.artifacts.timeline import LaneSpans, Timeline
from evener.report.markup import tag
from evener.report.style import STYLE
from evener.report.svg import WIDTH, canvas, label, line
from evener.units import show

_LANE: Final = 42.0
_BAR: Final = 18.0
_LEFT, _RIGHT = 4.0, WIDTH - 4
_NUMBER: Final = 7.0  # width of a digit


def timeline_chart(timeline: Timeline, begin_s: float, end_s: float) -> Element:
    """Return a row for each lane, with a bar for each frame that it ran, over some time.

    Args:
        timeline: of the run.
        begin_s: what is drawn begins here.
        end_s: and ends here, later.
    """
    scale = (_RIGHT - _LEFT) / (end_s - begin_s)
    bottom = len(timeline.lanes) * _LANE + 6
    marks: list[Element] = []
    for row, lane in enumerate(timeline.lanes):
        top = row * _LANE
        cores = ", ".join(map(str, lane.cores))
        marks.append(label(_LEFT, top + 14, f"stage {lane.stage} on {lane.processor} [{cores}]"))
        marks.append(line(_LEFT, top + 20 + _BAR, _RIGHT, top + 20 + _BAR, "grid"))
        for frame, begun_s, ended_s in shown(lane, begin_s, end_s):
            marks += _span(frame, begun_s - begin_s, ended_s - begin_s, top + 20, scale)
    marks.append(label(_LEFT, bottom + 12, show(begin_s, "time"), style="muted"))
    marks.append(label(_RIGHT, bottom + 12, show(end_s, "time"), anchor="end", style="muted"))
    frames = {frame for lane in timeline.lanes for frame, _, _ in shown(lane, begin_s, end_s)}
    return canvas(
        "timeline",
        bottom + 18,
        *marks,
        title=f"{timeline.network}: when each stage ran each frame",
        description=f"{len(timeline.lanes)} lanes, {len(frames)} frames, from "
        f"{show(begin_s, 'time')} to {show(end_s, 'time')} after the first.",
    )


def timeline_file(timeline: Timeline, begin_s: float, end_s: float) -> bytes:
    """Return the same as an SVG file of its own; see `timeline_chart`."""
    chart = timeline_chart(timeline, begin_s, end_s)
    chart.insert(0, tag("style", STYLE))
    drawn: bytes = tostring(chart, encoding="utf-8", xml_declaration=False)
    return drawn + b"\n"


def shown(lane: LaneSpans, begin_s: float, end_s: float) -> Sequence[tuple[int, float, float]]:
    """Return the frames of a lane that are at least partly within some time, cut to it.

    Example:
        >>> lane = LaneSpans(stage=0, processor="cpu0", cores=(0,), frames=[0, 1, 2],
        ...                  begun_s=[0, 2, 4], ended_s=[1, 3, 5])
        >>> shown(lane, 2.5, 4)
        [(1, 2.5, 3)]
    """
    return [
        (frame, max(begun_s, begin_s), min(ended_s, end_s))
        for frame, begun_s, ended_s in zip(lane.frames, lane.begun_s, lane.ended_s, strict=True)
        if begun_s < end_s and ended_s > begin_s
    ]


def _span(frame: int, begun_s: float, ended_s: float, top: float, scale: float) -> list[Element]:
    x, width = _LEFT + begun_s * scale, max((ended_s - begun_s) * scale, 0.5)
    took = tag("title", f"frame {frame}: {show(ended_s - begun_s, 'time')}")
    style = "bar" if frame % 2 else "bar-plan"
    marks = [tag("rect", took, x=x, y=top, width=width, height=_BAR, class_=style)]
    if width > _NUMBER * (len(str(frame)) + 1):
        marks.append(label(x + width / 2, top + 13, str(frame), anchor="middle", style="halo"))
    return marks
