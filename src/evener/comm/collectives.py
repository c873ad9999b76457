"""The collectives of a communicator, made of messages between two ranks.

So a rank that is missing is known by name, and sums have one order. A sum is a message to each
other rank, and so are a gathering and a barrier of few; those of many, and a broadcast, take as
many rounds as the number of ranks has binary digits.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Final

import numpy as np

from evener.comm.communicator import Array

Transfer = Callable[[str, Mapping[int, Array], Mapping[int, Array]], None]
"""Send arrays to ranks and fill others from ranks, and return once both is done; given a name."""

MOST_DIRECT: Final = 8
"""Up to so many ranks, each sends to every other at once, and all know who is missing."""


def unwarned() -> np.errstate:
    """Add numbers that may be too large or none without a warning of NumPy.

    Whoever trains looks at the loss, and says where it stopped being a number.
    """
    return np.errstate(over="ignore", invalid="ignore")


class Collectives:
    """The collectives of one rank; see `evener.comm.communicator.Communicator`.

    Args:
        rank: which.
        size: how many ranks there are.
        transfer: carries messages; two from one rank to another arrive in their order.
    """

    def __init__(self, rank: int, size: int, transfer: Transfer) -> None:
        self._rank = rank
        self._size = size
        self._transfer = transfer
        self._memory = np.empty(0, np.uint8)
        # Every rank's next one first, so that not all turn to the same.
        self._others = [(rank + step) % size for step in range(1, size)]

    def all_gather(self, part: Array, parts: Sequence[Array]) -> None:
        """Give every rank what each has; see `Communicator.all_gather`."""
        if self._size > MOST_DIRECT:
            self._gather_in_rounds(part, parts)
            return
        np.copyto(parts[self._rank], part)
        self._transfer(
            "a gathering",
            dict.fromkeys(self._others, part),
            {other: parts[other] for other in self._others},
        )

    def _gather_in_rounds(self, part: Array, parts: Sequence[Array]) -> None:
        """Double in each round how many parts every rank has, beginning with its own (Bruck)."""
        order = [self._rank, *self._others]
        ends = [0, *accumulate(parts[one].size for one in order)]
        found = self._room(ends[-1], part.dtype)
        found[: ends[1]] = part.reshape(-1)
        known = 1
        while known < self._size:
            more = min(known, self._size - known)
            self._transfer(
                "a gathering",
                {(self._rank - known) % self._size: found[: ends[more]]},
                {(self._rank + known) % self._size: found[ends[known] : ends[known + more]]},
            )
            known += more
        for one, (start, stop) in zip(order, pairwise(ends), strict=True):
            np.copyto(parts[one], found[start:stop].reshape(parts[one].shape))

    def reduce_scatter(self, parts: Sequence[Array], total: Array) -> None:
        """Add what all ranks have for each; see `Communicator.reduce_scatter`."""
        room = self._room(len(self._others) * total.size, total.dtype)
        terms = dict(zip(self._others, room.reshape(len(self._others), *total.shape), strict=True))
        self._transfer("a sum", {other: parts[other] for other in self._others}, terms)
        terms[self._rank] = parts[self._rank]
        if self._size == 1:
            np.copyto(total, terms[0])
            return
        with unwarned():
            np.add(terms[0], terms[1], out=total)
            for other in range(2, self._size):
                total += terms[other]

    def broadcast(self, array: Array, *, root: int) -> None:
        """Give every rank what one has, by a binomial tree; see `Communicator.broadcast`."""
        place = (self._rank - root) % self._size  # the tree's nodes are counted from the root
        reach = 1
        while reach < self._size and not place & reach:
            reach *= 2
        if place:
            self._transfer("a broadcast", {}, {(place - reach + root) % self._size: array})
        children = []
        while reach > 1:
            reach //= 2
            if place + reach < self._size:
                children.append((place + reach + root) % self._size)
        if children:
            self._transfer("a broadcast", dict.fromkeys(children, array), {})

    def barrier(self) -> None:
        """Return once every rank has called it; see `Communicator.barrier`."""
        here = np.zeros(1, np.uint8)
        if self._size <= MOST_DIRECT:
            there = np.empty((self._size, 1), np.uint8)
            self._transfer(
                "a barrier",
                dict.fromkeys(self._others, here),
                {other: there[other] for other in self._others},
            )
            return
        step = 1
        while step < self._size:
            self._transfer(
                "a barrier",
                {(self._rank + step) % self._size: here},
                {(self._rank - step) % self._size: np.empty(1, np.uint8)},
            )
            step *= 2

    def _room(self, count: int, dtype: "np.dtype[np.generic]") -> Array:
        """Return memory that the last collective no longer needs: fresh pages would cost more."""
        bytes_needed = count * dtype.itemsize
        if self._memory.nbytes < bytes_needed:
            self._memory = np.empty(bytes_needed, np.uint8)
        return self._memory[:bytes_needed].view(dtype)
