"""What a run is doing just now, from counters that cost it nothing."""

from collections.abc import Sequence
from statistics import median
from typing import Final, Protocol

import msgspec

from evener.run.record import LaneProgress, Record

_LATENCIES: Final = 64  # the last ones, whose median is shown


class Observable(Protocol):
    """A pipeline, supervised or not."""

    @property
    def record(self) -> Record:
        """The times of the run in progress."""
        ...

    def progress(self) -> Sequence[LaneProgress]:
        """Return what each lane does just now."""
        ...


class Glance(msgspec.Struct, frozen=True, kw_only=True):
    """The counters of a run at one moment.

    Attributes:
        at_s: when, by the run's clock.
        emitted: answers until then.
        in_flight: frames admitted and not yet answered.
        dropped: frames that were left out.
        latency_s: median latency of the last answers; None before the first.
        lanes: what each lane does.
    """

    at_s: float
    emitted: int
    in_flight: int
    dropped: int
    latency_s: float | None
    lanes: tuple[LaneProgress, ...]


def look(run: Observable) -> Glance:
    """Take a look at a run; any thread may, at any time."""
    record = run.record
    emitted = len(record.emitted)
    ends = record.emitted[max(0, emitted - _LATENCIES) : emitted]  # copies: they go on growing
    starts = record.granted[max(0, emitted - _LATENCIES) : emitted]
    latencies = [end - start for start, end in zip(starts, ends, strict=True)]
    return Glance(
        at_s=record.clock(),
        emitted=emitted,
        in_flight=max(0, len(record.granted) - emitted),
        dropped=record.dropped,
        latency_s=median(latencies) if latencies else None,
        lanes=tuple(run.progress()),
    )


def rate_hz(before: Glance, now: Glance) -> float:
    """Return the answers per second between two looks.

    Example:
        >>> one = Glance(at_s=1, emitted=10, in_flight=2, dropped=0, latency_s=None, lanes=())
        >>> rate_hz(one, msgspec.structs.replace(one, at_s=3, emitted=16))
        3.0
    """
    return (now.emitted - before.emitted) / max(now.at_s - before.at_s, 1e-9)


def busy(before: LaneProgress | None, now: LaneProgress, *, since_s: float, at_s: float) -> float:
    """Return the share of the time between two looks that a lane was in its sessions.

    Args:
        before: the lane at the first look; None if it was not there.
        now: the lane at the second.
        since_s: when the first look was.
        at_s: when the second was.
    """
    done = now.frames - (before.frames if before is not None else 0)
    recent = list(now.recent_s)[-done:] if done > 0 else []
    worked_s = sum(recent) * done / len(recent) if recent else 0.0
    if now.frame_id is not None:
        worked_s += at_s - max(now.since_s, since_s)
    if before is not None and before.frame_id is not None and done > 0:
        worked_s -= max(0.0, since_s - before.since_s)  # of its first frame, before the first look
    return min(1.0, max(0.0, worked_s / max(at_s - since_s, 1e-9)))
