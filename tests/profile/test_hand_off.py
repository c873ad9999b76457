"""Timing hand-offs between stages."""

import os
import threading
from itertools import count

import pytest

from evener.artifacts.processors import Machine, Processor
from evener.comm.channel import Channel, Slot
from evener.comm.threads import ThreadChannel
from evener.errors import ChannelClosedError, InputError
from evener.profile.hand_off import HAND_OFFS, WARM_UP, measure_hand_off
from evener.runtime.pinning import PROCESS_CORES

CORES = tuple(sorted(PROCESS_CORES))


def machine(cores: tuple[int, ...]) -> Machine:
    processors = (Processor(name="cpu0", kind="cpu", cores=cores),)
    return Machine(host="board", system="", processors=processors, runtimes={})


class CountingChannel(ThreadChannel):
    """Notes from which threads frames are put, and where those may run."""

    def __init__(self) -> None:
        super().__init__([((1,), "float32")], 2)
        self.put_on: list[frozenset[int]] = []

    def put(self, frame_id: int, slot: Slot, deadline: float | None = None) -> None:
        self.put_on.append(frozenset(os.sched_getaffinity(0)))
        super().put(frame_id, slot, deadline)


class BrokenChannel(CountingChannel):
    """Fails when the third frame is put."""

    def put(self, frame_id: int, slot: Slot, deadline: float | None = None) -> None:
        if frame_id == 2:
            self.close()
            raise ChannelClosedError("the third frame broke it")
        super().put(frame_id, slot, deadline)


def test_a_hand_off_is_half_a_round_trip() -> None:
    ticks = count()  # each look at this clock finds one second gone

    cost = measure_hand_off(machine(CORES), clock=lambda: float(next(ticks)))

    assert cost.fixed_s == 0.5
    assert cost.per_byte_s == 0.0


def test_a_byte_that_only_passes_takes_its_share_of_a_copy() -> None:
    ticks = count()

    cost = measure_hand_off(machine(CORES), clock=lambda: float(next(ticks)))

    assert cost.passed_per_byte_s == 1 / 2**22


@pytest.mark.parametrize("cores", [CORES[:1], CORES[:2]])
def test_both_threads_keep_to_cores_of_their_own_if_there_are_two(cores: tuple[int, ...]) -> None:
    channels: list[CountingChannel] = []

    def make() -> Channel:
        channels.append(CountingChannel())
        return channels[-1]

    measure_hand_off(machine(cores), make_channel=make)

    there, back = channels
    assert set(there.put_on) == {frozenset({cores[0]})}
    assert set(back.put_on) == {frozenset({cores[-1]})}
    assert len(there.put_on) == len(back.put_on) == WARM_UP + HAND_OFFS // 2


def test_the_thread_ends_and_the_caller_may_run_where_it_could_before() -> None:
    before = os.sched_getaffinity(0)

    assert measure_hand_off(machine(CORES)).fixed_s > 0

    assert os.sched_getaffinity(0) == before
    assert not [thread for thread in threading.enumerate() if thread.name == "hand-off"]


def test_cores_of_another_machine_are_refused() -> None:
    foreign = max(CORES) + 1

    with pytest.raises(InputError, match=f"core {foreign} is not among the cores"):
        measure_hand_off(machine((CORES[0], foreign)))


@pytest.mark.parametrize("which", [0, 1])
def test_a_channel_that_breaks_ends_the_measurement(which: int) -> None:
    channels = iter([BrokenChannel(), CountingChannel()][:: 1 if which == 0 else -1])

    with pytest.raises(ChannelClosedError):
        measure_hand_off(machine(CORES), make_channel=lambda: next(channels))

    assert not [thread for thread in threading.enumerate() if thread.name == "hand-off"]
