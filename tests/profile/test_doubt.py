"""Finding times that contradict others."""

from hypothesis import given
from hypothesis import strategies as st

from evener.profile.doubt import doubtful
from evener.profile.timing import Segment, Timing


def sure(time_s: float) -> Timing:
    return Timing(time_s, time_s, time_s, repeats=5)


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6), st.floats(0.0, 1.0))
def test_times_that_add_up_with_what_cuts_cost_raise_no_doubt(
    blocks_s: list[float], cut_share: float
) -> None:
    last = len(blocks_s) - 1
    cut_s = cut_share * min(blocks_s)
    timed: dict[Segment, Timing] = {(0, last): sure(sum(blocks_s))}
    for cut in range(1, last + 1):
        timed[0, cut - 1] = sure(sum(blocks_s[:cut]) + cut_s)
        timed[cut, last] = sure(sum(blocks_s[cut:]) + cut_s)

    assert doubtful(timed) == ()


def test_a_prefix_slower_than_a_longer_one_is_doubtful() -> None:
    timed = {(0, 2): sure(6.0), (0, 0): sure(4.5), (0, 1): sure(4.0)}

    assert doubtful(timed) == ((0, 0),)


def test_a_suffix_slower_than_the_whole_is_doubtful() -> None:
    assert doubtful({(0, 1): sure(1.0), (1, 1): sure(1.2)}) == ((1, 1),)


def test_a_whole_slower_than_its_sides_is_doubtful() -> None:
    assert doubtful({(0, 1): sure(83.0), (0, 0): sure(17.0), (1, 1): sure(17.0)}) == ((0, 1),)


def test_a_difference_of_less_than_a_tenth_is_none() -> None:
    assert doubtful({(0, 1): sure(1.0), (0, 0): sure(0.1), (1, 1): sure(1.05)}) == ()


def test_places_that_are_not_nested_say_nothing_of_each_other() -> None:
    places = [0b00, 0b01, 0b10, 0b11]  # nothing; a; b; both
    timed = {(0, 2): sure(6.0), (0, 0): sure(5.0), (0, 1): sure(1.0)}

    found = doubtful(timed, formed=lambda first, last: places[first] & ~places[last + 1] == 0)

    assert found == ()
    assert doubtful(timed) == ((0, 0),)
