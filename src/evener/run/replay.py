"""Keep the frames in flight, so that one pipeline can answer what another left unanswered.

A run that changes its pipeline goes in *legs*, one pipeline each. A leg first takes the frames
that were taken and not emitted, oldest first, then goes on with the source. What a leg that was
replaced still does, late, in a thread that nobody could stop, reaches neither source nor caller.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import Final

from evener.errors import StageFailedError
from evener.run.entry import Frame
from evener.run.record import Record
from evener.run.sink import Emit, Failed
from evener.run.wiring import NO_STATES
from evener.runtime.session import Array

FAILURES_IN_A_ROW: Final = 3
"""At so many frames one lane fails by itself, whatever the frames hold."""


class ReplayBuffer:
    """The frames of a run that were taken from their source and not emitted.

    A frame counts as emitted once `emit` is called with its answer, whatever comes of the call:
    no answer is emitted twice. The buffer holds no more frames than a leg has in flight.

    Args:
        frames: the source, asked by one thread at a time. Where it gives None, there is no frame
            yet: it is asked again, by a leg that still runs.
        emit: called with each frame's number from 0 and its answer, in order, one at a time.
        record: notes when each frame was first taken and when it was emitted.
        failed: called instead of `emit`, in its turn, with what a stage raised at a frame.

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

    def __init__(
        self,
        frames: Iterator[Frame | None],
        emit: Emit,
        record: Record,
        *,
        failed: Failed | None = None,
    ) -> None:
        self._source = frames
        self._emit_answer = emit
        self._failed = failed
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
        self.states: dict[str, Array] = {}
        """States after the last frame that was emitted, by input, where its leg tells them."""

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
        while not self._held:  # one that a leg before still waits for may come meanwhile
            with self._asking:
                if not self._held and not self._pull():
                    return False
        return True

    def take(self, leg: "Leg") -> Frame | None:
        """Return the next frame of a leg, None at its end; see `Leg.take`."""
        while True:
            frame, over = self._take_held(leg)
            if frame is not None or over:
                return frame
            with self._asking:  # of a leg before, which may be waiting for the source just now
                frame, over = self._take_held(leg)
                if frame is not None or over or not self._pull():
                    return frame

    def _take_held(self, leg: "Leg") -> tuple[Frame | None, bool]:
        """Return a leg's next frame if it is held, and whether it is to take no more."""
        with self._lock:
            if leg is not self._current:
                return None, True  # a frame pulled meanwhile is held for the leg after it
            number = leg.first + leg.taken
            if number - self.emitted >= len(self._held):
                return None, leg.stopped
            leg.taken += 1
            self.replayed += number < self._taken
            self._taken = max(self._taken, number + 1)
            return self._held[number - self.emitted], False

    def emit(self, leg: "Leg", number: int, answer: tuple[Array, ...]) -> None:
        """Emit the answer to the leg's next frame; see `Leg.emit`."""
        told = len(answer) - len(leg.states_told)
        states = dict(zip(leg.states_told, answer[told:], strict=True))
        self._settle(leg, lambda: self._emit_answer(number, answer[:told]), states)

    def fail(self, leg: "Leg", number: int, error: BaseException) -> None:
        """Tell that a stage failed at the leg's next frame; see `Leg.fail`."""
        failed = self._failed
        if failed is None:
            raise error
        self._settle(leg, lambda: failed(number, error))

    def _settle(
        self, leg: "Leg", tell: Callable[[], None], states: Mapping[str, Array] = NO_STATES
    ) -> None:
        """Let go of the oldest frame and tell what came of it; too late, do nothing."""
        with self._emitting:
            with self._lock:
                if leg is not self._current:
                    return
                if self.failure is not None:
                    raise self.failure
                self._held.popleft()
                self.states |= {name: state.copy() for name, state in states.items()}
                self.emitted += 1
                self._record.emitted.append(self._record.clock())
            try:
                tell()
            except BaseException as error:
                self.failure = error
                raise

    def _pull(self) -> bool:
        """Ask the source, outside the lock: however slow, answers go out; False at its end."""
        if self.failure is not None:
            raise self.failure
        try:
            frame = next(self._source)
        except StopIteration:
            return False
        except BaseException as error:
            self.failure = error
            raise
        if frame is None:
            return True  # there may be one yet
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
        states_told: names of the states that follow each answer that it is given.
    """

    def __init__(self, buffer: ReplayBuffer, first: int) -> None:
        self._buffer = buffer
        self.first = first
        self.taken = 0
        self._failures: list[object] = []  # the lane of each since the last answer
        self.stopped = False
        self.states_told: tuple[str, ...] = ()

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
        self._failures.clear()
        self._buffer.emit(self, number, answer)

    def fail(self, number: int, error: BaseException) -> None:
        """Tell that a stage failed at its next frame, whose number is given; too late, do nothing.

        Raises:
            StageFailedError: one lane failed at so many frames in a row that it is at fault, not
                they: the last of them is held, for another leg.
        """
        if isinstance(error, StageFailedError):
            self._failures.append((error.stage, error.processor, error.cores))
            if self._failures[-FAILURES_IN_A_ROW:] == self._failures[-1:] * FAILURES_IN_A_ROW:
                self.stop()  # it ends though the source has nothing yet
                raise error
        self._buffer.fail(self, number, error)

    def stop(self) -> None:
        """Take nothing more from the source, so that the pipeline drains and its run ends."""
        self.stopped = True
