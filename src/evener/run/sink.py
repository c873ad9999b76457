"""Emit answers in the order of their frames, from whichever lane completes the order."""

from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition, Lock, get_ident
from time import perf_counter

from evener.artifacts.tensor import Tensor
from evener.comm.channel import Message, Slot, allocate
from evener.run.entry import Entry
from evener.run.order import InOrder
from evener.run.record import Record
from evener.runtime.session import Array

Emit = Callable[[int, tuple[Array, ...]], None]
Failed = Callable[[int, BaseException], None]


class Sink:
    """The outlet of the last stage: the writing half of a channel.

    The lane whose answer is next emits it, and those that wait behind it; the others go on with
    their work. After a frame failed, later ones are dropped, unless someone takes the news of it.

    Args:
        tensors: what the last stage hands on.
        slots: as many as there are credits, so that there is always a free one.
        entry: where credits go back to.
    """

    def __init__(self, tensors: Sequence[Tensor], slots: int, entry: Entry) -> None:
        self._free = deque(allocate([(tensor.shape, tensor.dtype) for tensor in tensors], slots))
        self._entry = entry
        self._lock = Lock()
        self._ended = Condition(self._lock)
        self._emitting = False
        self._emitter = 0  # the thread that emits, or did last
        self._closed = False
        self._order: InOrder[Message] = InOrder()
        self._emit: Emit = _nowhere
        self._failed: Failed | None = None
        self._record: Record = Record(perf_counter)
        self.failure: BaseException | None = None
        """What a stage or `emit` raised in this run, if one did."""

    def begin(
        self, emit: Emit, record: Record, *, first: int = 0, failed: Failed | None = None
    ) -> None:
        """Emit the answers of a new run from a number on; none of another may be in flight."""
        with self._lock:
            self._order = InOrder(first)
            self._emit, self._failed = emit, failed
            self._record, self.failure = record, None

    def close(self) -> None:
        """Emit nothing from now on: the run that waited for it is over.

        What comes later stays in flight, so that it can be run again elsewhere.
        """
        with self._lock:
            self._emit, self._failed = _nowhere, None
            self._closed = True

    def settle(self) -> None:
        """Wait until the answer that is emitted just now, once closed, was emitted."""
        with self._lock:
            while self._emitting and self._emitter != get_ident():
                self._ended.wait()

    def skip(self, frame_id: int) -> None:
        """Wait no more for a frame that was not admitted; no later one was yet."""
        with self._lock:
            self._order.skip(frame_id)
            self._record.dropped += 1

    def acquire(self, deadline: float | None = None) -> Slot:  # noqa: ARG002 - it never waits
        """Take a free slot to write the next answer into."""
        return self._free.popleft()

    def free(self, slot: Slot) -> None:
        """Give back a slot that was not written."""
        self._free.append(slot)

    def put(self, frame_id: int, slot: Slot, deadline: float | None = None) -> None:  # noqa: ARG002 - it never waits
        """Take an answer, and emit it if it is next."""
        self._deliver(Message(frame_id=frame_id, slot=slot))

    def put_error(self, frame_id: int, error: BaseException) -> None:
        """Take the news that a frame failed."""
        self._deliver(Message(frame_id=frame_id, slot=None, error=error))

    def _deliver(self, message: Message) -> None:
        with self._lock:
            self._order.put(message.frame_id, message)
            if self._emitting:
                return
            self._emitting, self._emitter = True, get_ident()
        while True:
            with self._lock:
                following = None if self._closed else self._order.pop()
                if following is None:
                    self._emitting = False
                    self._ended.notify_all()
                    return
            self._emit_one(following)

    def _emit_one(self, message: Message) -> None:
        if self.failure is None:
            if message.error is not None and self._failed is None:
                self._fail(message.error)
            else:
                self._record.emitted.append(self._record.clock())
                try:
                    self._tell(message)
                except BaseException as error:  # noqa: BLE001 - the caller's code; raised again to it
                    self._fail(error)
        if message.slot is not None:
            self._free.append(message.slot)
        self._entry.release(message.frame_id, self._record.clock())

    def _tell(self, message: Message) -> None:
        if message.slot is not None:
            self._emit(message.frame_id, tuple(message.slot.arrays))
        elif message.error is not None and self._failed is not None:
            self._failed(message.frame_id, message.error)

    def _fail(self, error: BaseException) -> None:
        self.failure = error
        self._entry.stop()


def _nowhere(frame_id: int, answer: tuple[Array, ...]) -> None:
    """Emit nothing."""
