"""Choose how ranks train a network together, by the cost model; say why in words.

Ranks can share the neurons of a network, copies of it can share the rows of a batch, and both at
once: all compute the same network. A halo makes another, smaller one. So a halo is chosen only for
a user who leaves it open, and otherwise told of. See `evener.train.layout_words` for the reasons.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final, Literal

from evener.artifacts.calibration import Calibration, Link
from evener.artifacts.topology import Halo, Topology
from evener.errors import InfeasibleError, InputError
from evener.train.cost_model import IterationCost, iteration_cost
from evener.train.footprint import arrays_bytes
from evener.train.shape import Shape
from evener.units import count, show

LayoutKind = Literal["one rank", "shards", "data parallel", "hybrid"]
HALOS: Final = (1, 4, 16, 64)
WORTH: Final = 0.95
"""A layout with more ranks, or another network, has to save a twentieth of the time."""

_ALL_COUNTS: Final = 32  # of ranks that are looked at one by one; of more only divisors


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to train, and what it is predicted to cost.

    Attributes:
        kind: in a word or two.
        shape: the network, its topology as the layout needs it.
        ranks: all of them.
        replicas: copies that share the rows of a batch.
        cost: of an iteration.
        memory_bytes: what its arrays take on all ranks together, by an estimate.
    """

    kind: LayoutKind
    shape: Shape
    ranks: int
    replicas: int
    cost: IterationCost
    memory_bytes: int

    @property
    def halo(self) -> Halo:
        """How many neurons of either neighbour a shard sees."""
        return self.shape.topology.halo

    def __str__(self) -> str:
        """Say it in a few words."""
        network = "dense" if self.shape.topology.dense else f"halo {self.halo}"
        each = count(self.ranks // self.replicas, "rank")
        if self.replicas == 1:
            return f"{network} on {each}"
        return f"{network}, {self.replicas} replicas of {each}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freedom:
    """What may be chosen.

    Attributes:
        ranks: the most that may be used.
        exactly: whether all of them are to be used, as they are started already.
        shards: of the network; one for each rank of a replica if None, where it is dense.
        halo: whether another halo may be chosen, which is another network.
        halos: widths to look at.
        iteration_s: the longest that an iteration may take.
        memory_bytes: the most that the arrays of all ranks may take.
    """

    ranks: int
    exactly: bool = False
    shards: int | None = None
    halo: bool = False
    halos: Sequence[int] = HALOS
    iteration_s: float = inf
    memory_bytes: float = inf


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """The layout that was chosen, and those it was chosen from.

    Attributes:
        chosen: the layout.
        best_same: the best of those that compute the network that was asked for.
        candidates: all that were looked at, quickest first.
        freedom: what might be chosen.
    """

    chosen: Layout
    best_same: Layout
    candidates: tuple[Layout, ...]
    freedom: Freedom


def choose_layout(
    shape: Shape,
    calibration: Calibration,
    freedom: Freedom,
    *,
    batch: int,
    link: Link | None = None,
    remembered: int | None = None,
    rows_bytes: int = 0,
) -> LayoutChoice:
    """Choose the quickest layout; of a limited time, the one with most weights that keeps it.

    Args:
        shape: the network; the shards of a dense one count for nothing.
        calibration: of one core.
        freedom: what may be chosen.
        batch: rows of an iteration.
        link: between ranks; that of the calibration if None.
        remembered: numbers that the optimiser keeps for each weight; None for plain descent.
        rows_bytes: what each rank holds of rows to learn from.

    Raises:
        InputError: no rank or no row, more ranks than can be used, or several and no link.
        InfeasibleError: every layout takes longer or more memory than it may.
    """
    if freedom.ranks < 1:
        raise InputError(f"{freedom.ranks} ranks: give 1 or more")
    found = [
        Layout(
            _kind(ranks, replicas),
            one,
            ranks,
            replicas,
            iteration_cost(
                one,
                calibration,
                ranks=ranks,
                batch=batch,
                replicas=replicas,
                link=link,
                remembered=remembered,
            ),
            ranks * rows_bytes
            + arrays_bytes(one, ranks=ranks, replicas=replicas, batch=batch, remembered=remembered),
        )
        for one, ranks, replicas in _grids(shape, freedom, batch)
    ]
    if not found:
        raise InputError(
            f"{freedom.ranks} ranks, {shape.topology.shards} shards and batches of {batch}: a rank "
            "has a shard or more, and a replica a row or more; start fewer ranks, or give larger "
            "batches"
        )
    candidates = sorted(found, key=lambda one: (one.cost.iteration_s, one.ranks))
    possible = [one for one in candidates if _keeps(one, freedom)]
    same = [one for one in candidates if is_same(one, shape)]
    kept = [one for one in same if one in possible]
    best_same = _quickest(kept or same)
    if not possible or not (kept or freedom.halo):
        raise _infeasible(candidates if freedom.halo else same, freedom)
    chosen = best_same
    if freedom.halo:
        most = max(one.cost.weights for one in possible)
        if freedom.iteration_s < inf:
            chosen = _quickest([one for one in possible if one.cost.weights == most])
        elif not kept or possible[0].cost.iteration_s < WORTH * best_same.cost.iteration_s:
            network = possible[0].shape
            chosen = _quickest([one for one in possible if one.shape == network])
    return LayoutChoice(chosen, best_same, tuple(candidates), freedom)


def is_same(layout: Layout, shape: Shape) -> bool:
    """Whether a layout computes a network, and not one with other weights."""
    ours, theirs = layout.shape.topology, shape.topology
    return ours == theirs or (ours.dense and theirs.dense)


def _quickest(layouts: Sequence[Layout]) -> Layout:
    """Return the one with fewest ranks of those that are nearly as quick as the quickest."""
    least_s = min(one.cost.iteration_s for one in layouts)
    enough = [one for one in layouts if WORTH * one.cost.iteration_s <= least_s]
    return min(enough, key=lambda one: (one.ranks, one.cost.iteration_s))


def _keeps(layout: Layout, freedom: Freedom) -> bool:
    return (
        layout.cost.iteration_s <= freedom.iteration_s
        and layout.memory_bytes <= freedom.memory_bytes
    )


def _grids(shape: Shape, freedom: Freedom, batch: int) -> Iterator[tuple[Shape, int, int]]:
    """Yield networks, ranks and replicas: of the network itself, and of it with a halo."""
    topology = shape.topology
    for ranks in _counts(freedom):
        for replicas in _divisors(ranks):
            each = ranks // replicas
            shards = (freedom.shards or each) if topology.dense else topology.shards
            if replicas <= batch and each <= shards:
                yield replace(shape, topology=_with(topology, shards=shards)), ranks, replicas
    if not topology.dense and not freedom.halo:
        return
    shards = freedom.shards or freedom.ranks
    for halo in freedom.halos:
        other = _with(topology, shards=shards, halo=halo)
        if shards == 1 or halo >= min(shape.widths[1:]) or other == topology:
            continue
        for replicas in _divisors(freedom.ranks) if freedom.halo else [1]:
            if replicas <= batch and freedom.ranks // replicas <= shards:
                yield replace(shape, topology=other), freedom.ranks, replicas


def _with(topology: Topology, *, shards: int, halo: Halo | None = None) -> Topology:
    return Topology(
        shards=shards,
        halo=topology.halo if halo is None else halo,
        shuffle=topology.shuffle,
        coarse=topology.coarse,
        input=topology.input,
    )


def _counts(freedom: Freedom) -> list[int]:
    if freedom.exactly:
        return [freedom.ranks]
    if freedom.ranks <= _ALL_COUNTS:
        return list(range(1, freedom.ranks + 1))
    return _divisors(freedom.ranks)


def _divisors(number: int) -> list[int]:
    return [one for one in range(1, number + 1) if number % one == 0]


def _kind(ranks: int, replicas: int) -> LayoutKind:
    if ranks == 1:
        return "one rank"
    if replicas == 1:
        return "shards"
    return "data parallel" if replicas == ranks else "hybrid"


def _infeasible(layouts: Sequence[Layout], freedom: Freedom) -> InfeasibleError:
    """Name the layout that misses a limit least."""
    least = min(layouts, key=lambda one: one.memory_bytes)
    if least.memory_bytes > freedom.memory_bytes:
        return InfeasibleError(
            f"the arrays of {least} take {show(least.memory_bytes, 'size')} by an estimate, and "
            f"{show(freedom.memory_bytes, 'size')} may be used: train a network of fewer weights, "
            "or smaller batches",
            needed=freedom.memory_bytes,
            available=least.memory_bytes,
        )
    fits = [one for one in layouts if one.memory_bytes <= freedom.memory_bytes]
    quickest = min(fits, key=lambda one: one.cost.iteration_s)
    open_halo = "" if freedom.halo else ", leave the halo open with --halo auto"
    return InfeasibleError(
        f"no layout takes {show(freedom.iteration_s, 'time')} an iteration or less: {quickest} is "
        f"predicted to take {show(quickest.cost.iteration_s, 'time')}. Allow more time{open_halo}, "
        "or give more ranks or smaller batches",
        needed=freedom.iteration_s,
        available=quickest.cost.iteration_s,
    )
