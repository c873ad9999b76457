"""Cut a network where a single tensor holds all that the rest needs.

Rule "strict": between two neighbouring articulation tensors lies a segment. A segment without a
convolution or a product with weights joins the one before it, a leading one the first that has
some, so that each cut stands just before the next such node, mostly after a pool, where the tensor
is smallest. Rule "paper" is the rule by which Pipe-All counts: the closing run of reshapes and
softmax is also a block of its own if what feeds it is no such node.

By either rule, what lies between the nodes that touch a state is in one block (see `state.py`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import onnx_ir as ir

from evener.artifacts.profile import Block, Granularity
from evener.artifacts.tensor import Tensor
from evener.errors import InputError
from evener.network.cost import is_main, macs, weights_bytes
from evener.network.graph import as_tensor, crossings, live_nodes
from evener.network.model import Network
from evener.network.state import holding, names_of, states_within

Cut = tuple[Tensor, ...]
"""The tensors that cross it; by both rules one."""

_HEAD: Final = frozenset(
    {"Reshape", "Flatten", "Squeeze", "Softmax", "LogSoftmax", "Identity", "Dropout"}
)


@dataclass(frozen=True)
class Blocks:
    """A network cut into blocks.

    Attributes:
        granularity: the rule.
        blocks: what each block is, in order.
        nodes: names of the nodes of each block, in order; nodes that only make constants are in
            none, and go with whatever reads them.
    """

    granularity: Granularity
    blocks: tuple[Block, ...]
    nodes: tuple[tuple[str, ...], ...]

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The cuts in order: one fewer than blocks."""
        return tuple(block.outputs for block in self.blocks[:-1])


def cut_into_blocks(network: Network, granularity: Granularity) -> Blocks:
    """Cut a network at every legal place of a rule.

    Args:
        network: what to cut.
        granularity: the rule, see the module.

    Raises:
        InputError: the rule is "table", by which a board's table was cut.
        InvalidNetworkError: the cost of a node depends on the data.

    Example:
        >>> from evener.network.model import load_network
        >>> len(cut_into_blocks(load_network("squeezenet"), "paper").cuts)
        18
    """
    if granularity == "table":
        raise InputError(
            f"{network.name} cannot be cut into the parts of a board's table, which name no nodes: "
            "a plan made with --board predicts what the board would reach and cannot be run. Plan "
            "the network without --board"
        )
    graph = network.model.graph
    nodes = live_nodes(graph)
    states = network.states
    held = {index for span in holding(graph, states) for index in span[:-1]}
    cuts = {
        index: tuple(tensor for tensor in map(as_tensor, values) if tensor)
        for index, values in enumerate(crossings(graph, kept=names_of(states))[:-1])
        if _is_legal(values) and index not in held
    }
    ends = _merge(nodes, sorted(cuts))
    if granularity == "paper":
        ends = _set_head_apart(nodes, ends, cuts)
    parts = [nodes[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    crossed = [network.inputs, *(cuts[end - 1] for end in ends[:-1]), network.outputs]
    return Blocks(
        granularity=granularity,
        blocks=tuple(
            _block(part, inputs, outputs, stateful=bool(states_within(states, part)))
            for part, inputs, outputs in zip(parts, crossed, crossed[1:], strict=False)
        ),
        nodes=tuple(tuple(node.name or "" for node in part) for part in parts),
    )


def _is_legal(values: tuple[ir.Value, ...]) -> bool:
    """Whether a network may be cut where these values are alive.

    Before a DequantizeLinear the same numbers take a quarter of the bytes: never cut after one.
    """
    if len(values) != 1 or as_tensor(values[0]) is None:
        return False
    producer = values[0].producer()
    return producer is not None and producer.op_type != "DequantizeLinear"


def _merge(nodes: Sequence[ir.Node], articulations: Sequence[int]) -> list[int]:
    """Return the end of each block by the strict rule."""
    ends: list[int] = []
    start = 0
    has_main = False
    for end in [*(index + 1 for index in articulations), len(nodes)]:
        if any(is_main(node) for node in nodes[start:end]):
            if has_main:
                ends.append(start)
            has_main = True
        start = end
    return [*ends, len(nodes)]


def _set_head_apart(nodes: Sequence[ir.Node], ends: list[int], cuts: dict[int, Cut]) -> list[int]:
    """Make the closing run of views and softmax a block, unless a main node feeds it."""
    start = len(nodes)
    while start > 0 and nodes[start - 1].op_type in _HEAD and not nodes[start - 1].domain:
        start -= 1
    last = ends[-2] if len(ends) > 1 else 0
    holds_main = any(is_main(node) for node in nodes[last:start])
    if start == len(nodes) or not holds_main or start - 1 not in cuts or is_main(nodes[start - 1]):
        return ends
    return [*ends[:-1], start, len(nodes)]


def _block(
    nodes: Sequence[ir.Node],
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    *,
    stateful: bool,
) -> Block:
    main = next((node for node in nodes if is_main(node)), nodes[0])
    return Block(
        name=main.name or "",
        operators=dict(sorted(Counter(node.op_type for node in nodes).items())),
        macs=sum(map(macs, nodes)),
        weights_bytes=weights_bytes(nodes),
        inputs=inputs,
        outputs=outputs,
        stateful=stateful,
    )
