"""Explain where a network may be cut, and between two main layers why it may not.

Main layers are convolutions and products with weights; two that follow each other in the order of
the nodes are either apart by a cut or in one block. In one block they are there because at every
place between them more than one tensor is alive, or one that cannot be handed over, or because a
state is kept there.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

import msgspec
import onnx_ir as ir

from evener.artifacts.profile import Block
from evener.artifacts.tensor import Tensor
from evener.network.blocks import Blocks
from evener.network.cost import is_main
from evener.network.graph import as_tensor, crossings, live_nodes
from evener.network.model import Network
from evener.network.places import is_normalised_sum
from evener.network.state import holding, names_of


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """A tensor that is alive at a place.

    Attributes:
        name: its name in the network.
        bytes: what it takes; None if it cannot be handed over.
    """

    name: str
    bytes: int | None


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A place where the network may be cut.

    Attributes:
        after_block: index of the block before it, from 0: the cut's name.
        tensors: what crosses it.
    """

    after_block: int
    tensors: tuple[Crossing, ...]


class NoCut(msgspec.Struct, frozen=True, kw_only=True):
    """Two neighbouring main layers that no cut can part.

    Attributes:
        block: index of the block that holds both; by the rule "node" that of the part.
        after: name of the first.
        before: name of the second.
        tensors: what would cross at the best place between them: fewest tensors, then bytes.
        reason: why that place is no cut.
    """

    block: int
    after: str
    before: str
    tensors: tuple[Crossing, ...]
    reason: str


class OpenedPart(msgspec.Struct, frozen=True, kw_only=True):
    """By the rule "node", what became of a block of the rule "paper".

    Attributes:
        part: its index, from 0.
        units: names of the main nodes that stay together with the nodes around them, in order.
        macs: multiply-accumulates per frame.
        crowded: at how many further places inside it too many tensors would cross; None where
            there are too many to count.
        found: at how many places inside it the network may be cut.
        kept: how many of them are cuts; fewer if there are too many for planning.
        cuts: these, each by the index of the block before it.
    """

    part: int
    units: tuple[str, ...]
    macs: int
    crowded: int | None
    found: int
    kept: int
    cuts: tuple[int, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a network may be cut, and where not.

    Attributes:
        network: its name.
        granularity: the rule.
        blocks: what lies between the cuts, in order.
        cuts: in order; one fewer than blocks.
        no_cuts: in order.
        max_live: most tensors that cross a cut, by the rule "node"; None by the other rules.
        parts: by the rule "node", what became of the blocks of the rule "paper", in order.
        board: the board whose parts the blocks are; None for the rule alone.
        opaque: whether nothing is known of the blocks but their order, nor of what crosses a cut.
    """

    network: str
    granularity: str
    blocks: tuple[Block, ...]
    cuts: tuple[Cut, ...]
    no_cuts: tuple[NoCut, ...]
    max_live: int | None = None
    parts: tuple[OpenedPart, ...] = ()
    board: str | None = None
    opaque: bool = False


def explain(network: Network, blocks: Blocks) -> Explanation:
    """Explain how a network was cut.

    Args:
        network: what was cut.
        blocks: how it was cut.

    Example:
        >>> from evener.network.blocks import cut_into_blocks
        >>> from evener.network.model import load_network
        >>> squeezenet = load_network("squeezenet")
        >>> first = explain(squeezenet, cut_into_blocks(squeezenet, "paper")).no_cuts[0]
        >>> first.reason
        '2 tensors would cross'
    """
    graph = network.model.graph
    nodes = live_nodes(graph)
    alive = crossings(graph, kept=names_of(network.states))
    held = {index for span in holding(graph, network.states) for index in span[:-1]}
    block_of = {name: index for index, names in enumerate(blocks.nodes) for name in names}
    main = [index for index, node in enumerate(nodes) if is_main(node)]
    return Explanation(
        network=network.name,
        granularity=blocks.granularity,
        blocks=blocks.blocks,
        cuts=tuple(
            Cut(after_block=index, tensors=tuple(map(_handed_over, tensors)))
            for index, tensors in enumerate(blocks.cuts)
        ),
        no_cuts=tuple(
            _no_cut(nodes, alive, block_of, held, first, second)
            for first, second in pairwise(main)
            if block_of[nodes[first].name or ""] == block_of[nodes[second].name or ""]
        ),
    )


def crossing(value: ir.Value) -> Crossing:
    """Describe a value that is alive at a place."""
    tensor = as_tensor(value)
    return Crossing(name=value.name or "", bytes=None) if tensor is None else _handed_over(tensor)


def _no_cut(
    nodes: Sequence[ir.Node],
    alive: Sequence[tuple[ir.Value, ...]],
    block_of: Mapping[str, int],
    held: Collection[int],
    first: int,
    second: int,
) -> NoCut:
    places = [tuple(map(crossing, values)) for values in alive[first:second]]
    best = min(
        range(len(places)), key=lambda place: (first + place in held, *_burden(places[place]))
    )
    return NoCut(
        block=block_of[nodes[first].name or ""],
        after=nodes[first].name or "",
        before=nodes[second].name or "",
        tensors=places[best],
        reason=_reason(alive[first + best], within_state=first + best in held),
    )


def _burden(tensors: Sequence[Crossing]) -> tuple[int, int]:
    return len(tensors), sum(tensor.bytes or 0 for tensor in tensors)


def _reason(values: tuple[ir.Value, ...], *, within_state: bool) -> str:
    if within_state:
        return "a state that one frame hands to the next is kept in one stage"
    if len(values) != 1:
        return f"{len(values)} tensors would cross"
    if as_tensor(values[0]) is None:
        return "its shape depends on the data, or its elements are of a type that numpy lacks"
    if is_normalised_sum(values[0]):
        return "it is a sum that is computed as one with the normalisation behind it"
    return "it was dequantized just before, and is four times as large as what it was"


def _handed_over(tensor: Tensor) -> Crossing:
    return Crossing(name=tensor.name, bytes=tensor.size_bytes)
