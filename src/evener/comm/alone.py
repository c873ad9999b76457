"""A communicator of one rank, for whom nothing has to travel."""

from collections.abc import Mapping, Sequence

import numpy as np

from evener.comm.communicator import Array, Exchange


class Alone:
    """A rank without others; see `evener.comm.communicator.Communicator`."""

    rank = 0
    size = 1

    def open_exchange(
        self,
        name: str,  # noqa: ARG002 - nothing can go wrong
        sends: Mapping[int, Array],
        receives: Mapping[int, Array],
    ) -> Exchange:
        """Prepare no message: there is nobody to send to.

        Raises:
            ValueError: a message to or from another rank.
        """
        if sends or receives:
            raise ValueError(f"rank 0 is alone, and is to reach {sorted({*sends, *receives})}")
        return _Nothing()

    def all_gather(self, part: Array, parts: Sequence[Array]) -> None:
        """Copy what this rank has."""
        np.copyto(parts[0], part)

    def reduce_scatter(self, parts: Sequence[Array], total: Array) -> None:
        """Copy what this rank has."""
        np.copyto(total, parts[0])

    def broadcast(self, array: Array, *, root: int) -> None:
        """Leave the array as it is."""

    def barrier(self) -> None:
        """Wait for nobody."""

    def split(self, colour: int) -> "Alone":  # noqa: ARG002 - nobody else names one
        """Stay alone."""
        return self

    def close(self) -> None:
        """Leave nothing behind."""


class _Nothing:
    def start(self) -> None:
        """Send nothing."""

    def wait(self) -> None:
        """Wait for nothing."""

    def close(self) -> None:
        """Hold nothing."""
