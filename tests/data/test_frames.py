"""The frames of a run: a few at hand, the others read as they are needed."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

from evener.data.frames import LIVE_FRAMES, SAMPLE_BYTES, SAMPLE_FRAMES, Frames
from evener.data.source import Source, Sourced
from evener.errors import InvalidDataError
from evener.network.frames import Frame


def numbered(count: int) -> list[Frame]:
    return [(np.full(1, number),) for number in range(count)]


def source(count: int, asked: list[int] | None = None, *, live: bool = False) -> Source:
    """Make a source that notes which frames were asked for."""

    def frames() -> Iterator[Sourced]:
        for number, frame in enumerate(numbered(count)):
            if asked is not None:
                asked.append(number)
            yield Sourced(frame, where=f"line {number}", id=f"id{number}")

    return Source(frames(), name="rows.csv", live=live)


def test_a_pool_goes_round() -> None:
    frames = Frames.going_round(numbered(3), 7)

    assert [int(array[0]) for (array,) in frames] == [0, 1, 2, 0, 1, 2, 0]
    assert frames.count == 7


def test_all_answers_of_a_pool_that_goes_round_can_be_compared() -> None:
    known, many = Frames.going_round(numbered(3), 7).to_compare(each_by_itself=False)

    assert (len(known), many) == (3, 7)


def test_with_a_state_each_frame_of_a_round_counts_by_itself_up_to_a_bound() -> None:
    known, many = Frames.going_round(numbered(3), 7).to_compare(each_by_itself=True)
    _, bounded = Frames.going_round(numbered(3), 10_000).to_compare(each_by_itself=True)

    assert [int(array[0]) for (array,) in known] == [0, 1, 2, 0, 1, 2, 0]
    assert (many, bounded) == (7, SAMPLE_FRAMES)


def test_a_source_is_read_no_further_than_the_sample_until_it_is_asked() -> None:
    asked: list[int] = []

    frames = Frames.read(source(1000, asked))

    assert len(asked) == len(frames.sample) == SAMPLE_FRAMES
    assert frames.to_compare(each_by_itself=False)[1] == SAMPLE_FRAMES
    assert [int(array[0]) for (array,) in frames] == list(range(1000))


def test_of_a_live_source_few_are_waited_for() -> None:
    asked: list[int] = []

    Frames.read(source(1000, asked, live=True))

    assert len(asked) == LIVE_FRAMES


def test_large_frames_make_a_small_sample() -> None:
    large = (np.zeros(SAMPLE_BYTES // 2, np.uint8),)
    many = (Sourced(large, where=f"frame {number}") for number in range(5))

    assert len(Frames.read(Source(many, name="large")).sample) == 2


def test_where_an_answer_comes_from_is_known_even_if_frames_are_left_out() -> None:
    frames = Frames.read(source(10))
    frames.follow()

    given = list(frames)

    assert len(given) == 10
    assert [frames.origin(number).id for number in (0, 3, 9)] == ["id0", "id3", "id9"]


def test_nothing_is_remembered_that_nobody_follows() -> None:
    frames = Frames.read(source(10))

    list(frames)

    assert not frames._given


def test_the_sample_warms_up_without_end_and_takes_nothing_from_the_run() -> None:
    frames = Frames.read(source(3))

    assert len(list(islice(frames.again(), 10))) == 10
    assert len(list(frames)) == 3


def test_a_source_without_frames_is_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"rows.csv holds no frames; give at least one"):
        Frames.read(source(0))
