"""What every channel must do, as tests: override one fixture and let pytest collect the class.

from evener.testing.channel_contract import SHAPES, ChannelContract

class TestMyChannel(ChannelContract):
    @pytest.fixture
    def make(self):
        return lambda slots: MyChannel(SHAPES, slots)
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import pytest

from evener.comm.channel import Channel, Message, Slot
from evener.errors import ChannelClosedError, DeadlineError

SHAPES: Final = [((2, 3), "float32"), ((), "int64")]
PATIENCE_S: Final = 20.0
PAST: Final = 0.0
"""A deadline that has gone by."""


class ChannelContract:
    """Contract of `evener.comm.channel.Channel`."""

    @pytest.fixture
    def make(self) -> Callable[[int], Channel]:
        """Return a function that makes a channel of `SHAPES` with some slots."""
        raise NotImplementedError("override the fixture `make`")

    def test_slots_have_the_shapes_that_were_asked_for(
        self, make: Callable[[int], Channel]
    ) -> None:
        """And lie in memory as a session needs them."""
        arrays = make(1).acquire().arrays

        assert [(a.shape, a.dtype.name) for a in arrays] == SHAPES
        assert all(a.flags.c_contiguous and a.flags.writeable for a in arrays)

    def test_what_was_written_arrives(self, make: Callable[[int], Channel]) -> None:
        """With its frame's number."""
        channel = make(1)
        put(channel, 41, fill=5)

        message = channel.get()

        assert (message.frame_id, message.error) == (41, None)
        np.testing.assert_array_equal(slot_of(message).arrays[0], np.full((2, 3), 5))
        assert slot_of(message).arrays[1] == 5

    def test_frames_leave_in_the_order_in_which_they_were_put(
        self, make: Callable[[int], Channel]
    ) -> None:
        """Whatever their numbers are."""
        channel = make(3)
        for frame_id in (7, 3, 5):
            put(channel, frame_id)

        assert [channel.get().frame_id for _ in range(3)] == [7, 3, 5]

    def test_it_holds_no_more_frames_than_it_has_slots(
        self, make: Callable[[int], Channel]
    ) -> None:
        """A slot that was got is taken until it is freed."""
        channel = make(2)
        put(channel, 0)
        put(channel, 1)
        message = channel.get()
        with pytest.raises(DeadlineError, match="2 slots"):
            channel.acquire(deadline=PAST)

        channel.free(slot_of(message))

        assert channel.acquire(deadline=PAST).index == slot_of(message).index

    def test_no_frame_before_the_deadline_is_an_error(self, make: Callable[[int], Channel]) -> None:
        """Which leaves the channel usable."""
        channel = make(1)
        with pytest.raises(DeadlineError, match="no frame came"):
            channel.get(deadline=PAST)
        with pytest.raises(DeadlineError):
            channel.get(deadline=time.monotonic() + 0.01)
        put(channel, 0)

        assert channel.get(deadline=PAST).frame_id == 0

    def test_errors_travel_in_band(self, make: Callable[[int], Channel]) -> None:
        """In order, with the frame's number, and without a slot."""
        channel = make(1)
        put(channel, 0)
        failure = ValueError("frame 1 is bad")
        channel.put_error(1, failure)

        first, second = channel.get(), channel.get()

        assert (first.frame_id, first.error) == (0, None)
        assert (second.frame_id, second.slot) == (1, None)
        assert same(second.error, failure)

    def test_after_close_what_was_put_can_still_be_got(
        self, make: Callable[[int], Channel]
    ) -> None:
        """Then `get` raises, as does every producer at once."""
        channel = make(2)
        slot = channel.acquire()
        put(channel, 0)
        channel.close()
        channel.close(ValueError("a second close does nothing"))

        with pytest.raises(ChannelClosedError):
            channel.acquire()
        with pytest.raises(ChannelClosedError):
            channel.put(1, slot)
        with pytest.raises(ChannelClosedError):
            channel.put_error(1, ValueError())
        assert channel.get().frame_id == 0
        with pytest.raises(ChannelClosedError) as caught:
            channel.get()
        assert caught.value.__cause__ is None

    def test_after_close_with_an_error_nothing_can_be_got(
        self, make: Callable[[int], Channel]
    ) -> None:
        """The error is the cause of every other."""
        channel = make(1)
        put(channel, 0)
        failure = ValueError("the camera fell")
        channel.close(failure)

        for act in (channel.get, channel.acquire):
            with pytest.raises(ChannelClosedError, match="the camera fell") as caught:
                act()
            assert same(caught.value.__cause__, failure)

    def test_a_slot_may_be_freed_after_close(self, make: Callable[[int], Channel]) -> None:
        """A consumer at work finishes in peace."""
        channel = make(1)
        put(channel, 0)
        message = channel.get()
        channel.close()

        channel.free(slot_of(message))

    def test_close_wakes_everyone_who_waits(self, make: Callable[[int], Channel]) -> None:
        """Producers and consumers."""
        empty, full = make(1), make(1)
        full.acquire()
        waiting: list[Callable[[], Any]] = [empty.get, empty.get, full.acquire, full.acquire]
        started = threading.Barrier(len(waiting) + 1)

        def wait(act: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever a channel returns
            started.wait(PATIENCE_S)
            return act()

        with ThreadPoolExecutor(len(waiting)) as pool:
            results = [pool.submit(wait, act) for act in waiting]
            started.wait(PATIENCE_S)
            empty.close()
            full.close()
            errors = [result.exception(PATIENCE_S) for result in results]

        assert all(isinstance(error, ChannelClosedError) for error in errors)

    @pytest.mark.parametrize(("producers", "consumers"), [(1, 1), (1, 3), (3, 1), (2, 2)])
    def test_every_frame_arrives_once_and_whole(
        self, make: Callable[[int], Channel], producers: int, consumers: int
    ) -> None:
        """However many threads share it; frames of one producer in its order for one consumer."""
        channel, each = make(3), 60

        def produce(producer: int) -> None:
            for index in range(each):
                put(channel, producer * each + index, fill=producer * each + index)

        def consume() -> list[int]:
            seen: list[int] = []
            while True:
                try:
                    message = channel.get()
                except ChannelClosedError:
                    return seen
                slot = slot_of(message)
                assert (slot.arrays[0] == message.frame_id).all()
                assert slot.arrays[1] == message.frame_id
                seen.append(message.frame_id)
                channel.free(slot)

        with ThreadPoolExecutor(producers + consumers) as pool:
            readers: list[Future[list[int]]] = [pool.submit(consume) for _ in range(consumers)]
            writers = [pool.submit(produce, producer) for producer in range(producers)]
            for writer in writers:
                writer.result(PATIENCE_S)
            channel.close()
            seen = [reader.result(PATIENCE_S) for reader in readers]

        assert sorted(frame for frames in seen for frame in frames) == list(range(producers * each))
        for frames in seen:
            for producer in range(producers):
                own = [frame for frame in frames if frame // each == producer]
                assert own == sorted(own)


def put(channel: Channel, frame_id: int, *, fill: int = 0) -> None:
    """Write a number into every tensor of a free slot, and hand it on."""
    slot = channel.acquire(time.monotonic() + PATIENCE_S)
    for array in slot.arrays:
        array[...] = fill
    channel.put(frame_id, slot)


def same(one: BaseException | None, other: BaseException) -> bool:
    """Whether two errors are of one type and one text; between processes a copy travels."""
    return type(one) is type(other) and str(one) == str(other)


def slot_of(message: Message) -> Slot:
    """Return the slot of a frame that did not fail."""
    assert message.slot is not None
    return message.slot
