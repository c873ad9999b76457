"""Explain by the rule "node" what was opened, which places there are, and why there are no others.

Two neighbouring main layers of one part are either apart at some place, or together at all: because
wherever they are apart too many tensors would cross, or one that cannot be handed over, or because
the place was left out to keep the number of places low.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import onnx_ir as ir

from evener.network.blocks import Blocks
from evener.network.cost import is_main, macs
from evener.network.downsets import downsets
from evener.network.explain import Cut, Explanation, NoCut, OpenedPart, crossing
from evener.network.flow import Flow, flow_of, members
from evener.network.model import Network
from evener.network.places import MOST_DOWNSETS, MOST_PLACES, Opened, find_places, is_legal
from evener.network.units import needs_of


def explain_places(network: Network, blocks: Blocks) -> Explanation:
    """Explain how a network was cut by the rule "node".

    Args:
        network: what was cut.
        blocks: how it was cut.

    Example:
        >>> from evener.network.blocks import cut_into_blocks
        >>> from evener.network.model import load_network
        >>> net = load_network("squeezenet")
        >>> explained = explain_places(net, cut_into_blocks(net, "node"))
        >>> [part.kept for part in explained.parts[:4]], explained.no_cuts
        ([0, 0, 1, 0], ())
    """
    flow = flow_of(network.model.graph, network.states)
    max_live = blocks.max_live or 0
    ends: list[int] = []
    for part in blocks.opened:
        ends.append((ends or [0])[-1] + sum(map(int.bit_count, part.units)))
    every = find_places(flow, ends, max_live=max_live, most=len(flow.nodes) ** max_live)
    found = [place.done for place in every.inner]
    parts = [
        _part(flow, blocks, index, start, end)
        for index, (start, end) in enumerate(pairwise([0, *ends]))
    ]
    return Explanation(
        network=network.name,
        granularity=blocks.granularity,
        blocks=blocks.blocks,
        cuts=tuple(
            Cut(
                after_block=index,
                tensors=tuple(crossing(network.value(tensor.name)) for tensor in tensors),
            )
            for index, tensors in enumerate(blocks.cuts)
        ),
        no_cuts=tuple(
            no_cut
            for index, part in enumerate(blocks.opened)
            for no_cut in _no_cuts(flow, blocks, found, index, part)
        ),
        max_live=blocks.max_live,
        parts=tuple(parts),
    )


def _part(flow: Flow, blocks: Blocks, index: int, start: int, end: int) -> OpenedPart:
    opened = blocks.opened[index]
    before, after = (1 << start) - 1, (1 << end) - 1
    return OpenedPart(
        part=index,
        units=tuple(_name(_nodes(flow, unit)) for unit in opened.units),
        macs=sum(map(macs, flow.nodes[start:end])),
        crowded=_crowded(flow, opened, start, blocks.max_live or 0),
        found=opened.found,
        kept=opened.kept,
        cuts=tuple(
            at
            for at, done in enumerate(blocks.done[1:-1])
            if before & ~done == 0 and done & ~after == 0 and done not in (before, after)
        ),
    )


def _crowded(flow: Flow, part: Opened, start: int, max_live: int) -> int | None:
    """Count the places inside a part where more tensors would cross than may."""
    listed = downsets(needs_of(flow, part.units), most=MOST_DOWNSETS)
    if listed is None:
        return None
    before = (1 << start) - 1
    places = (before | sum(part.units[at] for at in members(one)) for one in listed[1:-1])
    return sum(len(flow.crossing(done)) > max_live for done in places)


def _no_cuts(
    flow: Flow, blocks: Blocks, found: Sequence[int], index: int, part: Opened
) -> Iterator[NoCut]:
    """Explain each two neighbouring units of a part that are apart at no place."""
    for first, second in pairwise(part.units):
        if _apart(first, second, blocks.done):
            continue
        left_out = _apart(first, second, found)
        places = left_out or [_least(flow, first, part), _most(flow, second, part)]
        values = min(map(flow.crossing, places), key=_burden)
        yield NoCut(
            block=index,
            after=_name(_nodes(flow, first)),
            before=_name(_nodes(flow, second)),
            tensors=tuple(map(crossing, values)),
            reason=(
                f"left out, as the network has more than {MOST_PLACES} places"
                if left_out
                else _reason(values, blocks.max_live or 0)
            ),
        )


def _apart(first: int, second: int, places: Iterable[int]) -> list[int]:
    """Return the places where a unit has run and another has not."""
    return [done for done in places if not first & ~done and not second & done]


def _least(flow: Flow, unit: int, part: Opened) -> int:
    """Return the smallest set of nodes that have run when a unit has."""
    return _start(part) | unit | _all_before(flow, unit, part)


def _most(flow: Flow, unit: int, part: Opened) -> int:
    """Return the largest set of nodes of the network up to this part that can run before a unit."""
    later = [one for one in part.units if one == unit or unit & _all_before(flow, one, part)]
    return (_start(part) | sum(part.units)) & ~sum(later)


def _all_before(flow: Flow, unit: int, part: Opened) -> int:
    needed = 0
    for number in members(unit):
        needed |= flow.before[number]
    return sum(one for one in part.units if one != unit and one & needed)


def _start(part: Opened) -> int:
    first = min(unit & -unit for unit in part.units)
    return first - 1


def _burden(values: Sequence[ir.Value]) -> tuple[int, int]:
    tensors = list(map(crossing, values))
    return len(tensors), sum(tensor.bytes or 0 for tensor in tensors)


def _reason(values: Sequence[ir.Value], max_live: int) -> str:
    if len(values) > max_live:
        return f"{len(values)} tensors would cross"
    if not is_legal(values, max_live=max_live):
        return "one of them was dequantized just before, or cannot be handed over"
    return "the branches around make too many combinations to look through"


def _nodes(flow: Flow, some: int) -> list[ir.Node]:
    return [flow.nodes[number] for number in members(some)]


def _name(nodes: Sequence[ir.Node]) -> str:
    return next((node for node in nodes if is_main(node)), nodes[0]).name or ""
