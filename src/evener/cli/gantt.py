"""Draw the timeline of a run in text: a row for each lane, a column for some time."""

from collections.abc import Iterator
from math import ceil
from typing import Final

from rich.text import Text

from evener.artifacts.timeline import LaneSpans, Timeline
from evener.errors import InputError
from evener.units import count, show

FRAMES: Final = 12  # drawn unless more are asked for
_COLOURS: Final = ("cyan", "yellow", "green", "magenta", "blue", "red")
_EVEN, _ODD, _IDLE = "█", "▒", "·"
_LEAST: Final = 20  # columns for the time, however narrow the terminal


def window(timeline: Timeline, first: int | None, many: int) -> tuple[float, float]:
    """Return the time in which some frames were under way, from the first credit of them.

    Args:
        timeline: of a run.
        first: number of the first of them; None for those in the middle.
        many: how many.

    Raises:
        InputError: no such frame.
    """
    frames = list(timeline.frames)
    if not frames:
        raise InputError("the timeline holds no frame; run some with evener run --trace")
    if first is None:
        start = max(0, (len(frames) - many) // 2)
    elif first in frames:
        start = frames.index(first)
    else:
        raise InputError(
            f"the run answered no frame {first}; it answered {count(len(frames), 'frame')} from "
            f"{frames[0]} to {frames[-1]}"
        )
    end = min(start + many, len(frames)) - 1
    return timeline.granted_s[start], max(timeline.emitted_s[end], timeline.granted_s[start] + 1e-9)


def gantt(timeline: Timeline, begin_s: float, end_s: float, *, width: int) -> Iterator[Text]:
    """Draw what each lane ran in some time, in lines.

    Args:
        timeline: of the run.
        begin_s: where the drawing begins.
        end_s: where it ends, later.
        width: characters a line, of which the time gets 20 at least.
    """
    names = [
        f"stage {lane.stage} {lane.processor} [{','.join(map(str, lane.cores))}]"
        for lane in timeline.lanes
    ]
    margin = max(map(len, names), default=0) + 1
    columns = max(width - margin, _LEAST)
    for name, lane in zip(names, timeline.lanes, strict=True):
        yield Text(name.ljust(margin)) + _row(lane, begin_s, end_s, columns)
    ends = show(begin_s, "time"), show(end_s, "time")
    yield Text(" " * margin + ends[0] + ends[1].rjust(columns - len(ends[0])))
    drawn = sum(begin_s <= at_s <= end_s for at_s in timeline.emitted_s)
    step = show((end_s - begin_s) / columns, "time")
    yield Text(
        f"{drawn} of {count(len(timeline.frames), 'answer')} to {timeline.network}; a column is "
        f"{step}; {_EVEN} even and {_ODD} odd frames, {_IDLE} waits"
    )


def _row(lane: LaneSpans, begin_s: float, end_s: float, columns: int) -> Text:
    cells: list[tuple[str, str]] = [(_IDLE, "dim")] * columns
    scale = columns / (end_s - begin_s)
    for frame, begun_s, ended_s in zip(lane.frames, lane.begun_s, lane.ended_s, strict=True):
        left = max(0, int((begun_s - begin_s) * scale))
        right = min(columns, ceil((ended_s - begin_s) * scale))
        if ended_s <= begin_s or right <= left:
            continue
        colour = _COLOURS[frame % len(_COLOURS)]
        drawn = (_ODD if frame % 2 else _EVEN) * (right - left)
        number = str(frame)
        if len(drawn) > len(number) + 1:
            drawn = drawn[0] + number + drawn[len(number) + 1 :]
        cells[left:right] = [(one, colour) for one in drawn]
    return Text.assemble(*cells)
