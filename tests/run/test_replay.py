"""Frames in flight, held until they are emitted."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.errors import StageFailedError
from evener.run.entry import Frame
from evener.run.record import Record
from evener.run.replay import Leg, ReplayBuffer
from evener.runtime.session import Array

PATIENCE_S = 20.0
NO_ANSWER: tuple[Array, ...] = ()


def frame(value: int) -> Frame:
    return (np.array([value]),)


def value(one: Frame | None) -> int | None:
    return None if one is None else int(one[0][0])


def buffer(count: int, seen: list[int]) -> ReplayBuffer:
    return ReplayBuffer(
        map(frame, range(count)), lambda number, _: seen.append(number), Record(lambda: 0.0)
    )


@given(st.lists(st.sampled_from(["take", "emit", "leg", "late", "stop"]), max_size=60))
def test_every_frame_is_emitted_once_and_in_order_whatever_happens(steps: list[str]) -> None:
    seen: list[int] = []
    replay = buffer(10, seen)
    leg, late = replay.leg(), replay.leg()
    leg, late = replay.leg(), leg
    taken: list[int] = []
    replayed, ever = 0, 0
    for step in steps:
        if step == "take":
            got = value(leg.take())
            if got is not None:
                replayed, ever = replayed + (got < ever), max(ever, got + 1)
                taken.append(got)
        elif step == "emit" and taken:
            leg.emit(taken.pop(0), NO_ANSWER)
        elif step == "leg":
            leg, late, taken = replay.leg(), leg, []
        elif step == "late":
            late.emit(replay.emitted, NO_ANSWER)
            assert late.take() is None
        elif step == "stop":
            leg.stop()
        assert taken == list(range(len(seen), len(seen) + len(taken)))
        assert replay.replayed == replayed
    if replay.more():
        leg = replay.leg()
        for number in map(value, leg.frames()):
            assert number is not None
            leg.emit(number, NO_ANSWER)

    assert seen == list(range(10))
    assert not replay.more()


def test_a_stopped_leg_still_takes_what_is_held_but_asks_for_nothing_more() -> None:
    replay = buffer(5, [])
    first = replay.leg()
    first.take(), first.take()
    second = replay.leg()
    second.stop()

    assert [value(one) for one in second.frames()] == [0, 1]
    assert value(replay.leg().take()) == 0


def test_a_frame_that_comes_to_a_leg_too_late_goes_to_the_next() -> None:
    asked, comes = threading.Event(), threading.Event()

    def slow() -> Iterator[Frame]:
        yield frame(0)
        asked.set()
        assert comes.wait(PATIENCE_S)
        yield frame(1)

    replay = ReplayBuffer(slow(), lambda *_: None, Record(lambda: 0.0))
    old = replay.leg()
    old.take()
    with ThreadPoolExecutor(2) as pool:
        too_late = pool.submit(old.take)
        assert asked.wait(PATIENCE_S)
        new = replay.leg()
        waits = pool.submit(lambda: [value(new.take()), value(new.take()), value(new.take())])
        comes.set()

        assert too_late.result(PATIENCE_S) is None
        assert waits.result(PATIENCE_S) == [0, 1, None]


def test_a_source_that_has_nothing_yet_is_asked_again() -> None:
    frames = iter([None, frame(0), None, None, frame(1), None])
    replay = ReplayBuffer(frames, lambda *_: None, Record(lambda: 0.0))
    assert replay.more()
    leg = replay.leg()

    assert [value(leg.take()) for _ in range(3)] == [0, 1, None]


def test_a_leg_takes_what_is_held_while_one_before_it_waits_for_the_source() -> None:
    asked, come = threading.Event(), threading.Event()

    def source() -> Iterator[Frame]:
        yield frame(0)
        asked.set()
        assert come.wait(PATIENCE_S)
        yield frame(1)

    replay = ReplayBuffer(source(), lambda *_: None, Record(lambda: 0.0))
    old = replay.leg()
    old.take()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(old.take)
        assert asked.wait(PATIENCE_S)
        new = replay.leg()
        assert replay.more()
        assert value(new.take()) == 0  # though nothing more has come
        come.set()

        assert waiting.result(PATIENCE_S) is None
    assert value(new.take()) == 1


def test_the_states_after_the_last_frame_that_was_emitted_are_kept_apart_from_its_answer() -> None:
    answers: list[int] = []
    replay = ReplayBuffer(
        map(frame, range(3)), lambda _, answer: answers.append(len(answer)), Record(lambda: 0.0)
    )
    leg, state = replay.leg(), np.array([7.0])
    leg.states_told = ("h",)
    leg.take()
    leg.emit(0, (np.array([1.0]), state))
    state[0] = 9.0  # as the slot is used again

    old, new = leg, replay.leg()
    old.emit(1, (np.array([1.0]), state))  # too late

    assert answers == [1]
    assert replay.states == {"h": np.array([7.0])}
    assert new.states_told == ()


def failure(processor: str) -> StageFailedError:
    return StageFailedError("bad", stage=0, processor=processor)


def test_a_frame_that_fails_is_told_instead_of_its_answer_and_counts_as_emitted() -> None:
    told: list[tuple[int, str]] = []
    replay = ReplayBuffer(
        map(frame, range(2)),
        lambda *_: None,
        Record(lambda: 0.0),
        failed=lambda number, error: told.append((number, str(error))),
    )
    leg = replay.leg()
    leg.take()

    leg.fail(0, failure("npu"))

    assert (told, replay.emitted) == ([(0, "bad")], 1)


@pytest.mark.parametrize(
    ("lanes", "at_fault"),
    [
        (["npu", "npu", "npu"], True),
        (["npu", "npu", "", "npu"], False),  # an answer between them
        (["npu", "cpu", "npu", "cpu"], False),
    ],
)
def test_a_lane_that_fails_at_frame_after_frame_is_at_fault_itself(
    lanes: list[str], at_fault: bool
) -> None:
    told: list[int] = []
    replay = ReplayBuffer(
        map(frame, range(9)),
        lambda *_: None,
        Record(lambda: 0.0),
        failed=lambda number, _: told.append(number),
    )
    leg = replay.leg()
    for number, lane in enumerate(lanes):
        leg.take()
        if not lane:
            leg.emit(number, NO_ANSWER)
        elif number == len(lanes) - 1 and at_fault:
            with pytest.raises(StageFailedError, match="bad"):
                leg.fail(number, failure(lane))
        else:
            leg.fail(number, failure(lane))

    if at_fault:
        assert value(replay.leg().take()) == len(lanes) - 1  # it is run again
    else:
        assert replay.emitted == len(lanes)


def test_two_legs_never_emit_at_the_same_time() -> None:
    emitting, go_on = threading.Event(), threading.Event()
    seen: list[int] = []

    def emit(number: int, _: tuple[Array, ...]) -> None:
        if number == 0:
            emitting.set()
            assert go_on.wait(PATIENCE_S)
        seen.append(number)

    replay = ReplayBuffer(map(frame, range(3)), emit, Record(lambda: 0.0))
    old = replay.leg()
    old.take()
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(old.emit, 0, NO_ANSWER)
        assert emitting.wait(PATIENCE_S)
        new = replay.leg()
        assert (new.first, value(new.take())) == (1, 1)
        after = pool.submit(new.emit, 1, NO_ANSWER)
        assert not after.done()
        go_on.set()
        slow.result(PATIENCE_S), after.result(PATIENCE_S)

    assert seen == [0, 1]


def broken_source() -> Iterator[Frame]:
    yield frame(0)
    raise OSError("camera gone")


def test_what_the_source_raises_is_raised_to_every_later_leg_once_the_held_are_taken() -> None:
    replay = ReplayBuffer(broken_source(), lambda *_: None, Record(lambda: 0.0))
    first = replay.leg()
    first.take()
    with pytest.raises(OSError, match="camera gone"):
        first.take()

    second = replay.leg()

    assert value(second.take()) == 0
    with pytest.raises(OSError, match="camera gone"):
        second.take()
    with pytest.raises(OSError, match="camera gone"):
        replay.more()


def test_what_emit_raises_ends_every_later_leg_and_its_frame_counts_as_emitted() -> None:
    def emit(number: int, _: tuple[Array, ...]) -> None:
        raise OSError(f"disk full at {number}")

    replay = ReplayBuffer(map(frame, range(3)), emit, Record(lambda: 0.0))
    leg: Leg = replay.leg()
    leg.take()
    with pytest.raises(OSError, match="disk full at 0"):
        leg.emit(0, NO_ANSWER)

    later = replay.leg()

    assert later.first == 1
    with pytest.raises(OSError, match="disk full at 0"):
        later.emit(1, NO_ANSWER)
