"""Split a graph into the row of stages whose slowest is shortest, by dynamic programming.

What the first stages of a pipeline have run is a downset, so a pipeline is a row of nested downsets
from none to all, and a stage is what lies between two neighbours. The state is (downset, devices of
each kind used), and its value the shortest time of the slowest stage so far.

Most downsets are never reached: a known split, which need not be good, rules out every stage that
takes as long as its slowest, and every state whose rest cannot be done below it any more. So the
best split along a few topological orders comes first (`plan_dag`), and then that of all downsets.
Layout: K downsets, E of them at which stages end, D kinds of devices, S counts of devices used.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf, prod
from operator import or_
from typing import Final

import numpy as np

from evener.errors import InfeasibleError, InputError
from evener.network.downsets import downsets
from evener.plan.dag import Dag
from evener.plan.dag_lattice import Lattice
from evener.plan.problem import Floats, Integers

ORDERS: Final = 8  # further ones seldom help, and the exact search follows
STRAIGHT: Final = 0.8  # how often an order goes on with the branch that it is in
MOST_DOWNSETS: Final = 100_000  # minutes at most, and a quarter of a gigabyte for 300 nodes


@dataclass(frozen=True, slots=True)
class DagStage:
    """What one device runs.

    Attributes:
        kind: index of the kind of device.
        nodes: the set of nodes.
    """

    kind: int
    nodes: int


@dataclass(frozen=True, slots=True)
class DagSplit:
    """A row of stages, each on a device of its own.

    Attributes:
        period_s: load of the slowest.
        stages: in the order in which a frame meets them.
    """

    period_s: float
    stages: tuple[DagStage, ...]


@dataclass(frozen=True, slots=True)
class DagPlan:
    """The best split found, and how far it was looked for.

    Attributes:
        split: the best one found.
        along_orders_s: period of the best one along the topological orders that were tried first.
        downsets: those of the graph, all searched; None if they were too many.
    """

    split: DagSplit
    along_orders_s: float
    downsets: tuple[int, ...] | None

    @property
    def best(self) -> bool:
        """Whether no contiguous split has a shorter period."""
        return self.downsets is not None


def plan_dag(dag: Dag, *, most_downsets: int = MOST_DOWNSETS, seed: int = 0) -> DagPlan:
    """Find the best split of a graph, or the best along some orders where downsets are too many.

    Args:
        dag: what to split.
        most_downsets: search all of them if they are no more than this.
        seed: what the topological orders are drawn from.

    Raises:
        InfeasibleError: no row of stages was found that fits the devices.

    Example:
        One node before two others, on two devices; what the first makes costs a second to move:

        >>> from evener.plan.dag import Dag, Kind, Tensor
        >>> plan = plan_dag(Dag((Tensor(0, (1, 2), 1.0),), (Kind(2, (1.0, 4.0, 6.0)),), (0, 0, 0)))
        >>> plan.split.period_s, plan.downsets
        (7.0, (0, 1, 3, 5, 7))
    """
    split: DagSplit | None = None
    for order in _topological_orders(dag, np.random.default_rng(seed)):
        begun = tuple(accumulate((1 << node for node in order), or_, initial=0))
        split = split_dag(dag, begun, below_s=split.period_s if split else inf) or split
    along_orders_s = split.period_s if split else inf
    every = downsets(dag.predecessors, most=most_downsets)
    if every is not None:
        split = split_dag(dag, every, below_s=along_orders_s) or split
    if split is None:
        raise InfeasibleError(
            f"no row of stages fits {dag.nodes} nodes into "
            f"{' + '.join(str(kind.count) for kind in dag.kinds)} devices: "
            + (
                "each either runs no more of them or has no memory left. Add a device, or memory"
                if every is not None
                else f"{ORDERS} topological orders were tried, as there are more than "
                f"{most_downsets} downsets. Allow more downsets, or add a device"
            )
        )
    return DagPlan(split, along_orders_s, every)


def split_dag(dag: Dag, downsets: Sequence[int], *, below_s: float = inf) -> DagSplit | None:
    """Find the row of stages whose slowest is shortest, of those that end at the given downsets.

    With all downsets of the graph this is the best of all contiguous splits, to rounding. Fewer,
    such as the beginnings of one topological order, give a good one soon, to pass as `below_s`.

    Args:
        dag: what to split.
        downsets: smaller ones first, from the empty one to all nodes.
        below_s: only splits below this period are looked for.

    Returns:
        The split; None if there is none below `below_s`.

    Example:
        Three nodes in a row on two devices, with tensors that cost a second:

        >>> from evener.plan.dag import Dag, Kind, Tensor
        >>> tensors = (Tensor(0, (1,), 1.0), Tensor(1, (2,), 1.0))
        >>> dag = Dag(tensors, (Kind(2, (4.0, 4.0, 6.0)),), (0, 0, 0))
        >>> split_dag(dag, [0b000, 0b001, 0b011, 0b111])
        DagSplit(period_s=9.0, stages=(DagStage(kind=0, nodes=3), DagStage(kind=0, nodes=4)))
    """
    lattice = Lattice(dag, downsets)
    used = _Used(dag)
    best_SK = np.full((used.states, len(downsets)), inf)
    best_SK[0, 0] = 0.0
    start_SK = np.zeros(best_SK.shape, np.int32)
    kind_SK = np.zeros(best_SK.shape, np.int8)
    for start in range(len(downsets) - 1):
        states = used.worth_going_on(best_SK[:, start], lattice.rest_s[start], below_s)
        if not len(states):
            continue
        ends, loads_DE = lattice.loads(start, below_s)
        for kind, loads_E in enumerate(loads_DE):
            froms = states[used.left_DS[kind, states] > 0]
            short = loads_E < below_s
            if not len(froms) or not short.any():
                continue
            to = (froms + used.step_D[kind])[:, None]
            into = ends[short]
            slowest = np.maximum(best_SK[froms, start][:, None], loads_E[short])
            row, column = np.nonzero(slowest < best_SK[to, into])
            places = (to[row, 0], into[column])
            best_SK[places] = slowest[row, column]
            start_SK[places] = start
            kind_SK[places] = kind
        below_s = min(below_s, float(best_SK[:, -1].min()))
    state, end = int(np.argmin(best_SK[:, -1])), len(downsets) - 1
    if best_SK[state, end] == inf:
        return None
    stages: list[DagStage] = []
    while end:
        start, kind = int(start_SK[state, end]), int(kind_SK[state, end])
        stages.append(DagStage(kind, downsets[end] & ~downsets[start]))
        state, end = state - int(used.step_D[kind]), start
    stages.reverse()
    return DagSplit(max(dag.load_s(stage.kind, stage.nodes) for stage in stages), tuple(stages))


def _topological_orders(dag: Dag, rng: np.random.Generator) -> Iterator[list[int]]:
    """Yield orders that mostly follow a branch to its end; the first one always does."""
    before = dag.predecessors
    after: list[list[int]] = [[] for _ in before]
    for node, nodes in enumerate(before):
        for one in nodes:
            after[one].append(node)
    for straight in (1.0, *[STRAIGHT] * (ORDERS - 1)):
        missing = [len(nodes) for nodes in before]
        ready = [node for node, count in enumerate(missing) if not count]
        order: list[int] = []
        while ready:
            last = len(ready) - 1
            order.append(
                ready.pop(last if rng.random() < straight else int(rng.integers(last + 1)))
            )
            for node in after[order[-1]]:
                missing[node] -= 1
                if not missing[node]:
                    ready.append(node)
        if len(order) < dag.nodes:
            raise InputError(
                f"nodes {sorted(set(range(dag.nodes)) - set(order))} read from each other in a "
                "circle, or from such nodes: no order of stages runs them. Join those in a circle"
            )
        yield order


class _Used:
    """The counts of devices used, each a number: the states."""

    def __init__(self, dag: Dag) -> None:
        self.shape = tuple(kind.count + 1 for kind in dag.kinds)
        self.states = prod(self.shape)
        self.step_D = np.array([prod(self.shape[kind + 1 :]) for kind in range(len(self.shape))])
        counts_DS = np.stack(np.unravel_index(np.arange(self.states), self.shape))
        self.left_DS = np.array([kind.count for kind in dag.kinds])[:, None] - counts_DS
        self.capacity_S = np.array(dag.ratios) @ self.left_DS

    def worth_going_on(self, best_S: Floats, rest_s: float, below_s: float) -> Integers:
        """Return the states at a downset from which all may be done below a period.

        One that is no better than another of fewer devices is left out.
        """
        needed = rest_s / below_s if below_s > 0 else inf
        able_S = (self.capacity_S > needed) | (rest_s <= 0)
        hopeful = (best_S < below_s) & able_S
        if not hopeful.any():
            return np.flatnonzero(hopeful)
        grid = best_S.reshape(self.shape)
        fewer = grid
        for axis in range(grid.ndim):
            fewer = np.minimum.accumulate(fewer, axis=axis)
        worse = np.zeros(self.shape, np.bool_)
        for axis in range(grid.ndim):
            later: list[slice] = [slice(None)] * grid.ndim
            sooner = list(later)
            later[axis], sooner[axis] = slice(1, None), slice(-1)
            worse[tuple(later)] |= fewer[tuple(sooner)] <= grid[tuple(later)]
        return np.flatnonzero(hopeful & ~worse.ravel())
