"""Decide how many individuals of a bucket are trained at a time.

On cores those whose weights stay in the cache while all of them take a step: individuals need
nothing of one another, so a chunk is trained to the end before the next one begins. On a GPU as
many as its memory holds. What is too many after all is found out, and halved.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeVar

import psutil
import torch

from evener.train.population.buckets import Bucket
from evener.train.population.individual import Individual
from evener.train.population.optimiser import memories

USABLE: Final = 0.5
"""Share of the free memory that the arrays of a chunk may take."""

_CACHED: Final = 0.5  # share of the last cache that a chunk may take
_NO_CACHE_KNOWN: Final = 8 << 20  # bytes
_BESIDE: Final = 3  # sums, values and their gradients of each neuron
ResultT = TypeVar("ResultT")


def chunks_of(
    bucket: Bucket,
    individuals: Sequence[Individual],
    batch: int,
    device: torch.device,
    dtype: torch.dtype,
    largest: int | None = None,
) -> list[tuple[int, ...]]:
    """Divide the members of a bucket into chunks that differ by one at most in size.

    Args:
        bucket: whose members.
        individuals: the population.
        batch: rows of a step.
        device: that computes.
        dtype: of weights and values.
        largest: size of a chunk, at most; what memory and cache hold if None.

    Raises:
        MemoryError: not even one individual fits into the free memory.
    """
    if largest is None:
        members = [individuals[one] for one in bucket.members]
        each = bytes_each(
            bucket, members[0], batch, dtype, dropout=any(one.dropout for one in members)
        )
        free = free_bytes(device)
        if each > USABLE * free:
            raise MemoryError(
                f"an individual of {bucket.widths} neurons takes {each / 1e6:.0f} MB to train, and "
                f"{free / 1e6:.0f} MB are free, of which half may be used"
            )
        largest = int(USABLE * free / each)
        if device.type == "cpu":
            largest = min(largest, max(1, int(_CACHED * cache_bytes() / each)))
    count = -(-len(bucket.members) // largest)
    bounds = [len(bucket.members) * one // count for one in range(count + 1)]
    return [bucket.members[first:last] for first, last in pairwise(bounds)]


def bytes_each(
    bucket: Bucket, individual: Individual, batch: int, dtype: torch.dtype, *, dropout: bool
) -> int:
    """Return what the arrays of one individual of a bucket take, in bytes.

    Args:
        bucket: whose padded shape counts.
        individual: one of its members.
        batch: rows of a step.
        dtype: of weights and values.
        dropout: whether there are masks.
    """
    weights = sum(bucket.widths[start] * bucket.widths[end] for start, end in bucket.links)
    weights += sum(bucket.widths[1:])
    adam = individual.optimiser == "adam"
    rows = 1 + memories(individual) + adam + 1  # a gradient of adam's, and masks
    neurons = bucket.widths[0] + (_BESIDE + dropout) * sum(bucket.widths[1:]) + bucket.widths[-1]
    return (rows * weights + batch * neurons) * dtype.itemsize


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
