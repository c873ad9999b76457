"""Acts that need nothing of one another are carried out side by side."""

import threading
from collections.abc import Callable

import pytest
import torch

from evener.train.population.side_by_side import side_by_side

DEADLINE_S = 30


def test_acts_go_on_at_the_same_time_with_one_thread_each() -> None:
    met = threading.Barrier(2, timeout=DEADLINE_S)
    torch.set_num_threads(2)

    def act(_: Callable[[], bool]) -> int:
        met.wait()
        return torch.get_num_threads()

    assert list(side_by_side([act, act], 2)) == [1, 1]
    assert torch.get_num_threads() == 2


def test_fewer_acts_than_threads_have_all_of_them() -> None:
    torch.set_num_threads(2)

    def act(_: Callable[[], bool]) -> tuple[int, str]:
        return torch.get_num_threads(), threading.current_thread().name

    assert list(side_by_side([act], 2)) == [(2, threading.current_thread().name)]


def test_where_one_fails_the_others_end_early_and_no_other_begins() -> None:
    begun: list[int] = []
    ended = threading.Event()

    def broken(_: Callable[[], bool]) -> int:
        begun.append(0)
        raise ValueError("out of order")

    def long(is_ended: Callable[[], bool]) -> int:
        begun.append(1)
        while not is_ended():
            ended.wait(0.001)
        ended.set()
        return 1

    with pytest.raises(ValueError, match="out of order"):
        list(side_by_side([broken, long, long, long, long], 2))

    assert ended.is_set() or begun == [0]
    assert len(begun) <= 3
