"""The channel between threads."""

from collections.abc import Callable

import pytest

from evener.comm.channel import Channel
from evener.comm.threads import ThreadChannel
from evener.testing.channel_contract import SHAPES, ChannelContract, put, slot_of


class TestThreadChannel(ChannelContract):
    @pytest.fixture
    def make(self) -> Callable[[int], Channel]:
        return lambda slots: ThreadChannel(SHAPES, slots)


def test_nothing_is_copied() -> None:
    channel = ThreadChannel(SHAPES, 1)
    written = channel.acquire()
    channel.put(0, written)

    assert slot_of(channel.get()) is written


def test_slots_are_used_again() -> None:
    channel = ThreadChannel(SHAPES, 2)
    seen = set()
    for frame_id in range(10):
        put(channel, frame_id)
        slot = slot_of(channel.get())
        seen.add(slot.index)
        channel.free(slot)

    assert seen == {0, 1}
