"""Carry out what needs nothing of one another side by side, on a thread each.

Operators over small networks end too soon to be divided among threads. Whole trainings are not:
torch lets go of Python's lock while it computes, so that threads which compute alone keep a core
busy each.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

ResultT = TypeVar("ResultT")
Act = Callable[[Callable[[], bool]], ResultT]
"""What is to be done; it ends early where what it is given says so."""


def side_by_side(acts: Sequence[Act[ResultT]], threads: int) -> Iterator[ResultT]:
    """Carry out acts, as many at a time as there are threads.

    Args:
        acts: in an order that does not matter to them. Each computes with one of torch's threads;
            where there are fewer acts than threads, one after the other and with all of torch's.
        threads: how many.

    Yields:
        What each comes to, in their order.

    Raises:
        BaseException: what an act raises, or what interrupts the wait for it; the others end early.

    Example:
        >>> list(side_by_side([lambda _: 1, lambda _: 2, lambda _: 3], 2))
        [1, 2, 3]
    """
    ended = threading.Event()
    if threads == 1 or len(acts) < threads:
        yield from (act(ended.is_set) for act in acts)
        return
    with _one_thread_each(), ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(act, ended.is_set) for act in acts]
        try:
            for future in futures:
                yield future.result()
        finally:
            ended.set()
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let operators compute with one thread in threads that begin now."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
