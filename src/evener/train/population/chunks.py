"""Decide how many individuals of a stack are trained at a time.

Individuals need nothing of one another, so a chunk is trained to the end whatever others do: on
cores one chunk for each of torch's threads, side by side. Of dense networks, there, those of all
these chunks stay in the cache while they take a step; on a GPU a chunk is what its memory holds.
What is too many after all is found out, and halved.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

import psutil
import torch

USABLE: Final = 0.5
"""Share of the free memory that the arrays of a chunk may take."""

_CACHED: Final = 0.5  # share of the last cache that chunks may take
_NO_CACHE_KNOWN: Final = 8 << 20  # bytes
_CACHES: Final = Path("/sys/devices/system/cpu/cpu0/cache")
_FEWEST: Final = 4  # of a chunk: fewer take as long for calls as for computing
ResultT = TypeVar("ResultT")


def chunks_of(members: Sequence[int], largest: int, threads: int = 1) -> list[tuple[int, ...]]:
    """Divide the members of a stack into chunks that differ by one at most in size.

    Args:
        members: numbers of individuals.
        largest: size of a chunk, at most.
        threads: that are to have equally many chunks, where these do not become small by it.

    Example:
        >>> chunks_of(range(7), 3)
        [(0, 1), (2, 3), (4, 5, 6)]
    """
    count = -(-len(members) // largest)
    even = -(-count // threads) * threads
    if len(members) >= _FEWEST * even:
        count = even
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
    free = free_bytes(device) / threads_on(device)
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
        most = min(most, max(1, int(_CACHED * cache_bytes() / threads_on(device) / each)))
    return most


def free_bytes(device: torch.device) -> int:
    """Return how much memory a device has free now."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return int(psutil.virtual_memory().available)


def cache_bytes() -> int:
    """Return the size of the first core's last cache; a guess where it is not known."""
    try:
        sizes = {
            int((one / "level").read_text()): (one / "size").read_text().strip()
            for one in _CACHES.glob("index*")
        }
        return int(sizes[max(sizes)].removesuffix("K")) << 10
    except (OSError, ValueError):  # a system that does not tell
        return _NO_CACHE_KNOWN


def threads_on(device: torch.device) -> int:
    """Return how many chunks are trained at a time on a device."""
    return torch.get_num_threads() if device.type == "cpu" else 1


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
