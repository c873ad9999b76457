"""Find the loads of all stages that begin where a downset of a graph ends.

Node times add up, so the load of a stage follows from its two downsets and the tensors open at
them: made inside, and read by a node outside. Downsets are taken one by one, and the loads to all
that hold one are made, used and forgotten: memory grows with the downsets, not with their pairs.
Layout: K downsets, E of them at which stages end, N nodes, T tensors, D kinds of devices.
"""

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError
from evener.plan.dag import Dag, members
from evener.plan.problem import Floats, Integers

Booleans = NDArray[np.bool_]


class Lattice:
    """Downsets of a graph as tables.

    Args:
        dag: the graph.
        downsets: smaller ones first, from the empty one to all nodes.

    Raises:
        InputError: they do not begin with the empty one, or do not end with all nodes.
    """

    def __init__(self, dag: Dag, downsets: Sequence[int]) -> None:
        if not downsets or downsets[0] != 0 or downsets[-1] != (1 << dag.nodes) - 1:
            raise InputError(
                f"{len(downsets)} downsets of {dag.nodes} nodes: the first must be empty, and the "
                "last hold all nodes"
            )
        self.dag = dag
        has_NK = _membership(downsets, dag.nodes)
        self.has_NK = has_NK
        # What a downset takes of each kind of device; of it, what a stage takes is a difference.
        times_DN = np.array([kind.times_s for kind in dag.kinds])
        self.work_DK = np.where(np.isfinite(times_DN), times_DN, 0.0) @ has_NK
        self.unable_DK = (~np.isfinite(times_DN)).astype(np.int64) @ has_NK  # nodes it cannot run
        self.bytes_K = np.array(dag.sizes_bytes) @ has_NK
        self.rest_s = (np.array(dag.least_s) @ ~has_NK).tolist()  # least time of the other nodes
        # Tensors: how many of its consumers are in a downset, and whether it is open there.
        tensors = [tensor for tensor in dag.tensors if tensor.consumers]
        producers = [tensor.producer for tensor in tensors]
        consumers = [sorted(set(tensor.consumers)) for tensor in tensors]
        self.taken_TK = np.zeros((len(tensors), len(downsets)), np.uint16)
        for taken_K, nodes in zip(self.taken_TK, consumers, strict=True):
            taken_K[:] = has_NK[nodes].sum(axis=0)
        takers_T = np.array([len(nodes) for nodes in consumers])
        self.open_TK = has_NK[producers] & (self.taken_TK < takers_T[:, None])
        self.open_KT = np.ascontiguousarray(self.open_TK.T)
        self.transfer_T = np.array([tensor.transfer_s for tensor in tensors])
        self.leaving_K = self.transfer_T @ self.open_TK  # seconds to move all that is open
        # The nodes of a downset that none of its nodes reads: what has them has all of it.
        read_NK = np.zeros_like(has_NK)
        for producer, taken_K in zip(producers, self.taken_TK, strict=True):
            read_NK[producer] |= taken_K > 0
        self.outermost_KN = np.ascontiguousarray((has_NK & ~read_NK).T)

    def loads(self, start: int, below_s: float) -> tuple[Integers, Floats]:
        """Return the downsets at which a stage from `start` may end, and its loads.

        Args:
            start: index of the downset where it begins.
            below_s: loads from this on are not asked for.

        Returns:
            Indices of the ends, and seconds on each kind of device `[D, end]`; inf where it cannot
            run the stage, or its work alone takes `below_s`.
        """
        holds = np.ones(len(self.bytes_K) - start - 1, np.bool_)
        for node in np.flatnonzero(self.outermost_KN[start]):
            holds &= self.has_NK[node, start + 1 :]
        work_DE = self.work_DK[:, start + 1 :] - self.work_DK[:, start, None]
        able_DE = (work_DE < below_s) & (
            self.unable_DK[:, start + 1 :] == self.unable_DK[:, start, None]
        )
        bytes_E = self.bytes_K[start + 1 :] - self.bytes_K[start]
        memory_D = np.array([kind.memory_bytes for kind in self.dag.kinds])
        able_DE &= bytes_E <= memory_D[:, None]
        kept = np.flatnonzero(holds & able_DE.any(axis=0))
        ends = kept + start + 1
        loads_DE = np.where(able_DE[:, kept], work_DE[:, kept], inf)
        moves = [number for number, kind in enumerate(self.dag.kinds) if kind.moves]
        if moves:
            loads_DE[moves] += self._moved_s(start, ends)
        return ends, loads_DE

    def _moved_s(self, start: int, ends: Integers) -> Floats:
        """Return seconds to move what enters and leaves the stages from one downset to others.

        What leaves is open at the end and was made in the stage. A tensor that was open before
        enters if the stage takes any of it, and what is open of it at the end does not leave.
        """
        moved_s = self.leaving_K[ends]
        for tensor in np.flatnonzero(self.open_KT[start]):
            enters = self.taken_TK[tensor, ends] > self.taken_TK[tensor, start]
            stays_out = self.open_TK[tensor, ends]
            moved_s += self.transfer_T[tensor] * (enters.astype(np.int8) - stays_out)
        return moved_s


def _membership(downsets: Sequence[int], nodes: int) -> Booleans:
    """Return which node is in which downset `[N, K]`."""
    has_NK = np.zeros((nodes, len(downsets)), np.bool_)
    for index, downset in enumerate(downsets):
        has_NK[list(members(downset)), index] = True
    return has_NK
