"""Decide how many individuals of a stack are trained at a time.

Individuals need nothing of one another, so a chunk is trained to the end before the next begins. Of
dense networks, on cores, it holds those whose weights stay in the cache while all of them take a
step; on a GPU as many as its memory holds. What is too many after all is found out, and halved.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeVar

import psutil
import torch

USABLE: Final = 0.5
"""Share of the free memory that the arrays of a chunk may take."""

_CACHED: Final = 0.5  # share of the last cache that a chunk may take
_NO_CACHE_KNOWN: Final = 8 << 20  # bytes
ResultT = TypeVar("ResultT")


def chunks_of(members: Sequence[int], largest: int) -> list[tuple[int, ...]]:
    """Divide the members of a stack into chunks that differ by one at most in size.

    Args:
        members: numbers of individuals.
        largest: size of a chunk, at most.

    Example:
        >>> chunks_of(range(7), 3)
        [(0, 1), (2, 3), (4, 5, 6)]
    """
    count = -(-len(members) // largest)
    bounds = [len(members) * one // count for one in range(count + 1)]
    return [tuple(members[first:last]) for first, last in pairwise(bounds)]


def held(each: int, device: torch.device) -> int:
    """Return how many individuals the free memory of a device holds.

    Args:
        each: bytes that the arrays of one take.
        device: that computes.

    Raises:
        MemoryError: not even one.
    """
    free = free_bytes(device)
    if each > USABLE * free:
        raise MemoryError(
            f"an individual takes {each / 1e6:.0f} MB to train, and {free / 1e6:.0f} MB are free, "
            "of which half may be used"
        )
    return int(USABLE * free / each)


def cached(each: int, device: torch.device) -> int:
    """Return how many individuals memory holds and, on cores, the last cache holds too.

    Args:
        each: bytes that the arrays of one take.
        device: that computes.

    Raises:
        MemoryError: memory does not hold one.
    """
    most = held(each, device)
    if device.type == "cpu":
        most = min(most, max(1, int(_CACHED * cache_bytes() / each)))
    return most


def free_bytes(device: torch.device) -> int:
    """Return how much memory a device has free now."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return int(psutil.virtual_memory().available)


def cache_bytes() -> int:
    """Return the size of the last cache of this machine's cores; a guess where it is not known."""
    try:
        known = os.sysconf("SC_LEVEL3_CACHE_SIZE")
    except (OSError, ValueError):  # a system that does not tell
        known = 0
    return known if known > 0 else _NO_CACHE_KNOWN


def in_halves(
    members: Sequence[int], act: Callable[[Sequence[int]], ResultT]
) -> Iterator[tuple[Sequence[int], ResultT | MemoryError]]:
    """Act on members together; where memory does not hold them, on either half, and so on.

    Args:
        members: of a chunk.
        act: leaves nothing changed where it raises.

    Yields:
        Members and what acting on them came to; for one alone that memory does not hold, the error.
    """
    try:
        result = act(members)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        if len(members) == 1:
            yield members, MemoryError(str(error))
            return
    else:
        yield members, result
        return
    # Outside of the handler, whose error holds on to the arrays that did not fit.
    half = len(members) // 2
    yield from in_halves(members[:half], act)
    yield from in_halves(members[half:], act)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory ran out: of NumPy's, of torch's or a GPU's."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    # What torch raises for the memory of the CPU has no type of its own.
    return isinstance(error, RuntimeError) and "not enough memory" in str(error)
