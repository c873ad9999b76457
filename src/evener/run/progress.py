"""What a lane shows of its work, in memory that others may read at any time."""

from collections.abc import Sequence
from typing import Final, Protocol

from evener.artifacts.plan import Lane
from evener.run.record import RECENT, LaneProgress

_NO_FRAME: Final = -1.0
_BUSY: Final = 3  # before it the frame, since when, and how many are done
_TIMES: Final = 4  # where the times begin
GAUGE_DOUBLES: Final = _TIMES + RECENT
"""Room that a gauge needs."""


class Room(Protocol):
    """Memory for some doubles, perhaps shared with another process."""

    def __getitem__(self, index: int, /) -> float: ...

    def __setitem__(self, index: int, value: float, /) -> None: ...


class Gauge:
    """Where one lane writes, and many read.

    A reader can meet the frame of one moment with the time of the next, never for longer than
    the lane takes between two stores.

    Args:
        room: `GAUGE_DOUBLES` of them.

    Example:
        >>> gauge = Gauge([0.0] * GAUGE_DOUBLES)
        >>> gauge.begin(7, 1.5)
        >>> gauge.at
        (7, 1.5)
        >>> gauge.end(0.5)
        >>> gauge.at, gauge.frames, gauge.recent_s, gauge.busy_s
        ((None, 0.0), 1, [0.5], 0.5)
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self.reset()

    @property
    def at(self) -> tuple[int | None, float]:
        """The frame in work, and when it was begun; None and 0 between frames."""
        since_s, frame = self._room[1], self._room[0]
        return (None, 0.0) if frame == _NO_FRAME else (int(frame), since_s)

    @property
    def frames(self) -> int:
        """How many were computed."""
        return int(self._room[2])

    @property
    def recent_s(self) -> Sequence[float]:
        """What the last of them took, in order, in seconds."""
        frames = self.frames
        return [self._room[_TIMES + n % RECENT] for n in range(max(0, frames - RECENT), frames)]

    @property
    def busy_s(self) -> float:
        """What all frames took since the lane was opened, those of earlier runs too, in seconds."""
        return self._room[_BUSY]

    def reset(self) -> None:
        """Begin to count anew; only `busy_s` goes on."""
        self._room[0], self._room[1], self._room[2] = _NO_FRAME, 0.0, 0.0

    def begin(self, frame_id: int, now_s: float) -> None:
        """Show that a frame is in work."""
        self._room[1] = now_s
        self._room[0] = frame_id

    def end(self, took_s: float | None) -> None:
        """Show that it is no more, and what it took; None if it failed."""
        self._room[0] = _NO_FRAME
        if took_s is not None:
            frames = self._room[2]
            self._room[_TIMES + int(frames) % RECENT] = took_s
            self._room[2] = frames + 1
            self._room[_BUSY] += took_s

    def progress(self, stage: int, lane: Lane, process: int | None = None) -> LaneProgress:
        """Say where a lane is that writes here."""
        frame_id, since_s = self.at
        return LaneProgress(
            stage=stage,
            lane=lane,
            frame_id=frame_id,
            since_s=since_s,
            frames=self.frames,
            recent_s=self.recent_s,
            process=process,
            busy_s=self.busy_s,
        )
