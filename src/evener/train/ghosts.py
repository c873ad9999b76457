"""Fill the ghost rows of a buffer from their owners, and take gradients back to them.

Both ways are prepared once for each size of a batch. What lies together is sent from where it is
and received where it is read; anything else goes through an array beside it. Going back is the
transpose of going forth: what was copied is added.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from evener.comm.communicator import Array, Communicator, Exchange
from evener.train.reach import Reach
from evener.train.sharding import Indices


class Ghosts:
    """The two exchanges of one buffer, of values and of their gradients.

    Args:
        communicator: the ranks.
        reach: which rows go where.
        values_NB: the buffer of values.
        gradient_NB: that of gradients; None if nobody wants them.
        name: of the layer, for errors.
    """

    def __init__(
        self,
        communicator: Communicator,
        reach: Reach,
        values_NB: Tensor,
        gradient_NB: Tensor | None,
        *,
        name: str,
    ) -> None:
        me = communicator.rank
        others = sorted({*reach.receives, *reach.sends} - {me})
        self._around = (reach.sends.get(me), reach.receives.get(me))
        self._forth = _Way(
            communicator,
            f"{name}, values",
            values_NB,
            {peer: reach.sends[peer] for peer in others if peer in reach.sends},
            {peer: reach.receives[peer] for peer in others if peer in reach.receives},
        )
        self._values = values_NB
        self._gradient = gradient_NB
        self._back = None
        if gradient_NB is not None:
            self._back = _Way(
                communicator,
                f"{name}, gradients",
                gradient_NB,
                {peer: reach.receives[peer] for peer in others if peer in reach.receives},
                {peer: reach.sends[peer] for peer in others if peer in reach.sends},
                added=True,
            )

    def fill(self) -> None:
        """Copy the owners' rows to the ghosts."""
        self._forth.start()
        sent, ghosts = self._around
        if sent is not None and ghosts is not None:
            self._values[torch.from_numpy(ghosts)] = self._values[torch.from_numpy(sent)]
        self._forth.wait()

    def take_back(self) -> None:
        """Add the ghosts' gradients to the owners' rows: its own first."""
        if self._back is None or self._gradient is None:
            return
        self._back.start()
        sent, ghosts = self._around
        if sent is not None and ghosts is not None:
            self._gradient.index_add_(
                0, torch.from_numpy(sent), self._gradient[torch.from_numpy(ghosts)]
            )
        self._back.wait()

    def close(self) -> None:
        """Give back the exchanges."""
        self._forth.close()
        if self._back is not None:
            self._back.close()


class _Way:
    """One direction: rows of a buffer to some ranks, and others from some."""

    def __init__(
        self,
        communicator: Communicator,
        name: str,
        buffer_NB: Tensor,
        sends: Mapping[int, Indices],
        receives: Mapping[int, Indices],
        *,
        added: bool = False,
    ) -> None:
        self._buffer = buffer_NB
        self._staged: list[tuple[Tensor, Tensor]] = []  # rows, and where they are copied to
        self._landed: list[tuple[Tensor, Tensor]] = []  # rows, and where they come from
        self._added = added
        outgoing = {peer: self._outgoing(rows) for peer, rows in sends.items()}
        incoming = {peer: self._incoming(rows) for peer, rows in receives.items()}
        self._exchange: Exchange | None = None
        if outgoing or incoming:
            self._exchange = communicator.open_exchange(name, outgoing, incoming)

    def _outgoing(self, rows: Indices) -> Array:
        together = _slice(rows)
        if together is not None:
            return self._buffer[together].numpy()
        staging = torch.empty(len(rows), self._buffer.shape[1], dtype=self._buffer.dtype)
        self._staged.append((torch.from_numpy(rows), staging))
        return staging.numpy()

    def _incoming(self, rows: Indices) -> Array:
        together = _slice(rows)
        if together is not None and not self._added:
            return self._buffer[together].numpy()
        staging = torch.empty(len(rows), self._buffer.shape[1], dtype=self._buffer.dtype)
        self._landed.append((torch.from_numpy(rows), staging))
        return staging.numpy()

    def start(self) -> None:
        for rows, staging in self._staged:
            torch.index_select(self._buffer, 0, rows, out=staging)
        if self._exchange is not None:
            self._exchange.start()

    def wait(self) -> None:
        if self._exchange is not None:
            self._exchange.wait()
        for rows, staging in self._landed:
            if self._added:
                self._buffer.index_add_(0, rows, staging)
            else:
                self._buffer.index_copy_(0, rows, staging)

    def close(self) -> None:
        if self._exchange is not None:
            self._exchange.close()


class Everything:
    """The same for a layer of which each rank sees everything: by collectives.

    Args:
        communicator: the ranks.
        bounds: where each rank's rows begin, and the last one's end.
        values_NB: the buffer of values.
        gradient_NB: that of gradients; None if nobody wants them.
        in_turn: whether each rank broadcasts its values, one after the other, instead of all being
            gathered at once.
    """

    def __init__(
        self,
        communicator: Communicator,
        bounds: Sequence[int],
        values_NB: Tensor,
        gradient_NB: Tensor | None,
        *,
        in_turn: bool = False,
    ) -> None:
        self._communicator = communicator
        self._in_turn = in_turn
        rows = [slice(first, last) for first, last in pairwise(bounds)]
        self._parts = [values_NB[one].numpy() for one in rows]
        self._mine = self._parts[communicator.rank].copy()
        self._gradients: list[Array] = []
        if gradient_NB is not None:
            self._gradients = [gradient_NB[one].numpy() for one in rows]
        self._total = self._mine.copy()

    def fill(self) -> None:
        """Give every rank all rows."""
        if self._in_turn:
            for rank, part in enumerate(self._parts):
                self._communicator.broadcast(part, root=rank)
            return
        self._mine[...] = self._parts[self._communicator.rank]
        self._communicator.all_gather(self._mine, self._parts)

    def take_back(self) -> None:
        """Give every rank the sum of all ranks' gradients of its rows."""
        if self._gradients:
            self._communicator.reduce_scatter(self._gradients, self._total)
            self._gradients[self._communicator.rank][...] = self._total

    def close(self) -> None:
        """Hold nothing."""


def _slice(rows: Indices) -> slice | None:
    """Return the rows as a slice, if they lie together."""
    together = bool(np.all(np.diff(rows) == 1))
    return slice(int(rows[0]), int(rows[-1]) + 1) if together else None
