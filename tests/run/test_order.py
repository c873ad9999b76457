"""Putting frames back in order."""

from hypothesis import given
from hypothesis import strategies as st

from evener.run.order import InOrder


@given(st.permutations(range(12)))
def test_whatever_comes_first_frames_leave_in_order_and_none_is_lost(arrivals: list[int]) -> None:
    order: InOrder[str] = InOrder()
    left: list[str] = []
    for number in arrivals:
        order.put(number, str(number))
        while (item := order.pop()) is not None:
            left.append(item)
        assert left == [str(n) for n in range(len(left))]

    assert len(left) == len(arrivals)
    assert len(order) == 0


def test_a_frame_waits_for_the_one_before_it() -> None:
    order: InOrder[str] = InOrder()
    order.put(1, "one")

    assert order.pop() is None
    assert len(order) == 1


def test_a_number_that_will_not_come_is_passed_over() -> None:
    order: InOrder[str] = InOrder()
    for number in (0, 1, 3):
        order.skip(number)
    order.put(4, "four")
    assert order.pop() is None
    order.put(2, "two")

    assert [order.pop() for _ in range(3)] == ["two", "four", None]
