"""Do something again and again beside one's work, in threads that end with it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def again_and_again(
    looks: Sequence[Callable[[], None]],
    *,
    every_s: float | None,
    failed: Callable[[Exception], None],
) -> Iterator[None]:
    """Call functions at intervals, each in a thread of its own, until the block ends.

    The end waits for calls that are under way.

    Args:
        looks: what is called.
        every_s: time from the end of a call to the next, in seconds; None calls nothing.
        failed: told what a function raises, which is not called again.

    Example:
        >>> called = threading.Event()
        >>> with again_and_again([called.set], every_s=0.001, failed=print):
        ...     called.wait(10)
        True
    """
    over = threading.Event()

    def repeat(look: Callable[[], None]) -> None:
        while not over.wait(every_s):
            try:
                look()
            except Exception as error:  # noqa: BLE001 - whoever began this is told
                failed(error)
                return

    threads = [
        threading.Thread(target=repeat, args=(look,), name=look.__name__, daemon=True)
        for look in (looks if every_s is not None else ())
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
