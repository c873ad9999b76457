"""How one stage hands frames to the next: a bounded ring of slots that the channel owns.

A producer acquires a free slot, writes the tensors into it and puts it; a consumer gets it, reads
it and frees it. Several producers and consumers may share a channel; frames leave it in the order
in which they were put. Nothing is copied between threads.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """Room for the tensors of one frame.

    Attributes:
        index: its number in the ring, from 0.
        arrays: one C-contiguous array per tensor that crosses, in a fixed order.
    """

    index: int
    arrays: Sequence[NDArray[Any]]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What a consumer gets.

    Attributes:
        frame_id: number of the frame, from 0.
        slot: where its tensors are; None for a frame that failed.
        error: what went wrong with this frame in an earlier stage, else None.
    """

    frame_id: int
    slot: Slot | None
    error: BaseException | None = None


class Channel(Protocol):
    """A bounded, ordered hand-off between stages.

    Deadlines are times of `time.monotonic()`; None waits for ever. After `close(None)` what was
    put can still be got, then `get` raises; after `close(error)` it raises at once.
    """

    def acquire(self, deadline: float | None = None) -> Slot:
        """Take a free slot to write the next frame into.

        Raises:
            DeadlineError: none came free in time.
            ChannelClosedError: the channel is closed.
        """
        ...

    def put(self, frame_id: int, slot: Slot, deadline: float | None = None) -> None:
        """Hand a written slot to the consumers.

        Raises:
            ChannelClosedError: the channel is closed.
        """
        ...

    def put_error(self, frame_id: int, error: BaseException) -> None:
        """Hand on, in band, that a frame failed; needs no slot.

        Raises:
            ChannelClosedError: the channel is closed.
        """
        ...

    def get(self, deadline: float | None = None) -> Message:
        """Take the oldest frame that was put.

        Raises:
            DeadlineError: none came in time.
            ChannelClosedError: closed and, unless by an error, empty. `__cause__` is the error.
        """
        ...

    def free(self, slot: Slot) -> None:
        """Give a slot back that `get` returned, once nothing reads it any more."""
        ...

    def close(self, error: BaseException | None = None) -> None:
        """End the hand-off and wake everyone who waits; a second call does nothing."""
        ...


def allocate(shapes: Sequence[tuple[tuple[int, ...], str]], slots: int) -> tuple[Slot, ...]:
    """Make the slots of a ring.

    Args:
        shapes: shape and numpy type name of each tensor that crosses.
        slots: how many frames the ring holds.

    Example:
        >>> [slot.arrays[0].shape for slot in allocate([((2, 3), "float32")], 2)]
        [(2, 3), (2, 3)]
    """
    return tuple(
        Slot(index=index, arrays=tuple(np.empty(shape, dtype) for shape, dtype in shapes))
        for index in range(slots)
    )
