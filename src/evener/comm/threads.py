"""Hand frames from thread to thread through slots that both sides read and write in place."""

import time
from collections import deque
from collections.abc import Sequence
from threading import Condition, Lock

from evener.comm.channel import Message, Slot, allocate
from evener.errors import ChannelClosedError, DeadlineError


class ThreadChannel:
    """A channel between threads of one process; see `evener.comm.channel.Channel`.

    Args:
        shapes: shape and numpy type name of each tensor that crosses.
        slots: how many frames it holds.

    Example:
        >>> channel = ThreadChannel([((2,), "float32")], slots=1)
        >>> slot = channel.acquire()
        >>> slot.arrays[0][:] = 7
        >>> channel.put(0, slot)
        >>> channel.get().slot.arrays[0].tolist()
        [7.0, 7.0]
    """

    def __init__(self, shapes: Sequence[tuple[tuple[int, ...], str]], slots: int) -> None:
        self._slots = allocate(shapes, slots)
        self._free = deque(self._slots)
        self._ready: deque[Message] = deque()
        self._closed = False
        self._error: BaseException | None = None
        self._lock = Lock()
        self._some_free = Condition(self._lock)
        self._some_ready = Condition(self._lock)

    def acquire(self, deadline: float | None = None) -> Slot:
        """Take a free slot; see `evener.comm.channel.Channel.acquire`."""
        with self._lock:
            if not self._some_free.wait_for(lambda: self._free or self._closed, _left_s(deadline)):
                raise DeadlineError(
                    f"none of the channel's {len(self._slots)} slots came free before the "
                    "deadline: its consumers are slower than its producers"
                )
            self._check_open()
            return self._free.popleft()

    def put(self, frame_id: int, slot: Slot, deadline: float | None = None) -> None:  # noqa: ARG002 - a slot in hand is room in the ring, so that this never waits
        """Hand on a written slot; see `evener.comm.channel.Channel.put`."""
        self._put(Message(frame_id=frame_id, slot=slot))

    def put_error(self, frame_id: int, error: BaseException) -> None:
        """Hand on that a frame failed; see `evener.comm.channel.Channel.put_error`."""
        self._put(Message(frame_id=frame_id, slot=None, error=error))

    def get(self, deadline: float | None = None) -> Message:
        """Take the oldest frame; see `evener.comm.channel.Channel.get`."""
        with self._lock:
            if not self._some_ready.wait_for(
                lambda: self._ready or self._closed, _left_s(deadline)
            ):
                raise DeadlineError(
                    "no frame came through the channel before the deadline: its producers have "
                    "none, or have stopped"
                )
            if self._error is not None or not self._ready:
                self._check_open()
            return self._ready.popleft()

    def free(self, slot: Slot) -> None:
        """Give a slot back; see `evener.comm.channel.Channel.free`."""
        with self._lock:
            self._free.append(slot)
            self._some_free.notify()

    def close(self, error: BaseException | None = None) -> None:
        """End the hand-off; see `evener.comm.channel.Channel.close`."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._error = error
            self._some_free.notify_all()
            self._some_ready.notify_all()

    def _put(self, message: Message) -> None:
        with self._lock:
            self._check_open()
            self._ready.append(message)
            self._some_ready.notify()

    def _check_open(self) -> None:
        if self._closed:
            reason = f": {self._error}" if self._error is not None else ""
            raise ChannelClosedError(f"the channel is closed{reason}") from self._error


def _left_s(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
