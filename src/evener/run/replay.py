"""Keep the frames in flight, so that one pipeline can answer what another left unanswered.

A run that changes its pipeline goes in *legs*, one pipeline each. A leg first takes the frames
that were taken and not emitted, oldest first, then goes on with the source. What a leg that was
replaced still does, late, in a thread that nobody could stop, reaches neither source nor caller.
"""

from collections import deque
from collections.abc import Iterator
from threading import Lock

from evener.run.entry import Frame
from evener.run.record import Record
from evener.run.sink import Emit
from evener.runtime.session import Array


class ReplayBuffer:
    """The frames of a run that were taken from their source and not emitted.

    A frame counts as emitted once `emit` is called with its answer, whatever comes of the call:
    no answer is emitted twice. The buffer holds no more frames than a leg has in flight.

    Args:
        frames: the source, asked by one thread at a time.
        emit: called with each frame's number from 0 and its answer, in order, one at a time.
        record: notes when each frame was first taken and when it was emitted.

    Example:
        >>> seen = []
        >>> buffer = ReplayBuffer(iter("abc"), lambda n, answer: seen.append((n, answer)),
        ...                       Record(lambda: 0.0))
        >>> first = buffer.leg()
        >>> first.take(), first.take(), first.emit(0, "A")
        ('a', 'b', None)
        >>> second = buffer.leg()
        >>> first.emit(1, "too late"), second.take(), second.take()
        (None, 'b', 'c')
        >>> second.emit(1, "B")
        >>> seen, buffer.replayed
        ([(0, 'A'), (1, 'B')], 1)
    """

    def __init__(self, frames: Iterator[Frame], emit: Emit, record: Record) -> None:
        self._source = frames
        self._emit_answer = emit
        self._record = record
        self._asking = Lock()  # held while the source is asked
        self._emitting = Lock()  # held while the caller's `emit` runs
        self._lock = Lock()
        self._held: deque[Frame] = deque()
        self._current: Leg | None = None
        self._taken = 0  # by any leg
        self.emitted = 0
        """How many frames were emitted: the number of the oldest that was not."""
        self.replayed = 0
        """How many times a frame was taken again."""
        self.failure: BaseException | None = None
        """What the source or `emit` raised, if one did; the caller's own to see."""

    @property
    def emitting(self) -> bool:
        """Whether the caller's `emit` runs just now."""
        return self._emitting.locked()

    def leg(self) -> "Leg":
        """Begin the next leg; the one before takes and emits nothing more."""
        with self._lock:
            self._current = Leg(self, self.emitted)
            return self._current

    def more(self) -> bool:
        """Whether any frame is left, which may ask the source; no leg may be running.

        Raises:
            BaseException: what the source or `emit` raised.
        """
        if self.failure is not None:
            raise self.failure
        with self._asking:
            if self._held:
                return True
            return self._pull()

    def take(self, leg: "Leg") -> Frame | None:
        """Return the next frame of a leg, None at its end; see `Leg.take`."""
        with self._asking:
            while True:
                with self._lock:
                    if leg is not self._current:
                        return None  # a frame pulled meanwhile is held for the leg after it
                    number = leg.first + leg.taken
                    if number - self.emitted < len(self._held):
                        leg.taken += 1
                        self.replayed += number < self._taken
                        self._taken = max(self._taken, number + 1)
                        return self._held[number - self.emitted]
                    if leg.stopped:
                        return None
                if not self._pull():
                    return None

    def emit(self, leg: "Leg", number: int, answer: tuple[Array, ...]) -> None:
        """Emit the answer to the leg's next frame; see `Leg.emit`."""
        with self._emitting:
            with self._lock:
                if leg is not self._current:
                    return
                if self.failure is not None:
                    raise self.failure
                self._held.popleft()
                self.emitted += 1
                self._record.emitted.append(self._record.clock())
            try:
                self._emit_answer(number, answer)
            except BaseException as error:
                self.failure = error
                raise

    def _pull(self) -> bool:
        """Hold one more frame of the source, outside the lock: however slow, answers go out."""
        if self.failure is not None:
            raise self.failure
        try:
            frame = next(self._source, None)
        except BaseException as error:
            self.failure = error
            raise
        if frame is None:
            return False
        with self._lock:
            self._held.append(frame)
            self._record.waited.append(0.0)
            self._record.granted.append(self._record.clock())
        return True


class Leg:
    """The part of a run that one pipeline answers; made by `ReplayBuffer.leg`.

    Attributes:
        first: number of its first frame.
        taken: how many frames it took.
        stopped: whether it is to take no more frames than are held already.
    """

    def __init__(self, buffer: ReplayBuffer, first: int) -> None:
        self._buffer = buffer
        self.first = first
        self.taken = 0
        self.stopped = False

    def frames(self) -> Iterator[Frame]:
        """Iterate over its frames, for its pipeline to admit."""
        while (frame := self.take()) is not None:
            yield frame

    def take(self) -> Frame | None:
        """Return its next frame; None when the source has ended, or the leg was stopped.

        Raises:
            BaseException: what the source or `emit` raised.
        """
        return self._buffer.take(self)

    def emit(self, number: int, answer: tuple[Array, ...]) -> None:
        """Emit the answer to its next frame, whose number is given; too late, do nothing."""
        self._buffer.emit(self, number, answer)

    def stop(self) -> None:
        """Take nothing more from the source, so that the pipeline drains and its run ends."""
        self.stopped = True
