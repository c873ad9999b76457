"""Credits, granted and given back."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from evener.errors import ChannelClosedError
from evener.run.entry import Entry, Frame
from evener.run.record import Record

PATIENCE_S = 20.0


def source(count: int) -> Iterator[Frame]:
    return iter([(np.full(1, value),) for value in range(count)])


class Ticks:
    """A clock that stands where it was put."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_frame_is_kept_until_it_is_released() -> None:
    entry = Entry(2)
    entry.begin(source(2), Record(Ticks()))
    message = entry.get()
    assert message.slot is not None
    entry.free(message.slot)

    assert list(entry.in_flight) == [0]
    assert entry.in_flight[0] is message.slot.arrays

    entry.release(0, 0.0)
    assert entry.in_flight == {}


def test_latency_begins_when_the_frame_was_there_not_when_the_source_was_asked() -> None:
    ticks = Ticks()
    record = Record(ticks)

    def slow() -> Iterator[Frame]:
        ticks.now_s = 5.0
        yield (np.zeros(1),)

    entry = Entry(1)
    entry.begin(slow(), record)
    entry.get()

    assert list(record.granted) == [5.0]
    assert list(record.waited) == [0.0]


def test_a_wait_for_a_credit_ends_when_the_credit_came_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = Ticks()
    record = Record(ticks)
    entry = Entry(1)
    entry.begin(source(2), record)
    entry.get()

    def emitted_meanwhile() -> None:
        monkeypatch.undo()
        ticks.now_s = 3.0
        entry._in_flight.clear()
        entry._credit_at_s = ticks.now_s
        ticks.now_s = 4.0

    monkeypatch.setattr(entry._may_pull, "wait", emitted_meanwhile)
    entry.get()

    assert list(record.waited) == [0.0, 3.0]
    assert list(record.granted) == [0.0, 4.0]


def test_what_lies_between_two_runs_is_no_wait_for_a_credit() -> None:
    ticks, asked = Ticks(), threading.Event()

    def clock() -> float:
        if threading.current_thread() is not threading.main_thread():
            asked.set()
        return ticks()

    entry = Entry(1)
    entry.begin(source(2), Record(clock))
    entry.get()
    second = Record(clock)
    with ThreadPoolExecutor(1) as lanes:
        lane = lanes.submit(entry.get)
        assert asked.wait(PATIENCE_S)
        entry.stop()
        entry.release(0, ticks())
        ticks.now_s = 9.0
        entry.begin(source(1), second)
        lane.result(PATIENCE_S)

    assert list(second.waited) == [0.0]


def test_the_run_is_over_when_the_last_frame_was_released() -> None:
    entry = Entry(3)
    entry.begin(source(1), Record(Ticks()))
    entry.get()
    entry.stop()
    entry.release(0, 0.0)

    entry.wait()


def test_closing_just_when_the_run_ends_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Entry(1)
    entry.begin(source(0), Record(Ticks()))
    entry.stop()
    over = entry._over

    class ClosedOnceAcquired:
        locked, release = over.locked, over.release

        def acquire(self, timeout: float) -> bool:
            acquired = over.acquire(timeout=timeout)
            entry.close()
            return acquired

    monkeypatch.setattr(entry, "_over", ClosedOnceAcquired())

    with pytest.raises(ChannelClosedError, match="the pipeline is closed"):
        entry.wait()


def test_closing_names_the_reason_and_how_many_frames_were_in_flight() -> None:
    entry = Entry(3)
    entry.begin(source(3), Record(Ticks()))
    entry.get()
    entry.get()
    reason = MemoryError("full")
    entry.close(reason)
    entry.close()

    for act in (entry.get, entry.wait):
        with pytest.raises(ChannelClosedError, match="2 frames were in flight: full") as caught:
            act()
        assert caught.value.__cause__ is reason
