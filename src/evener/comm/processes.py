"""Hand frames from process to process: tensors in shared memory, control through the kernel.

The memory has no name (`memfd_create(2)`): the kernel frees it with the last process that holds
it, however that one ends. Nothing here is a lock that a killed process could hold for ever: free
slots lie in a pipe, and what was put in a socket that keeps records whole (`SOCK_SEQPACKET`), so
that the kernel gives each record to one taker. Closing is a letter that everyone reads and nobody
takes away.
"""

import mmap
import os
import select
import socket
import struct
import time
import weakref
from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import Final, Self

import msgspec
import numpy as np

from evener.comm import parcel
from evener.comm.channel import Message, Slot
from evener.errors import ChannelClosedError, DeadlineError, InputError

MOST_SLOTS: Final = 256
"""So many fit into a pipe and a socket of the smallest size that Linux gives."""

_ALIGNED: Final = 64  # bytes: a cache line, and the widest vector
_INDEX: Final = struct.Struct("<i")
_RECORD: Final = struct.Struct("<qi")  # frame, slot; an error has slot -1, and its parcel behind
_MOST_RECORD: Final = _RECORD.size + parcel.MOST_BYTES
_CLOSED_IN_PEACE: Final = b"-"


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """What both sides of a channel between processes must know.

    Attributes:
        shapes: shape and numpy type name of each tensor that crosses.
        slots: how many frames it holds.
    """

    shapes: tuple[tuple[tuple[int, ...], str], ...]
    slots: int


class ProcessChannel:
    """A channel between processes; see `evener.comm.channel.Channel`.

    `create` makes one. Its maker sends `layout` and `handles` to other processes, which join it by
    giving both to the constructor.

    Args:
        layout: the maker's.
        handles: the maker's, as this process received them; they are the channel's from now on.

    Example:
        >>> channel = ProcessChannel.create([((2,), "float32")], slots=1)
        >>> slot = channel.acquire()
        >>> slot.arrays[0][:] = 7
        >>> channel.put(0, slot)
        >>> channel.get().slot.arrays[0].tolist()
        [7.0, 7.0]
        >>> channel.release()
    """

    def __init__(self, layout: Layout, handles: Sequence[int]) -> None:
        self.layout = layout
        self.handles = tuple(handles)
        """File descriptors, to be sent to the processes that join."""
        memory, self._ready_in, self._ready_out, self._closing_in, self._closing_out = handles[:5]
        self._free_in, self._free_out = handles[5:]
        mapped = mmap.mmap(memory, 0)
        self._slots = tuple(_slot(layout, index, mapped) for index in range(layout.slots))
        self.release: Callable[[], object] = weakref.finalize(self, _close_all, self.handles)
        """Give its handles back, once nothing uses it; a second call does nothing."""

    @classmethod
    def create(cls, shapes: Sequence[tuple[tuple[int, ...], str]], slots: int) -> Self:
        """Make a channel.

        Args:
            shapes: shape and numpy type name of each tensor that crosses.
            slots: how many frames it holds.

        Raises:
            InputError: a tensor of text, which is no plain memory, or more than 256 slots.
        """
        if any(np.dtype(dtype).hasobject for _, dtype in shapes):
            raise InputError(
                "a tensor of text lies scattered in memory, which processes cannot share; hand it "
                "on between threads"
            )
        if slots > MOST_SLOTS:
            raise InputError(f"{slots} slots are more than the {MOST_SLOTS} of a channel")
        layout = Layout(shapes=tuple(shapes), slots=slots)
        memory = os.memfd_create("evener-channel")
        # Claims the memory now, where too little is an error and not a signal at the first write.
        os.posix_fallocate(memory, 0, max(1, _frame_bytes(layout) * slots))
        ready = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        closing = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        controls = (*(one.detach() for one in (*ready, *closing)), *os.pipe())
        for handle in controls:
            os.set_blocking(handle, False)
        channel = cls(layout, (memory, *controls))
        for index in range(slots):
            channel.free(Slot(index=index, arrays=()))
        return channel

    def acquire(self, deadline: float | None = None) -> Slot:
        """Take a free slot; see `evener.comm.channel.Channel.acquire`."""
        while True:
            came, closed = self._wait(self._free_in, select.POLLIN, deadline)
            if closed:
                raise self._closed()
            record = _read(self._free_in, _INDEX.size)
            if record is not None:
                (index,) = _INDEX.unpack(record)
                return self._slots[int(index)]
            if not came:
                raise DeadlineError(
                    f"none of the channel's {self.layout.slots} slots came free before the "
                    "deadline: its consumers are slower than its producers"
                )

    def put(self, frame_id: int, slot: Slot, deadline: float | None = None) -> None:  # noqa: ARG002 - a slot in hand is room in the ring, so that this never waits
        """Hand on a written slot; see `evener.comm.channel.Channel.put`."""
        self._put(_RECORD.pack(frame_id, slot.index))

    def put_error(self, frame_id: int, error: BaseException) -> None:
        """Hand on that a frame failed; see `evener.comm.channel.Channel.put_error`."""
        self._put(_RECORD.pack(frame_id, -1) + parcel.pack_error(error))

    def get(self, deadline: float | None = None) -> Message:
        """Take the oldest frame; see `evener.comm.channel.Channel.get`."""
        while True:
            came, closed = self._wait(self._ready_in, select.POLLIN, deadline)
            if closed and (error := self._closed()).__cause__ is not None:
                raise error
            record = _read(self._ready_in, _MOST_RECORD)
            if record is not None:
                frame_id, index = _RECORD.unpack_from(record)
                if index >= 0:
                    return Message(frame_id=frame_id, slot=self._slots[index])
                failure = parcel.unpack_error(record[_RECORD.size :])
                return Message(frame_id=frame_id, slot=None, error=failure)
            if closed:
                raise self._closed()
            if not came:
                raise DeadlineError(
                    "no frame came through the channel before the deadline: its producers have "
                    "none, or have stopped"
                )

    def free(self, slot: Slot) -> None:
        """Give a slot back; see `evener.comm.channel.Channel.free`."""
        os.write(self._free_out, _INDEX.pack(slot.index))

    def close(self, error: BaseException | None = None) -> None:
        """End the hand-off; see `evener.comm.channel.Channel.close`."""
        if not self._is_closed():
            letter = _CLOSED_IN_PEACE if error is None else parcel.pack_error(error)
            os.write(self._closing_out, letter)

    def _put(self, record: bytes) -> None:
        closed = self._is_closed()
        while not closed:
            try:
                os.write(self._ready_out, record)
            except BlockingIOError:  # a heap of errors can fill the socket, slots cannot
                _, closed = self._wait(self._ready_out, select.POLLOUT, None)
            else:
                return
        raise self._closed()

    def _wait(self, handle: int, event: int, deadline: float | None) -> tuple[bool, bool]:
        """Wait for a handle or the end; return whether it is ready, and whether it is the end."""
        poll = select.poll()
        poll.register(handle, event)
        poll.register(self._closing_in, select.POLLIN)
        left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready = {one for one, _ in poll.poll(None if left_s is None else ceil(left_s * 1000))}
        return handle in ready, self._closing_in in ready

    def _is_closed(self) -> bool:
        return self._wait(self._closing_in, select.POLLIN, 0.0)[1]

    def _closed(self) -> ChannelClosedError:
        """Read the first letter that was left at closing, and leave it for the others."""
        with socket.socket(fileno=os.dup(self._closing_in)) as reader:
            letter = reader.recv(parcel.MOST_BYTES, socket.MSG_PEEK)
        if letter == _CLOSED_IN_PEACE:
            return ChannelClosedError("the channel is closed")
        cause = parcel.unpack_error(letter)
        error = ChannelClosedError(f"the channel is closed: {cause}")
        error.__cause__ = cause
        return error


def _frame_bytes(layout: Layout) -> int:
    return sum(_padded(shape, dtype) for shape, dtype in layout.shapes)


def _padded(shape: tuple[int, ...], dtype: str) -> int:
    return ceil(prod(shape) * np.dtype(dtype).itemsize / _ALIGNED) * _ALIGNED


def _slot(layout: Layout, index: int, memory: mmap.mmap) -> Slot:
    place = index * _frame_bytes(layout)
    arrays = []
    for shape, dtype in layout.shapes:
        arrays.append(np.ndarray(shape, dtype, memory, place))
        place += _padded(shape, dtype)
    return Slot(index=index, arrays=tuple(arrays))


def _read(handle: int, size: int) -> bytes | None:
    """Take one whole record; None if another taker was quicker."""
    try:
        return os.read(handle, size)
    except BlockingIOError:
        return None


def _close_all(handles: Sequence[int]) -> None:
    for handle in handles:
        os.close(handle)
