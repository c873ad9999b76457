"""Frames in batches, and their answers one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.artifacts.trace import Trace
from evener.run.batching import Batches
from evener.run.entry import Frame
from evener.runtime.session import Array


def frames(count: int) -> list[Frame]:
    return [(np.full((1, 2), n, np.float32), np.full((1,), -n, np.int64)) for n in range(count)]


@given(count=st.integers(1, 20), size=st.integers(1, 7))
def test_each_answer_comes_once_under_its_frames_number(count: int, size: int) -> None:
    seen: list[tuple[int, tuple[Array, ...]]] = []
    batches = Batches(frames(count), size)
    emit = batches.taken_apart(lambda number, answer: seen.append((number, answer)))

    for number, batch in enumerate(batches):
        assert [array.shape for array in batch] == [(size, 2), (size,)]
        emit(number, batch)

    assert batches.frames == count
    assert [number for number, _ in seen] == list(range(count))
    for (_, answer), frame in zip(seen, frames(count), strict=True):
        assert all(map(np.array_equal, answer, frame))


def test_an_unfinished_batch_is_filled_up_with_its_last_frame() -> None:
    *_, (last, _) = Batches(frames(5), 3)

    assert last[:, 0].tolist() == [3, 4, 4]


def test_a_batch_that_is_computed_while_others_are_made_is_taken_apart_whole() -> None:
    seen: list[int] = []
    batches = Batches(frames(5), 2)
    made = iter(batches)
    emit = batches.taken_apart(lambda number, _: seen.append(number))
    first = next(made)
    next(made)
    emit(0, first)

    assert seen == [0, 1]


def traced(batches: int, rate_hz: float, elapsed_s: float) -> Trace:
    return Trace(
        frames=batches,
        dropped=0,
        elapsed_s=elapsed_s,
        rate_hz=rate_hz,
        latency_p50_s=1.0,
        latency_p99_s=2.0,
        wait_p50_s=0.0,
        stages=(),
    )


@pytest.mark.parametrize(
    ("count", "batches", "rate_hz", "expected_hz"),
    [
        (12, 3, 2.0, 8.0),  # 2 full batches a second
        (10, 3, 2.0, 6.0),  # of 2 batches after the first, one is half full
        (4, 1, 9.0, 0.4),  # no more than credits: all frames over the whole time
    ],
)
def test_the_rate_counts_frames(
    count: int, batches: int, rate_hz: float, expected_hz: float
) -> None:
    made = Batches(frames(count), 4)
    assert len(list(made)) == batches

    trace = made.trace_of(traced(batches, rate_hz, elapsed_s=10.0), credits=1)

    assert (trace.frames, trace.batch) == (count, 4)
    assert trace.rate_hz == pytest.approx(expected_hz)
