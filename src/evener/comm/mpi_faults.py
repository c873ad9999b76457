"""Try what some MPI libraries are known to do wrong on small rings; Evener uses none of it.

Open MPI 5.0.11 returns wrong data from non-blocking and persistent neighbourhood collectives on a
periodic ring of one or two ranks (open-mpi/ompi#14430). Whoever builds on them should know.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from mpi4py import MPI  # noqa: TID251 - this is evener.comm
from numpy.typing import NDArray

from evener.artifacts.ring_check import RingCheck

Values = NDArray[np.int64]
Way = Callable[[MPI.Cartcomm, Values, Values], None]


def check_rings() -> list[RingCheck]:
    """Exchange in each way on rings of the first ranks, 1 to all; every rank must call it.

    Returns:
        What was found, on every rank.
    """
    world = MPI.COMM_WORLD
    found = []
    for ranks in range(1, world.size + 1):
        ring = world.Create_group(world.group.Incl(range(ranks))) if world.rank < ranks else None
        mine = []
        if ring is not None:
            mine = [_is_right(ring, way) for way in _WAYS.values()]
            ring.Free()
        everyone: list[list[bool]] = world.allgather(mine)
        for place, name in enumerate(_WAYS):
            right = all(one[place] for one in everyone[:ranks])
            found.append(RingCheck(name=name, ranks=ranks, right=right))
    return found


def _is_right(ring: MPI.Intracomm, way: Way) -> bool:
    """Send one number to either neighbour; the first is that before, as MPI orders them."""
    cart = ring.Create_cart([ring.size], periods=[True])
    sent = np.array([2 * cart.rank, 2 * cart.rank + 1], np.int64)
    received = np.full(2, -1, np.int64)
    way(cart, sent, received)
    before, after = (cart.rank - 1) % cart.size, (cart.rank + 1) % cart.size
    cart.Free()
    return received.tolist() == [2 * before + 1, 2 * after]


def _blocking(cart: MPI.Cartcomm, sent: Values, received: Values) -> None:
    cart.Neighbor_alltoall(sent, received)


def _non_blocking(cart: MPI.Cartcomm, sent: Values, received: Values) -> None:
    cart.Ineighbor_alltoall(sent, received).Wait()


def _persistent(cart: MPI.Cartcomm, sent: Values, received: Values) -> None:
    request: Any = cart.Neighbor_alltoall_init(sent, received)
    request.Start()
    request.Wait()
    request.Free()


_WAYS: Final[Mapping[str, Way]] = {
    "Neighbor_alltoall": _blocking,
    "Ineighbor_alltoall": _non_blocking,
    "Neighbor_alltoall_init": _persistent,
}
