"""What ranks that train one network ask of one another, whoever carries it.

Every rank calls the same methods in the same order. An exchange is opened once for some arrays and
then started again and again, so that whoever carries it can prepare everything; a rank opens none
that it has no part in. Sums are added in the order of the ranks, whoever carries them, or a network
would depend on it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def as_bytes(array: Array, name: str) -> NDArray[np.uint8]:
    """Return the bytes of an array, in place.

    Args:
        array: any.
        name: what it is for.

    Raises:
        ValueError: it is not contiguous.

    Example:
        >>> as_bytes(np.ones(2, np.int16), "layer 1").tolist()
        [1, 0, 1, 0]
    """
    if not array.flags.c_contiguous:
        raise ValueError(
            f"'{name}': an array of shape {array.shape} is not contiguous; copy it into one that is"
        )
    return array.reshape(-1).view(np.uint8)


class Exchange(Protocol):
    """Messages between fixed arrays of some ranks, again and again.

    Between `start` and the end of `wait` the arrays belong to the exchange.
    """

    def start(self) -> None:
        """Send what the arrays hold now, and begin to receive."""

    def wait(self) -> None:
        """Return once everything is sent and received.

        Raises:
            RankTimeoutError: a peer did not answer in time.
        """

    def close(self) -> None:
        """Give back what the exchange holds; it cannot be started any more."""


class Communicator(Protocol):
    """The ranks of a run."""

    @property
    def rank(self) -> int:
        """Number of this rank, from 0."""
        ...

    @property
    def size(self) -> int:
        """How many ranks there are."""
        ...

    def open_exchange(
        self, name: str, sends: Mapping[int, Array], receives: Mapping[int, Array]
    ) -> Exchange:
        """Prepare messages to and from other ranks; each rank opens its exchanges in one order.

        Args:
            name: what it is for; errors say it.
            sends: what goes to each rank: contiguous, and kept by the exchange.
            receives: where it goes that comes from each: contiguous, kept, of the sender's size.
        """
        ...

    def all_gather(self, part: Array, parts: Sequence[Array]) -> None:
        """Give every rank what each has.

        Args:
            part: what this rank has, contiguous.
            parts: where that of each rank goes, contiguous; of one type, sizes may differ.
        """

    def reduce_scatter(self, parts: Sequence[Array], total: Array) -> None:
        """Add what all ranks have for each, in the order of the ranks, and give each rank its own.

        Args:
            parts: what this rank has for each rank, contiguous.
            total: where the sum of what all have for this one goes; none of the parts.
        """

    def broadcast(self, array: Array, *, root: int) -> None:
        """Give every rank what one has.

        Args:
            array: read on the rank `root`, written on all others; contiguous.
            root: whose.
        """

    def barrier(self) -> None:
        """Return once every rank has called it."""

    def split(self, colour: int) -> "Communicator":
        """Return a communicator of the ranks that name the same colour, in the order of the ranks.

        Args:
            colour: 0 or more; every rank calls with its own.
        """
        ...

    def close(self) -> None:
        """Leave; no other method may be called any more."""
