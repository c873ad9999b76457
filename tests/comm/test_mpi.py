"""The channel between ranks, and lines of orders."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from evener.comm.channel import Channel
from evener.testing.channel_contract import SHAPES, ChannelContract, put, slot_of

try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:  # no mpi4py, or no MPI library for it
    pytest.skip(f"no MPI here: {error}", allow_module_level=True)

from evener.comm import mpi


@pytest.fixture
def channels() -> Iterator[Callable[[int], tuple[Channel, Channel]]]:
    """Make channels that are at home on this rank: as it sees them, and as another would."""
    comm = MPI.COMM_SELF.Dup()
    joined = mpi.Joined(comm)
    number = 0

    def make(slots: int) -> tuple[Channel, Channel]:
        nonlocal number
        number += 1
        address = mpi.Address(number=number, home=0, shapes=tuple(SHAPES), slots=slots)
        return joined.join(address), mpi.RemoteChannel(address, comm)

    yield make
    joined.release()
    comm.Free()


class TestRemoteChannel(ChannelContract):
    @pytest.fixture
    def make(self, channels: Callable[[int], tuple[Channel, Channel]]) -> Callable[[int], Channel]:
        return lambda slots: channels(slots)[1]


class TestChannelAtHome(ChannelContract):
    @pytest.fixture
    def make(self, channels: Callable[[int], tuple[Channel, Channel]]) -> Callable[[int], Channel]:
        return lambda slots: channels(slots)[0]


@pytest.mark.parametrize("produces", [0, 1], ids=["from home", "from afar"])
def test_frames_cross_either_way(
    channels: Callable[[int], tuple[Channel, Channel]], produces: int
) -> None:
    ends = channels(2)
    producer, consumer = ends[produces], ends[1 - produces]

    def produce() -> None:
        for frame_id in range(50):
            put(producer, frame_id, fill=frame_id)
        producer.close()

    with ThreadPoolExecutor(1) as pool:
        produced = pool.submit(produce)
        for frame_id in range(50):
            message = consumer.get()
            slot = slot_of(message)
            assert message.frame_id == frame_id
            assert (slot.arrays[0] == frame_id).all()
            assert slot.arrays[1] == frame_id
            consumer.free(slot)
        produced.result(20)


def test_whole_objects_cross_a_line_in_order() -> None:
    giving = mpi.MpiLine(MPI.COMM_SELF, 0, 3, orders=True)
    taking = mpi.MpiLine(MPI.COMM_SELF, 0, 3, orders=False)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(lambda: list(map(giving.send, (b"x" * 10**6, {"next": 1}))))
        assert taking.receive() == (b"x" * 10**6, [])
        assert taking.receive() == ({"next": 1}, [])
        sent.result(20)
