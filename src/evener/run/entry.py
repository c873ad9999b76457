"""Admit frames by credit: the first stage's lanes take the next one when a credit is free.

A credit is a frame in flight: granted when the frame is taken, given back when its answer was
emitted. So whatever the lanes' speeds, no more frames are in flight than there are credits.
"""

from collections.abc import Iterator
from threading import Condition, Lock
from typing import Final

import msgspec

from evener.comm.channel import Message, Slot
from evener.errors import ChannelClosedError, StageFailedError
from evener.run.record import Record
from evener.runtime.session import Array

Frame = tuple[Array, ...]


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A frame of a source that does not wait.

    Attributes:
        frame_id: its number, as it arrived.
        frame: its arrays.
        at_s: when it arrived, by the pipeline's clock.
    """

    frame_id: int
    frame: Frame
    at_s: float


Source = Iterator[Frame | Arrival]
# A signal that comes just before a wait does not end it: Python sees it at the next look up.
_LOOK_UP_S: Final = 0.25


class Entry:
    """The inlet of the first stage: the reading half of a channel.

    Args:
        credits: most frames in flight.
    """

    def __init__(self, credits: int) -> None:
        self._credits = credits
        # The caller's thread, which an interrupt can hit anywhere, touches plain locks only: one
        # raised within a Condition's own methods would leave its lock held.
        self._lock = Lock()
        self._may_pull = Condition(self._lock)
        self._over = Lock()  # held during a run
        self._run: tuple[Source, Record] | None = None
        self._in_flight: dict[int, Frame] = {}
        self._pulling = False
        self._next_id = 0
        self._credit_at_s = 0.0
        self._closed = False
        self._cause: Exception | None = None
        self.failure: BaseException | None = None
        """What the source of frames raised in this run, if it did."""

    @property
    def in_flight(self) -> dict[int, Frame]:
        """The frames admitted and not yet emitted, by number: what could be run again."""
        with self._lock:
            return dict(self._in_flight)

    @property
    def closed(self) -> bool:
        """Whether no run may begin any more."""
        with self._lock:
            return self._closed

    def begin(self, frames: Source, record: Record, *, first: int = 0) -> None:
        """Let the lanes take the frames of a new run; none of another may be in flight.

        Args:
            frames: the source.
            record: notes when they are admitted.
            first: number of the first one.
        """
        with self._lock:
            self._check_open()
            self._over.acquire(blocking=False)
            self._run = (frames, record)
            self._next_id, self.failure = first, None
            self._credit_at_s = record.clock()
            self._may_pull.notify()

    def check_open(self) -> None:
        """Check that a run may begin.

        Raises:
            ChannelClosedError: the pipeline is closed.
        """
        with self._lock:
            self._check_open()

    def check_kept(self) -> None:
        """Check that the pipeline was not closed while it is opened.

        Raises:
            StageFailedError: it was given up, or a lane broke down.
            ChannelClosedError: it was closed.
        """
        failure: StageFailedError | None = None
        try:
            self.check_open()
        except ChannelClosedError as closed:
            if not isinstance(closed.__cause__, StageFailedError):
                raise
            failure = closed.__cause__
        if failure is not None:
            raise failure

    def get(self, deadline: float | None = None) -> Message:  # noqa: ARG002 - lanes wait for ever
        """Take the next frame as soon as a credit is free; waits between runs too.

        Raises:
            ChannelClosedError: the pipeline is closed.
        """
        while True:
            (frames, record), waited_s = self._claim()
            pulled = self._pull(frames)
            with self._lock:
                self._pulling = False
                if pulled is None:
                    self._run = None
                    self._tell()
                    continue
                frame_id, frame = self._admit(pulled, record, waited_s)
                self._tell()
                return Message(frame_id=frame_id, slot=Slot(index=-1, arrays=frame))

    def free(self, slot: Slot) -> None:
        """Do nothing: a frame is kept until its answer was emitted."""

    def release(self, frame_id: int, now_s: float) -> None:
        """Give back the credit of a frame whose answer was emitted or dropped."""
        with self._lock:
            del self._in_flight[frame_id]
            self._credit_at_s = now_s
            self._tell()

    def stop(self) -> None:
        """Admit no more frames of this run."""
        with self._lock:
            self._run = None
            self._tell()

    def wait(self) -> None:
        """Wait until no frame is in flight and none will come.

        Raises:
            ChannelClosedError: the pipeline was closed meanwhile.
        """
        while not self._over.acquire(timeout=_LOOK_UP_S):
            pass
        with self._lock:
            if self._over.locked():  # else whoever closed it meanwhile has released it
                self._over.release()
            self._check_open()

    def close(self, cause: Exception | None = None) -> None:
        """Wake everyone who waits; a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed, self._cause = True, cause
            self._run = None
            self._may_pull.notify_all()
            self._tell()

    def _claim(self) -> tuple[tuple[Source, Record], float]:
        """Wait for a run, a credit and the turn to ask the source; return how long for a credit."""
        asked: tuple[Source, Record] | None = None
        asked_s = 0.0
        with self._lock:
            while True:
                self._check_open()
                if self._run is not None and not self._pulling:
                    now_s = self._run[1].clock()
                    if asked is not self._run:  # what lay between two runs is no wait
                        asked, asked_s = self._run, now_s
                    if len(self._in_flight) < self._credits:
                        self._pulling = True
                        return self._run, max(0.0, min(self._credit_at_s, now_s) - asked_s)
                self._may_pull.wait()

    def _admit(self, pulled: Frame | Arrival, record: Record, waited_s: float) -> tuple[int, Frame]:
        now_s = record.clock()
        if isinstance(pulled, Arrival):
            # It waited by itself, and its latency counts from when it came.
            frame_id, frame, since_s = pulled.frame_id, pulled.frame, pulled.at_s
            waited_s = now_s - since_s
        else:
            frame_id, frame, since_s = self._next_id, pulled, now_s
        self._next_id = frame_id + 1
        self._in_flight[frame_id] = frame
        record.waited.append(waited_s)
        record.granted.append(since_s)
        return frame_id, frame

    def _tell(self) -> None:
        if self._is_over():
            if self._over.locked():
                self._over.release()
        elif not self._pulling and len(self._in_flight) < self._credits:
            self._may_pull.notify()

    def _is_over(self) -> bool:
        return self._closed or (self._run is None and not self._pulling and not self._in_flight)

    def _pull(self, frames: Source) -> Frame | Arrival | None:
        """Ask the source, outside the lock: however slow it is, answers are emitted meanwhile."""
        try:
            return next(frames, None)
        except BaseException as error:  # noqa: BLE001 - the caller's code; raised again to it
            self.failure = error
            return None

    def _check_open(self) -> None:
        if self._closed:
            reason = f": {self._cause}" if self._cause is not None else ""
            raise ChannelClosedError(
                f"the pipeline is closed, {len(self._in_flight)} frames were in flight{reason}; "
                "open another to run more"
            ) from self._cause
