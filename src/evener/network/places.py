"""List the places where a network may be cut although more than one tensor crosses.

A place is a downset of the graph: the nodes that have run before it. What runs between two nested
places is a segment, so that stages may split the branches of a module or a residual unit, with the
skipping tensors handed on beside the others. Only places that at most `max_live` tensors cross
count, and what lies in one unit (`units.py`) stays together.

Every cut of the rule "paper" is a place, and what lies between two such cuts, a part, is opened on
its own. If that gives more places than a planner should weigh, the work of the network is divided
into equal shares, and of each only the place that fewest bytes cross stays: heavy parts keep many,
light ones may stay whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import onnx_ir as ir

from evener.artifacts.tensor import Tensor
from evener.network.cost import macs
from evener.network.downsets import narrow_downsets
from evener.network.flow import Flow, members
from evener.network.graph import as_tensor
from evener.network.units import needs_of, units_of

MOST_PLACES: Final = 100
"""Planning takes the square of the places, and timing two sessions for each."""
MOST_DOWNSETS: Final = 10_000
"""Of one part; so many take some tenths of a second to look through."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a network may be cut.

    Attributes:
        done: the set of nodes before it.
        tensors: what crosses it.
        macs: multiply-accumulates of the nodes before it.
    """

    done: int
    tensors: tuple[Tensor, ...]
    macs: int


@dataclass(frozen=True, slots=True)
class Opened:
    """What became of a part between two neighbouring cuts of the rule "paper".

    Attributes:
        units: its sets of nodes that stay together, in an order in which they can run.
        ends: how many units of a place at most nothing before the place needs; less than were asked
            for where their combinations would have been too many.
        found: how many places lie in it.
        kept: how many of them stayed.
    """

    units: tuple[int, ...]
    ends: int
    found: int
    kept: int


@dataclass(frozen=True, slots=True)
class Places:
    """All places of a network, and where they come from.

    Attributes:
        inner: the places, those after little work first; of two nested ones the smaller is first.
        opened: the parts in order.
    """

    inner: tuple[Place, ...]
    opened: tuple[Opened, ...]


def is_legal(values: Sequence[ir.Value], *, max_live: int) -> bool:
    """Whether a network may be cut where these values cross.

    Before a DequantizeLinear the same numbers take a quarter of the bytes: never cut after one. A
    sum and the layer normalisation of it are computed as one, which rounds differently than apart.

    Args:
        values: all that cross.
        max_live: how many may.
    """
    if not 0 < len(values) <= max_live:
        return False
    makers = [value.producer() for value in values]
    return (
        all(as_tensor(value) is not None for value in values)
        and not any(maker and maker.op_type == "DequantizeLinear" for maker in makers)
        and not any(map(is_normalised_sum, values))
    )


def is_normalised_sum(value: ir.Value) -> bool:
    """Whether a value is a sum that a layer normalisation reads."""
    maker = value.producer()
    if maker is None or maker.op_type != "Add":
        return False
    readers = {node.op_type for node, _ in value.uses()}
    return "LayerNormalization" in readers or {"ReduceMean", "Sub"} <= readers


def find_places(
    flow: Flow, ends: Sequence[int], *, max_live: int, most: int = MOST_PLACES
) -> Places:
    """Find the places of a network.

    Args:
        flow: of its graph.
        ends: the number of nodes up to each cut of the rule "paper", and of all at last.
        max_live: most tensors that may cross a place.
        most: how many places may be listed; every cut of the rule "paper" is, in any case.
    """
    work = [macs(node) for node in flow.nodes]
    cuts = [_place(flow, work, (1 << end) - 1) for end in ends[:-1]]
    parts: list[tuple[tuple[int, ...], int, list[Place]]] = []
    for start, end in pairwise([0, *ends]):
        units = units_of(flow, range(start, end))
        width, sets = _downsets(flow, units, max_live)
        before = (1 << start) - 1
        values = [
            value
            for value in flow.values
            if start <= flow.maker[value] < end
            or (flow.maker[value] < start and flow.readers[value] & ~before)
        ]
        found = [
            _place(flow, work, done)
            for done in (before | one for one in sets)
            if is_legal(flow.crossing(done, values), max_live=max_live)
        ]
        parts.append((units, width, found))
    kept = _cheapest(
        [place for *_, found in parts for place in found],
        most=most - len(cuts),
        total=sum(work),
    )
    stayed = {place.done for place in kept}
    return Places(
        inner=tuple(sorted([*cuts, *kept], key=_order)),
        opened=tuple(
            Opened(units, width, len(found), sum(place.done in stayed for place in found))
            for units, width, found in parts
        ),
    )


def _downsets(flow: Flow, units: tuple[int, ...], max_live: int) -> tuple[int, list[int]]:
    """List the sets of nodes that can have run when some but not all units have."""
    needs = needs_of(flow, units)
    for ends in (max_live, *range(min(max_live - 1, len(units)), 0, -1)):
        found = narrow_downsets(needs, ends=ends, most=MOST_DOWNSETS)
        if found is not None:
            inner = (one for one in found if 0 < one < (1 << len(units)) - 1)
            return ends, [sum(units[at] for at in members(one)) for one in inner]
    return 0, []


def _place(flow: Flow, work: Sequence[int], done: int) -> Place:
    tensors = tuple(tensor for tensor in map(as_tensor, flow.crossing(done)) if tensor)
    return Place(done, tensors, sum(work[number] for number in members(done)))


def _order(place: Place) -> tuple[int, int, int]:
    return place.macs, place.done.bit_count(), place.done


def _cheapest(places: Sequence[Place], *, most: int, total: int) -> list[Place]:
    """Keep of each share of the work the place that fewest bytes cross, if there are too many."""
    if len(places) <= most:
        return list(places)
    if most < 1:
        return []
    ranked = sorted(places, key=lambda place: (_bytes(place), _order(place)))
    few, many = most, 1 + max(total, most)  # shares of which so many keep few enough, or may not
    while many - few > 1:
        between = (few + many) // 2
        if len(_by_share(ranked, between, total)) <= most:
            few = between
        else:
            many = between
    return _by_share(ranked, few, total)


def _by_share(ranked: Sequence[Place], shares: int, total: int) -> list[Place]:
    first: dict[int, Place] = {}
    for place in ranked:
        first.setdefault(place.macs * shares // (total + 1), place)
    return list(first.values())


def _bytes(place: Place) -> int:
    return sum(tensor.size_bytes for tensor in place.tensors)
