"""Draw a plan: its stages in order, on which cores each runs, and how full each is."""

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from evener.artifacts.plan import Lane, Plan, Stage
from evener.artifacts.trace import StageTrace, Trace
from evener.report.markup import tag
from evener.report.svg import WIDTH, canvas, label, line
from evener.units import show

_HEAD: Final = 26.0
_LANE: Final = 54.0
_ARROW: Final = 18.0
_LEFT, _RIGHT = 2.0, WIDTH - 2
_INSIDE: Final = 12.0


def stages(plan: Plan, trace: Trace) -> Element:
    """Return the stages from top to bottom, one bar per lane.

    A full bar is the longest time per frame of any lane; the dark part is what was measured in
    the run, the outline what was predicted.
    """
    measured = {(one.stage, one.processor, one.cores): one for one in trace.stages}
    times = [lane.time_s for stage in plan.stages for lane in stage.lanes]
    times += [one.median_s for one in trace.stages]
    scale = (_RIGHT - _LEFT - 2 * _INSIDE) / max(*times, 1e-12)
    marks: list[Element] = []
    top = 2.0
    for index, stage in enumerate(plan.stages):
        if index:
            marks += _arrow(top)
            top += _ARROW
        height = _HEAD + _LANE * len(stage.lanes) + 4
        marks.append(
            tag("rect", x=_LEFT, y=top, width=_RIGHT - _LEFT, height=height, rx=6, class_="box")
        )
        title = f"stage {index + 1}: {_blocks(stage)}"
        marks.append(label(_LEFT + _INSIDE, top + 19, title, style="strong"))
        for place, lane in enumerate(stage.lanes):
            found = measured.get((index, lane.processor, lane.cores))
            marks += _lane(lane, found, top=top + _HEAD + place * _LANE, scale=scale)
        top += height
    return canvas(
        "stages",
        top + 2,
        *marks,
        title="The plan: stages on processors",
        description="; ".join(_describe(i, stage) for i, stage in enumerate(plan.stages)) + ".",
    )


def _lane(lane: Lane, found: StageTrace | None, *, top: float, scale: float) -> list[Element]:
    left = _LEFT + _INSIDE
    time = f"{show(lane.time_s, 'time')} predicted"
    if found is not None:
        time = f"{show(found.median_s, 'time')} ({time})"
    room = _RIGHT - _LEFT - 2 * _INSIDE
    marks = [
        label(left, top + 13, _where(lane), room=room),
        label(left, top + 28, time, style="muted", room=room),
    ]
    if found is not None:
        marks.append(_bar(left, top, found.median_s * scale, "bar-plan"))
    marks.append(_bar(left, top, lane.time_s * scale, "outline"))
    return marks


def _bar(left: float, top: float, width: float, style: str) -> Element:
    return tag("rect", x=left, y=top + 34, width=width, height=12, class_=style)


def _arrow(top: float) -> list[Element]:
    x = WIDTH / 2
    tip = f"{x - 5:g},{top + 10:g} {x:g},{top + 17:g} {x + 5:g},{top + 10:g}"
    return [line(x, top + 1, x, top + 12, "arrow"), tag("polygon", points=tip, class_="arrow-tip")]


def _blocks(stage: Stage) -> str:
    if stage.first_block == stage.last_block:
        return f"block {stage.first_block}"
    return f"blocks {stage.first_block} to {stage.last_block}"


def _where(lane: Lane) -> str:
    cores = f" · {_cores(lane.cores)}" if lane.cores else ""
    ways = dict.fromkeys(
        part.runtime if part.precision == "f32" else f"{part.runtime} {part.precision}"
        for part in lane.parts
    )
    return f"{lane.processor}{cores} · {' + '.join(ways)}"


def _cores(cores: Sequence[int]) -> str:
    return f"{'core' if len(cores) == 1 else 'cores'} {', '.join(map(str, cores))}"


def _describe(index: int, stage: Stage) -> str:
    lanes = " and ".join(
        f"{_where(lane)}, {show(lane.time_s, 'time')} per frame" for lane in stage.lanes
    )
    return f"stage {index + 1}, {_blocks(stage)}, on {lanes}"
