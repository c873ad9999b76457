"""A communicator that counts how long its rank spends in messages, and how much it sends."""

import time
from collections.abc import Callable, Mapping, Sequence

from evener.comm.communicator import Array, Communicator, Exchange


class Timed:
    """Another communicator, watched; see `evener.comm.communicator.Communicator`.

    The time is what the rank spends in starting and awaiting messages: that of a peer which is
    late counts as well.

    Args:
        communicator: the ranks.
        clock: seconds.
        whole: another that counts the same.

    Attributes:
        rank: number of this one, from 0.
        size: how many there are.
        seconds: spent so far.
        sent_bytes: sent to other ranks so far.

    Example:
        >>> from evener.comm.alone import Alone
        >>> timed = Timed(Alone(), clock=iter([1.0, 1.5]).__next__)
        >>> timed.barrier()
        >>> timed.seconds
        0.5
    """

    def __init__(
        self,
        communicator: Communicator,
        *,
        clock: Callable[[], float] = time.perf_counter,
        whole: "Timed | None" = None,
    ) -> None:
        self._communicator = communicator
        self.clock = clock
        self.rank = communicator.rank
        self.size = communicator.size
        self.seconds = 0.0
        self.sent_bytes = 0
        self._whole = whole

    def open_exchange(
        self, name: str, sends: Mapping[int, Array], receives: Mapping[int, Array]
    ) -> Exchange:
        """Prepare messages whose time is counted; see `Communicator.open_exchange`."""
        exchange = self._communicator.open_exchange(name, sends, receives)
        return _TimedExchange(self, exchange, sum(array.nbytes for array in sends.values()))

    def all_gather(self, part: Array, parts: Sequence[Array]) -> None:
        """Give every rank what each has; see `Communicator.all_gather`."""
        before = self.clock()
        self._communicator.all_gather(part, parts)
        self.count(before, part.nbytes * (self.size - 1))

    def reduce_scatter(self, parts: Sequence[Array], total: Array) -> None:
        """Add what all ranks have for each; see `Communicator.reduce_scatter`."""
        before = self.clock()
        self._communicator.reduce_scatter(parts, total)
        self.count(before, sum(part.nbytes for part in parts) - parts[self.rank].nbytes)

    def broadcast(self, array: Array, *, root: int) -> None:
        """Give every rank what one has; see `Communicator.broadcast`."""
        before = self.clock()
        self._communicator.broadcast(array, root=root)
        self.count(before, array.nbytes * (self.size - 1) if self.rank == root else 0)

    def barrier(self) -> None:
        """Return once every rank has called it."""
        before = self.clock()
        self._communicator.barrier()
        self.count(before, 0)

    def split(self, colour: int) -> "Timed":
        """Return a communicator of the ranks of one colour, whose time counts here too."""
        return Timed(self._communicator.split(colour), clock=self.clock, whole=self)

    def close(self) -> None:
        """Leave."""
        self._communicator.close()

    def count(self, since: float, sent_bytes: int) -> None:
        """Add what passed since a moment, and what was sent in it."""
        passed = self.clock() - since
        counted: Timed | None = self
        while counted is not None:
            counted.seconds += passed
            counted.sent_bytes += sent_bytes
            counted = counted._whole  # noqa: SLF001 - of its own kind


class _TimedExchange:
    def __init__(self, timed: Timed, exchange: Exchange, sent_bytes: int) -> None:
        self._timed = timed
        self._exchange = exchange
        self._sent_bytes = sent_bytes

    def start(self) -> None:
        """Send, and count it."""
        before = self._timed.clock()
        self._exchange.start()
        self._timed.count(before, self._sent_bytes)

    def wait(self) -> None:
        """Wait, and count it."""
        before = self._timed.clock()
        self._exchange.wait()
        self._timed.count(before, 0)

    def close(self) -> None:
        """Give back what the exchange holds."""
        self._exchange.close()
