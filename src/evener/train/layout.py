"""Choose how ranks train a network together, by the cost model, and say why in words.

A network that shares its neurons among ranks, copies of it that share the rows, and both at once
compute the same; a halo makes another, smaller network. So a halo is chosen only for a user who
lets the network be changed, and otherwise told of.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from evener.artifacts.calibration import Calibration, Link
from evener.artifacts.topology import Topology
from evener.errors import InputError
from evener.train.cost_model import IterationCost, iteration_cost
from evener.train.shape import Shape
from evener.train.traffic import VALUE_BYTES
from evener.units import show

LayoutKind = Literal["one rank", "dense", "data parallel", "hybrid", "halo"]
HALOS: Final = (1, 4, 16, 64)
_WORTH: Final = 0.95  # a layout with more ranks has to save a twentieth of the time


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to train, and what it is predicted to cost.

    Attributes:
        kind: in a word or two.
        shape: the network, its topology as the layout needs it.
        ranks: all of them.
        replicas: copies that share the rows of a batch.
        cost: of an iteration.
    """

    kind: LayoutKind
    shape: Shape
    ranks: int
    replicas: int
    cost: IterationCost

    @property
    def weights_bytes(self) -> int:
        """What the weights of one copy take on all its ranks together."""
        return VALUE_BYTES * self.cost.weights

    def __str__(self) -> str:
        """Say it in a few words."""
        match self.kind:
            case "one rank":
                return "dense on one rank"
            case "dense":
                return f"dense, the neurons of each layer on {self.ranks} ranks"
            case "data parallel":
                return f"data parallel, {self.replicas} copies"
            case "hybrid":
                return f"hybrid, {self.replicas} copies on {self.ranks // self.replicas} ranks each"
            case _:
                return f"halo {self.shape.topology.halo} on {self.ranks} ranks"


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """The layout that was chosen, and why.

    Attributes:
        chosen: the layout.
        reasons: sentences, with their figures.
        others: all that were looked at, quickest first, the chosen one among them.
    """

    chosen: Layout
    reasons: tuple[str, ...]
    others: tuple[Layout, ...]


def choose_layout(
    shape: Shape,
    calibration: Calibration,
    *,
    ranks: int,
    batch: int,
    link: Link | None = None,
    halos: Sequence[int] = HALOS,
    may_change: bool = False,
) -> LayoutChoice:
    """Choose the quickest layout for a network.

    Args:
        shape: the network; its own topology is ignored but for how it takes its input.
        calibration: of one core.
        ranks: that may be used; fewer are where more do not pay.
        batch: rows of an iteration.
        link: between ranks; that of the calibration if None.
        halos: widths to look at.
        may_change: whether a halo may be chosen, which is another network with fewer weights.

    Raises:
        InputError: no rank or no row, or several ranks and no link.
    """
    if ranks < 1:
        raise InputError(f"{ranks} ranks: give 1 or more")
    same = [
        _layout(shape, calibration, count, copies, batch, link)
        for count in _divisors(ranks)
        for copies in _divisors(count)
        if copies <= batch
    ]
    smaller = [
        _halo(shape, calibration, ranks, halo, batch, link)
        for halo in halos
        if ranks > 1 and halo < min(shape.widths[1:])
    ]
    best = min(same, key=lambda one: (one.cost.iteration_s, one.ranks))
    quick_enough = [one for one in same if best.cost.iteration_s >= _WORTH * one.cost.iteration_s]
    best = min(quick_enough, key=lambda one: (one.ranks, one.cost.iteration_s))
    chosen = best
    quickest_halo = min(smaller, key=lambda one: one.cost.iteration_s, default=None)
    if (
        may_change
        and quickest_halo is not None
        and quickest_halo.cost.iteration_s < _WORTH * best.cost.iteration_s
    ):
        chosen = quickest_halo
    everything = sorted([*same, *smaller], key=lambda one: one.cost.iteration_s)
    reasons = _reasons(chosen, best, same, quickest_halo, ranks, may_change=may_change)
    return LayoutChoice(chosen, tuple(reasons), tuple(everything))


def _layout(
    shape: Shape,
    calibration: Calibration,
    ranks: int,
    replicas: int,
    batch: int,
    link: Link | None,
) -> Layout:
    parts = ranks // replicas
    topology = Topology(shards=parts, input=shape.topology.input)
    dense = replace(shape, topology=topology)
    cost = iteration_cost(
        dense, calibration, ranks=ranks, batch=batch, replicas=replicas, link=link
    )
    kind: LayoutKind = "hybrid"
    if ranks == 1:
        kind = "one rank"
    elif replicas == 1:
        kind = "dense"
    elif parts == 1:
        kind = "data parallel"
    return Layout(kind, dense, ranks, replicas, cost)


def _halo(
    shape: Shape, calibration: Calibration, ranks: int, halo: int, batch: int, link: Link | None
) -> Layout:
    topology = Topology(shards=ranks, halo=halo, input=shape.topology.input)
    sparse = replace(shape, topology=topology)
    cost = iteration_cost(sparse, calibration, ranks=ranks, batch=batch, link=link)
    return Layout("halo", sparse, ranks, 1, cost)


def _reasons(
    chosen: Layout,
    best: Layout,
    same: Sequence[Layout],
    halo: Layout | None,
    ranks: int,
    *,
    may_change: bool,
) -> list[str]:
    cost = chosen.cost
    first = (
        f"{chosen}: {show(cost.iteration_s, 'time')} an iteration by the cost model, "
        f"{cost.communication_share:.0%} of it communication, with "
        f"{show(cost.weights, 'count')} weights"
    )
    said = [first]
    alone = next(one for one in same if one.ranks == 1)
    if chosen.ranks > 1:
        times = alone.cost.iteration_s / cost.iteration_s
        said.append(
            f"one rank with all {show(alone.cost.weights, 'count')} weights would take "
            f"{show(alone.cost.iteration_s, 'time')}, {times:.1f} times as long"
        )
    if best.ranks < ranks and chosen is best:
        most = min(
            (one for one in same if one.ranks == ranks), key=lambda one: one.cost.iteration_s
        )
        said.append(
            f"more ranks do not pay: {most} would take {show(most.cost.iteration_s, 'time')}, "
            f"{most.cost.communication_share:.0%} of it communication"
        )
    rivals = [one for one in same if one.ranks == chosen.ranks and one is not chosen]
    if rivals:
        rival = min(rivals, key=lambda one: one.cost.iteration_s)
        said.append(f"next comes {rival}: {show(rival.cost.iteration_s, 'time')}")
    if halo is not None:
        share = halo.cost.weights / best.cost.weights
        if chosen is halo:
            said.append(
                f"it is another network, with {share:.0%} of the dense one's weights: what that "
                "costs in accuracy, evener train --sweep shows"
            )
        elif not may_change and halo.cost.iteration_s < _WORTH * best.cost.iteration_s:
            said.append(
                f"{halo} would take {show(halo.cost.iteration_s, 'time')}, but is another network, "
                f"with {share:.0%} of the weights: see what that costs in accuracy with evener "
                "train --sweep"
            )
    return said


def _divisors(number: int) -> list[int]:
    return [one for one in range(1, number + 1) if number % one == 0]
