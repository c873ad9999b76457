"""Divide the ranks of a run into replicas of a network, each of which takes a part of every batch.

The ranks of a replica compute its shards together; those that have the same shards in different
replicas add up their gradients, in the order of the replicas.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from torch import Tensor

from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.errors import InputError
from evener.train.sharding import block_bounds


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Where one rank stands among the replicas.

    Attributes:
        shards: the ranks of its replica.
        replicas: the ranks that have the same shards, in the order of the replicas.
        world: all ranks.
    """

    shards: Communicator
    replicas: Communicator
    world: Communicator

    @classmethod
    def of(cls, communicator: Communicator, replicas: int = 1) -> "Grid":
        """Divide ranks; neighbouring ones make up a replica. Every rank calls it.

        Args:
            communicator: all ranks.
            replicas: how many copies of the network there are to be.

        Raises:
            InputError: the ranks cannot be divided so.
        """
        if replicas < 1 or communicator.size % replicas:
            raise InputError(
                f"{communicator.size} ranks for {replicas} replicas: each replica has as many "
                f"ranks; start a multiple of {max(replicas, 1)}"
            )
        if replicas == 1:
            return cls(communicator, Alone(), communicator)
        each = communicator.size // replicas
        replica, place = divmod(communicator.rank, each)
        return cls(communicator.split(replica), communicator.split(place), communicator)

    def rows(self, batch: int) -> slice:
        """Return which rows of a batch this rank's replica takes; none of few rows, maybe."""
        if self.replicas.size == 1:
            return slice(0, batch)
        bounds = block_bounds(batch, self.replicas.size)
        return slice(int(bounds[self.replicas.rank]), int(bounds[self.replicas.rank + 1]))

    def add_up(self, flat: Tensor) -> None:
        """Replace an array by the sum of all replicas' arrays, on each of them the same."""
        if self.replicas.size == 1:
            return
        bounds = block_bounds(len(flat), self.replicas.size).tolist()
        parts = [flat[first:last].numpy() for first, last in pairwise(bounds)]
        total = np.empty_like(parts[self.replicas.rank])
        self.replicas.reduce_scatter(parts, total)
        self.replicas.all_gather(total, parts)

    def close(self) -> None:
        """Leave the communicators that were made for replicas."""
        if self.replicas.size > 1:
            self.replicas.close()
            self.shards.close()

    def sum(self, value: float) -> float:
        """Return the sum of a figure over the replicas, added in their order."""
        if self.replicas.size == 1:
            return value
        figures = np.zeros((self.replicas.size, 1))
        self.replicas.all_gather(np.array([value]), list(figures))
        return float(sum(figures[:, 0].tolist()))
