"""Small things that ranks tell one another: bytes of any length, and whether a task went well."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from evener.comm.communicator import Communicator
from evener.errors import EvenerError, RankError

ResultT = TypeVar("ResultT")


def share(communicator: Communicator, mine: bytes) -> list[bytes]:
    """Return what each rank has; every rank calls it.

    Args:
        communicator: the ranks.
        mine: what this one has.

    Example:
        >>> from evener.comm.alone import Alone
        >>> share(Alone(), b"all of it")
        [b'all of it']
    """
    sizes = np.zeros((communicator.size, 1), np.int64)
    communicator.all_gather(np.array([len(mine)], np.int64), list(sizes))
    parts = [np.empty(int(size), np.uint8) for size in sizes[:, 0]]
    communicator.all_gather(np.frombuffer(mine, np.uint8).copy(), parts)
    return [part.tobytes() for part in parts]


def together(communicator: Communicator, task: Callable[[], ResultT]) -> ResultT:
    """Do what may fail on one rank so that all ranks fail, instead of waiting for it.

    Args:
        communicator: the ranks.
        task: what this rank does; it asks nothing of the others.

    Returns:
        What the task returned on this rank.

    Raises:
        EvenerError: what the task raised on this rank.
        RankError: it raised on others only; says which, and what.
    """
    result: list[ResultT] = []
    failure: EvenerError | None = None
    try:
        result.append(task())
    except EvenerError as error:
        failure = error
    told = share(communicator, b"" if failure is None else str(failure).encode())
    if failure is not None:
        raise failure
    for rank, message in enumerate(told):
        if message:
            raise RankError(f"rank {rank}: {message.decode()}")
    return result[0]
