"""Bound the period of every split of a graph from below, in two ways that share nothing.

By work: whatever runs where, contiguous or not, all nodes have to be run. By prices, as in
`bound.py`: put a price on a second of each kind of device, those of all devices together 1. A split
of period p has p to spend per frame, so p is at least the cost of the cheapest row of stages,
whatever the prices (weak duality); and it counts what moving tensors costs. Only stages that beat a
known split need be in the row, for a split that beats it has no others.
"""

from collections.abc import Sequence
from math import inf
from typing import Final

import numpy as np

from evener.plan.dag import Dag
from evener.plan.dag_lattice import Lattice

ROUNDING: Final = 1e-9  # more than the sums of a lattice can lose


def work_bound_s(dag: Dag) -> float:
    """Return a period that no split is below, contiguous or not: moving is free here.

    Each node takes at least its least time on one device; and of the least times of all nodes, a
    kind of device does in a second no more than its best ratio of least time to own time.

    Example:
        >>> from evener.plan.dag import Kind
        >>> work_bound_s(Dag((), (Kind(2, (3.0, 3.0, 3.0)),), (0, 0, 0)))
        4.5
    """
    capacity = sum(kind.count * ratio for kind, ratio in zip(dag.kinds, dag.ratios, strict=True))
    return max(max(dag.least_s, default=0.0), sum(dag.least_s) / capacity)


def price_bound_s(
    dag: Dag, downsets: Sequence[int], shares: Sequence[Sequence[float]], *, known_s: float
) -> float:
    """Return a period that no contiguous split is below, nor any mixture of such splits in time.

    Args:
        dag: the graph.
        downsets: all of them, smaller ones first.
        shares: prices to try; each row gives every kind of device its share, together 1.
        known_s: period of a split that is known; the answer is this, less rounding, if no row of
            stages beats it.

    Example:
        Two nodes on two devices, and a tensor between them that costs as much as they do: the work
        says 2 seconds, but a split would take 4, so that one device may as well do it all.

        >>> from evener.plan.dag import Kind, Tensor
        >>> dag = Dag((Tensor(0, (1,), 2.0),), (Kind(2, (2.0, 2.0)),), (0, 0))
        >>> work_bound_s(dag), round(price_bound_s(dag, [0, 0b01, 0b11], [[1.0]], known_s=4.0), 6)
        (2.0, 4.0)
    """
    below_s = known_s * (1 - ROUNDING)
    lattice = Lattice(dag, downsets)
    prices_PD = np.array(shares) / np.array([kind.count for kind in dag.kinds])
    cheapest_KP = np.full((len(downsets), len(prices_PD)), inf)
    cheapest_KP[0] = 0.0
    for start in range(len(downsets) - 1):
        if cheapest_KP[start, 0] == inf:  # and so at all prices
            continue
        ends, loads_DE = lattice.loads(start, below_s)
        for kind, loads_E in enumerate(loads_DE):
            short = loads_E < below_s
            costs_EP = cheapest_KP[start] + loads_E[short, None] * prices_PD[:, kind]
            into = ends[short]
            cheapest_KP[into] = np.minimum(cheapest_KP[into], costs_EP)
    return min(below_s, float(cheapest_KP[-1].max()))
