"""The channel between processes."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest

from evener.comm.channel import Channel
from evener.comm.processes import MOST_SLOTS, ProcessChannel
from evener.errors import ChannelClosedError, InputError
from evener.testing.channel_contract import SHAPES, ChannelContract, put, slot_of

PEER = """
import sys
import msgspec
from evener.comm.processes import Layout, ProcessChannel
channels = [
    ProcessChannel(msgspec.json.decode(layout, type=Layout), eval(handles))
    for layout, handles in zip(sys.argv[2::2], sys.argv[3::2])
]
exec(sys.argv[1])
"""


class TestProcessChannel(ChannelContract):
    @pytest.fixture
    def make(self) -> Iterator[Callable[[int], Channel]]:
        made: list[ProcessChannel] = []

        def make(slots: int) -> Channel:
            made.append(ProcessChannel.create(SHAPES, slots))
            return made[-1]

        yield make
        for channel in made:
            channel.release()


def start_peer(program: str, *channels: ProcessChannel) -> "subprocess.Popen[bytes]":
    """Start a process that shares some channels."""
    shared = [
        text
        for channel in channels
        for text in (msgspec.json.encode(channel.layout).decode(), repr(channel.handles))
    ]
    return subprocess.Popen(
        [sys.executable, "-c", PEER, program, *shared],
        pass_fds=[handle for channel in channels for handle in channel.handles],
    )


def test_frames_errors_and_the_end_cross_processes() -> None:
    there, back = ProcessChannel.create(SHAPES, 2), ProcessChannel.create(SHAPES, 2)
    program = """
there, back = channels
while True:
    try:
        message = there.get()
    except Exception as error:
        back.close(error)
        break
    if message.slot is None:
        back.put_error(message.frame_id, message.error)
        continue
    target = back.acquire()
    for source, array in zip(message.slot.arrays, target.arrays):
        array[...] = source + 1
    there.free(message.slot)
    back.put(message.frame_id, target)
"""
    with start_peer(program, there, back) as peer:
        for frame_id in range(20):
            put(there, frame_id, fill=frame_id)
            answer = back.get()
            np.testing.assert_array_equal(slot_of(answer).arrays[0], np.full((2, 3), frame_id + 1))
            assert slot_of(answer).arrays[1] == frame_id + 1
            back.free(slot_of(answer))
        there.put_error(20, ValueError("frame 20 is bad"))
        failed = back.get()
        assert (failed.frame_id, repr(failed.error)) == (20, "ValueError('frame 20 is bad')")
        there.close()
        with pytest.raises(ChannelClosedError, match="the channel is closed: the channel is cl"):
            back.get()
        assert peer.wait() == 0
    there.release()
    back.release()


def test_a_killed_peer_leaves_the_channel_usable_and_no_memory_behind() -> None:
    channel = ProcessChannel.create(SHAPES, 3)
    with start_peer("channels[0].acquire(); channels[0].get()", channel) as peer:
        while True:  # until the peer holds a slot, and waits for a frame
            slot = channel.acquire()
            channel.free(slot)
            if slot.index != 0:
                break
        peer.send_signal(signal.SIGKILL)
        peer.wait()

    put(channel, 1)
    assert channel.get().frame_id == 1
    channel.close(ChildProcessError("stage 0 was killed"))
    with pytest.raises(ChannelClosedError, match="stage 0 was killed"):
        channel.get()
    channel.release()
    del channel, slot
    gc.collect()
    assert "evener-channel" not in Path("/proc/self/maps").read_text()


def test_arrays_begin_where_vectors_do() -> None:
    channel = ProcessChannel.create([((3,), "uint8"), ((5,), "float64"), ((), "bool")], 2)

    places = [
        array.ctypes.data
        for slot in (channel.acquire(), channel.acquire())
        for array in slot.arrays
    ]

    assert [place % 64 for place in places] == [0] * 6
    assert len(set(places)) == 6
    channel.release()


def test_releasing_twice_closes_nothing_twice() -> None:
    channel = ProcessChannel.create(SHAPES, 1)
    channel.release()
    channel.release()

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(channel.handles[0])


def test_text_is_refused() -> None:
    with pytest.raises(InputError, match="a tensor of text lies scattered in memory"):
        ProcessChannel.create([((1,), "object")], 1)


def test_as_many_slots_as_the_kernel_keeps_can_be_put_before_one_is_got() -> None:
    channel = ProcessChannel.create(SHAPES, MOST_SLOTS)
    for frame_id in range(MOST_SLOTS):
        put(channel, frame_id)

    assert [channel.get().frame_id for _ in range(MOST_SLOTS)] == list(range(MOST_SLOTS))
    channel.release()


def test_a_producer_of_many_errors_waits_for_its_consumer() -> None:
    channel, count = ProcessChannel.create(SHAPES, 1), 200
    with ThreadPoolExecutor(1) as consumers:
        texts = consumers.submit(lambda: [str(channel.get().error)[:3] for _ in range(count)])
        for frame_id in range(count):
            channel.put_error(frame_id, ValueError(f"{frame_id:03}{'x' * 50_000}"))

        assert texts.result(20) == [f"{frame_id:03}" for frame_id in range(count)]
    channel.release()


def test_more_slots_than_the_kernel_keeps_are_refused() -> None:
    with pytest.raises(InputError, match="257 slots are more than the 256"):
        ProcessChannel.create(SHAPES, MOST_SLOTS + 1)
