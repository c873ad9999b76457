"""Let something be made in a thread of its own while what was made before is used."""

import threading
from collections.abc import Generator
from queue import SimpleQueue
from typing import TypeVar

ItemT = TypeVar("ItemT")


def ahead(items: Generator[ItemT], *, room: int) -> Generator[ItemT]:
    """Give the same items, of which some are made before they are asked for.

    Decoding pictures so takes no time of the stage that reads them. What the generator raises comes
    in its turn. Where the items are not asked for to the end, closing ends the thread, once the
    item that it makes just then is done.

    Args:
        items: makes the items, of which none is None; used by the other thread alone.
        room: most of them that are there and not asked for.

    Example:
        >>> list(ahead((number**2 for number in range(4)), room=2))
        [0, 1, 4, 9]
    """
    made: SimpleQueue[tuple[ItemT] | BaseException | None] = SimpleQueue()
    free = threading.Semaphore(room)
    over = threading.Event()

    def make() -> None:
        try:
            while True:
                free.acquire()
                if over.is_set():
                    return
                item = next(items, None)
                made.put(None if item is None else (item,))
                if item is None:
                    return
        except BaseException as error:  # noqa: BLE001 - raised again to who asks
            made.put(error)
        finally:
            items.close()

    thread = threading.Thread(target=make, name="reading ahead", daemon=True)
    thread.start()
    try:
        while (one := made.get()) is not None:
            if isinstance(one, BaseException):
                raise one
            free.release()
            yield one[0]
    finally:
        over.set()
        free.release()
