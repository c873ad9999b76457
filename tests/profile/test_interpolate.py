"""Estimating segments that were not timed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.artifacts.profile import Block
from evener.network.downsets import downsets
from evener.profile.interpolate import SHORTEST_S, fill_in
from evener.profile.timing import Formed, Segment, Timing


def block(macs: int = 1) -> Block:
    return Block(name="b", operators={}, macs=macs, weights_bytes=0, inputs=(), outputs=())


def sure(time_s: float) -> Timing:
    return Timing(time_s, time_s, time_s, repeats=5)


times = st.floats(0.001, 1.0)


@st.composite
def additive(draw: st.DrawFn) -> tuple[int, dict[Segment, float]]:
    """Draw times where blocks, and the costs before and behind each cut, add up."""
    count = draw(st.integers(1, 7))
    blocks_s = draw(st.lists(times, min_size=count, max_size=count))
    before_s = [*draw(st.lists(times, min_size=count - 1, max_size=count - 1)), 0.0]
    behind_s = [0.0, *draw(st.lists(times, min_size=count - 1, max_size=count - 1))]
    return count, {
        (first, last): behind_s[first] + sum(blocks_s[first : last + 1]) + before_s[last]
        for first in range(count)
        for last in range(first, count)
    }


@given(additive())
def test_where_times_add_up_every_segment_is_exact(
    case: tuple[int, dict[Segment, float]],
) -> None:
    count, true_s = case
    timed = {
        segment: sure(time_s)
        for segment, time_s in true_s.items()
        if segment[0] == 0 or segment[1] == count - 1
    }

    filled = fill_in([block()] * count, timed)

    assert {segment: timing.median_s for segment, timing in filled.items()} == pytest.approx(true_s)


@given(st.lists(st.tuples(times, times), min_size=1, max_size=6), st.integers(0, 3))
def test_an_estimate_is_above_zero_and_within_its_quartiles(
    sides: list[tuple[float, float]], macs: int
) -> None:
    count = len(sides) + 1
    timed = {(0, count - 1): Timing(0.5, 0.4, 0.7, 5)}
    for cut, (prefix_s, suffix_s) in enumerate(sides, start=1):
        if cut % 2:
            timed[0, cut - 1], timed[cut, count - 1] = sure(prefix_s), sure(suffix_s)

    filled = fill_in([block(macs)] * count, timed)

    assert len(filled) == count * (count + 1) // 2
    for segment, timing in filled.items():
        assert SHORTEST_S / 2 < timing.low_s <= timing.median_s <= timing.high_s
        assert (timing.repeats == 0) == (segment not in timed)


@st.composite
def additive_over_nodes(
    draw: st.DrawFn,
) -> tuple[list[Block], Formed, dict[Segment, float]]:
    """Draw a graph whose nodes, and the costs before and behind each place, add up."""
    nodes = draw(st.integers(1, 4))
    needs = [
        draw(st.lists(st.integers(0, node - 1), unique=True)) if node else []
        for node in range(nodes)
    ]
    nodes_s = draw(st.lists(times, min_size=nodes, max_size=nodes))
    places = downsets(needs, most=100) or ()
    inner = len(places) - 2
    before_s = [0.0, *draw(st.lists(times, min_size=inner, max_size=inner)), 0.0]
    behind_s = [0.0, *draw(st.lists(times, min_size=inner, max_size=inner)), 0.0]

    def formed(first: int, last: int) -> bool:
        return places[first] & ~places[last + 1] == 0

    def work(first: int, last: int) -> float:
        ran = places[last + 1] & ~places[first]
        return sum(time_s for node, time_s in enumerate(nodes_s) if ran >> node & 1)

    count = len(places) - 1
    return (
        [block(places[at + 1].bit_count() - places[at].bit_count()) for at in range(count)],
        formed,
        {
            (first, last): behind_s[first] + work(first, last) + before_s[last + 1]
            for first in range(count)
            for last in range(first, count)
            if formed(first, last)
        },
    )


@given(additive_over_nodes())
def test_where_nodes_add_up_every_segment_between_nested_places_is_exact(
    case: tuple[list[Block], Formed, dict[Segment, float]],
) -> None:
    blocks, formed, true_s = case
    last = len(blocks) - 1
    timed = {
        segment: sure(time_s)
        for segment, time_s in true_s.items()
        if segment[0] == 0 or segment[1] == last
    }

    filled = fill_in(blocks, timed, formed=formed)

    assert {segment: timing.median_s for segment, timing in filled.items()} == pytest.approx(true_s)


def test_a_place_between_timed_ones_lies_between_those_that_it_is_nested_with() -> None:
    # Places: nothing; a; b; a and b; all. Neither of the second and third contains the other.
    places = [0b000, 0b001, 0b010, 0b011, 0b111]
    blocks = [block(10), block(0), block(10), block(20)]

    filled = fill_in(
        blocks,
        {(0, 3): sure(40.0), (0, 0): sure(30.0), (3, 3): sure(18.0)},
        formed=lambda first, last: places[first] & ~places[last + 1] == 0,
    )

    assert filled[0, 1].median_s == pytest.approx(10.0, rel=1e-4)  # not from 30 on
    assert filled[2, 3].median_s == pytest.approx(29.0, rel=1e-4)
    assert (1, 1) not in filled


def test_what_was_timed_stays() -> None:
    timed = {(0, 2): sure(3.0), (0, 0): sure(1.0), (1, 2): sure(2.0), (1, 1): sure(0.7)}

    filled = fill_in([block()] * 3, timed)

    assert {segment: filled[segment] for segment in timed} == timed


def test_a_prefix_between_timed_ones_has_its_share_of_the_work() -> None:
    blocks = [block(10), block(30), block(10), block(50)]

    filled = fill_in(blocks, {(0, 3): sure(10.0), (0, 2): sure(5.0), (3, 3): sure(5.0)})

    assert filled[0, 0].median_s == pytest.approx(1.0, rel=1e-4)
    assert filled[0, 1].median_s == pytest.approx(4.0, rel=1e-4)
    assert filled[1, 3].median_s == pytest.approx(9.0, rel=1e-4)
    assert filled[2, 3].median_s == pytest.approx(6.0, rel=1e-4)


def test_blocks_without_counted_work_share_equally() -> None:
    filled = fill_in([block(0)] * 4, {(0, 3): sure(8.0)})

    assert [filled[0, last].median_s for last in range(4)] == [2.0, 4.0, 6.0, 8.0]


def test_what_cannot_be_told_from_noise_is_the_noise() -> None:
    timed = {
        (0, 2): Timing(3.0, 2.8, 3.2, 5),
        (0, 1): sure(1.5),
        (1, 2): sure(1.5),
        (0, 0): sure(1.5),
        (2, 2): sure(1.5),
    }

    assert fill_in([block()] * 3, timed)[1, 1].median_s == pytest.approx(0.2)
