"""Putting frames back in order."""

from hypothesis import given
from hypothesis import strategies as st

from evener.comm.threads import ThreadChannel
from evener.run.order import InOrder, OrderedInlet


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


@given(st.permutations(range(8)), st.permutations(range(8)))
def test_an_ordered_inlet_hands_out_frames_in_order_and_again_from_the_first_in_the_next_run(
    first: list[int], second: list[int]
) -> None:
    channel = ThreadChannel([((1,), "float32")], slots=16)
    inlet = OrderedInlet(channel)

    for arrivals in (first, second):
        inlet.begin()
        for number in arrivals:
            channel.put(number, channel.acquire())
        taken = [inlet.get() for _ in arrivals]
        for message in taken:
            assert message.slot is not None
            inlet.free(message.slot)

        assert [message.frame_id for message in taken] == sorted(arrivals)


def test_a_frame_that_failed_before_keeps_its_place_in_the_order() -> None:
    channel = ThreadChannel([((1,), "float32")], slots=2)
    inlet = OrderedInlet(channel)
    channel.put(1, channel.acquire())
    channel.put_error(0, ValueError("no"))

    assert [str(inlet.get().error), inlet.get().frame_id] == ["no", 1]
