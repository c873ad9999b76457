"""Time what it costs to hand a frame from one stage to the next, on a core of its own each."""

import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Final

import numpy as np

from evener.artifacts.processors import Machine
from evener.artifacts.profile import HandOff
from evener.comm.channel import Channel
from evener.comm.threads import ThreadChannel
from evener.errors import ChannelError
from evener.profile.timing import Clock
from evener.runtime.pinning import check_cores, pinned

HAND_OFFS: Final = 200
WARM_UP: Final = 20
COPIES: Final = 9
_COPIED_BYTES: Final = 2**22  # more than the caches of a core hold, as is what passes a stage
_SLOTS: Final = 2
_PATIENCE_S: Final = 10.0

MakeChannel = Callable[[], Channel]


def _thread_channel() -> Channel:
    return ThreadChannel([((1,), "float32")], _SLOTS)


def measure_hand_off(
    machine: Machine,
    *,
    make_channel: MakeChannel = _thread_channel,
    clock: Clock = time.perf_counter,
) -> HandOff:
    """Time hand-offs between threads on the first two cores of a machine.

    A frame is thrown to and fro through two channels; half a round trip is one hand-off: acquire,
    put, wake the consumer, get and free. A busy pipeline has less to pay, since its consumers
    seldom sleep. Slots are shared, so that bytes cost nothing but those of tensors that a stage
    only passes on: they are copied from slot to slot, which is timed on the first core.

    Args:
        machine: its processors; on a machine with a single core both threads share it.
        make_channel: makes a channel between the threads.
        clock: seconds that never go back.

    Returns:
        The median of 200 hand-offs, and of some copies.

    Raises:
        ChannelError: a thread did not answer.
        InputError: this process may not use the cores; the machine is another one.
    """
    cores = [core for processor in machine.processors for core in processor.cores]
    near, far = tuple(cores[:1]), tuple(cores[1:2] or cores[:1])
    check_cores(tuple(set(near + far)))
    there, back = make_channel(), make_channel()
    partner = threading.Thread(
        target=_answer, args=(there, back, far), name="hand-off", daemon=True
    )
    partner.start()
    trips_s: list[float] = []
    try:
        with pinned(near):
            for frame_id in range(WARM_UP + HAND_OFFS // 2):
                start_s = clock()
                deadline = time.monotonic() + _PATIENCE_S
                there.put(frame_id, there.acquire(deadline), deadline)
                answer = back.get(deadline)
                if answer.slot is not None:
                    back.free(answer.slot)
                trips_s.append(clock() - start_s)
            passed_per_byte_s = _copy_s(clock) / _COPIED_BYTES
    finally:
        there.close()
        partner.join(_PATIENCE_S)
    return HandOff(fixed_s=median(trips_s[WARM_UP:]) / 2, passed_per_byte_s=passed_per_byte_s)


def _copy_s(clock: Clock) -> float:
    source, target = np.ones((2, _COPIED_BYTES), np.uint8)
    times_s: list[float] = []
    for _ in range(COPIES):
        start_s = clock()
        np.copyto(target, source)
        times_s.append(clock() - start_s)
    return median(times_s)


def _answer(there: Channel, back: Channel, cores: tuple[int, ...]) -> None:
    try:
        with pinned(cores):
            while True:
                message = there.get()
                if message.slot is not None:
                    there.free(message.slot)
                back.put(message.frame_id, back.acquire())
    except ChannelError as error:
        back.close(error)  # whoever still waits for an answer is told
