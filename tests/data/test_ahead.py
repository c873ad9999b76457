"""Items are made before they are asked for, not too many, and none once nobody asks."""

import threading
from collections.abc import Generator

import pytest

from evener.data.ahead import ahead

PATIENCE_S = 20.0


class Maker:
    """Makes numbers, and says how far it is."""

    def __init__(self, count: int, *, fails: bool = False) -> None:
        self.made = 0
        self.changed = threading.Condition()
        self.closed = threading.Event()
        self.threads: set[str] = set()
        self._count = count
        self._fails = fails

    def numbers(self) -> Generator[int]:
        try:
            for number in range(self._count):
                with self.changed:
                    self.made += 1
                    self.threads.add(threading.current_thread().name)
                    self.changed.notify_all()
                yield number
            if self._fails:
                raise ZeroDivisionError
        finally:
            self.closed.set()

    def waits_for(self, made: int) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.made >= made, PATIENCE_S)


def test_the_items_are_the_same_in_the_same_order() -> None:
    assert list(ahead(Maker(100).numbers(), room=3)) == list(range(100))


def test_they_are_made_in_another_thread_while_nobody_asks() -> None:
    maker = Maker(100)
    items = ahead(maker.numbers(), room=3)

    assert next(items) == 0
    assert maker.waits_for(4)  # one was taken, three wait
    assert maker.threads == {"reading ahead"}
    items.close()


def test_no_more_are_made_than_there_is_room_for() -> None:
    maker = Maker(100)
    items = ahead(maker.numbers(), room=3)

    for taken, number in enumerate(items, 1):
        assert number == taken - 1
        with maker.changed:
            assert maker.made <= taken + 3


def test_what_is_raised_comes_after_what_was_made_before() -> None:
    items = ahead(Maker(2, fails=True).numbers(), room=8)

    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(items)


def test_the_maker_is_closed_when_nobody_asks_any_more() -> None:
    maker = Maker(100)
    items = ahead(maker.numbers(), room=3)
    next(items)

    items.close()

    assert maker.closed.wait(PATIENCE_S)
    assert maker.made < 100
