"""Where each lane is: the frame it computes, and since when."""

from typing import Final, Protocol

import msgspec

_NO_FRAME: Final = -1.0
GAUGE_DOUBLES: Final = 3
"""Room that a gauge needs: the frame, since when, and how many are done."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a lane is, as a supervisor sees it.

    Attributes:
        stage: index of its stage, from 0.
        lane: its index within the stage.
        processor: name of the processor it runs on.
        frame_id: the frame it computes; None while it waits for one.
        since_s: when it began that frame, or began to wait, by the lane's clock.
        frames: frames it computed in this run.
        process: id of its process; None for a thread of this one.
    """

    stage: int
    lane: int
    processor: str
    frame_id: int | None
    since_s: float
    frames: int
    process: int | None = None


class Room(Protocol):
    """Memory for some doubles."""

    def __getitem__(self, index: int, /) -> float: ...

    def __setitem__(self, index: int, value: float, /) -> None: ...


class Gauge:
    """What a lane shows of its progress, in memory that others may read at any time.

    A reader can meet the frame of one moment with the time of the next, never for longer than
    the lane takes between two stores.

    Args:
        room: three doubles, perhaps shared with another process.

    Example:
        >>> gauge = Gauge([0.0] * GAUGE_DOUBLES)
        >>> gauge.begin(7, 1.5)
        >>> gauge.frame_id, gauge.since_s
        (7, 1.5)
        >>> gauge.end(2.0)
        >>> gauge.frame_id, gauge.since_s, gauge.frames
        (None, 2.0, 1)
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self.reset(0.0)

    @property
    def frame_id(self) -> int | None:
        """The frame in work; None between frames."""
        frame = self._room[0]
        return None if frame == _NO_FRAME else int(frame)

    @property
    def since_s(self) -> float:
        """When that frame was begun, or the last one ended."""
        return float(self._room[1])

    @property
    def frames(self) -> int:
        """How many were ended."""
        return int(self._room[2])

    def reset(self, now_s: float) -> None:
        """Begin to count anew."""
        self._room[0], self._room[1], self._room[2] = _NO_FRAME, now_s, 0.0

    def begin(self, frame_id: int, now_s: float) -> None:
        """Show that a frame was begun."""
        self._room[1] = now_s
        self._room[0] = frame_id

    def end(self, now_s: float) -> None:
        """Show that the frame was ended."""
        self._room[0] = _NO_FRAME
        self._room[1] = now_s
        self._room[2] += 1
