"""Cut a network into blocks, by one of three rules.

Rule "strict" cuts where a single tensor holds all that the rest needs, an articulation: between two
neighbouring ones lies a segment. A segment without a
convolution or a product with weights joins the one before it, a leading one the first that has
some, so that each cut stands just before the next such node, mostly after a pool, where the tensor
is smallest. Rule "paper" is the rule by which Pipe-All counts: the closing run of reshapes and
softmax is also a block of its own if what feeds it is no such node.

Rule "node" also cuts where a few tensors cross: at the places of `places.py`, which need not follow
each other as the nodes run. Block k is then the step from place k to place k+1, place 0 being the
inputs, and blocks i to j are the segment that runs from place i to place j+1. There is one only if
all that ran before place i also ran before place j+1. So whoever plans a chain of such segments
plans over every sequence of nested downsets of the graph (Tarnawski et al., NeurIPS 2020).

By any rule, what lies between the nodes that touch a state is in one block (see `state.py`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final

import onnx_ir as ir

from evener.artifacts.profile import Block, Granularity
from evener.artifacts.tensor import Tensor
from evener.errors import InputError
from evener.network.cost import is_main, macs, weights_bytes
from evener.network.flow import flow_of, members
from evener.network.graph import as_tensor, crossings, live_nodes
from evener.network.model import Network
from evener.network.places import Opened, find_places, is_legal
from evener.network.state import holding, names_of, states_within

Cut = tuple[Tensor, ...]
"""The tensors that cross it; by the rules "strict" and "paper" one."""

MAX_LIVE: Final = 2
"""Most tensors that cross a cut by the rule "node", unless more are asked for."""

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
            none, and go with whatever reads them. By the rule "node" those that have run at the
            place after the block and not at that before it.
        max_live: most tensors that cross a cut, by the rule "node"; None by the other rules.
        done: by the rule "node" the set of nodes that ran before each place, first and last
            included; bit n stands for the n-th node of the network that depends on an input.
        opened: by the rule "node" what became of each block of the rule "paper".
    """

    granularity: Granularity
    blocks: tuple[Block, ...]
    nodes: tuple[tuple[str, ...], ...]
    max_live: int | None = None
    done: tuple[int, ...] = ()
    opened: tuple[Opened, ...] = ()

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The cuts in order: one fewer than blocks."""
        return tuple(block.outputs for block in self.blocks[:-1])

    def form_segment(self, first: int, last: int) -> bool:
        """Return whether blocks `first` to `last` are a part that runs between two cuts.

        By the rules "strict" and "paper" all are; by the rule "node" see the module.
        """
        return not self.done or not self.done[first] & ~self.done[last + 1]

    def segment_nodes(self, first: int, last: int) -> tuple[str, ...]:
        """Return the names of the nodes of blocks `first` to `last`, which form a segment."""
        if not self.done:
            return tuple(chain.from_iterable(self.nodes[first : last + 1]))
        steps = zip(pairwise(self.done), self.nodes, strict=True)
        names = {
            number: name
            for (before, after), added in steps
            for number, name in zip(members(after & ~before), added, strict=True)
        }
        ran = self.done[last + 1] & ~self.done[first]
        return tuple(names[number] for number in members(ran))


def cut_into_blocks(
    network: Network, granularity: Granularity, *, max_live: int | None = None
) -> Blocks:
    """Cut a network at every legal place of a rule.

    Args:
        network: what to cut.
        granularity: the rule, see the module.
        max_live: by the rule "node" most tensors that may cross a cut; 2 if None.

    Raises:
        InputError: the rule is "table", by which a board's table was cut; or `max_live` is below 1
            or given for another rule than "node".
        InvalidNetworkError: the cost of a node depends on the data.

    Example:
        >>> from evener.network.model import load_network
        >>> len(cut_into_blocks(load_network("squeezenet"), "paper").cuts)
        18
        >>> len(cut_into_blocks(load_network("squeezenet"), "node").cuts)
        26
    """
    _check_max_live(granularity, max_live)
    if granularity == "table":
        raise InputError(
            f"{network.name} cannot be cut into the parts of a board's table, which name no nodes: "
            "a plan made with --board predicts what the board would reach and cannot be run here: "
            "give --board to run it on simulated processors, or plan without it"
        )
    graph = network.model.graph
    nodes = live_nodes(graph)
    states = network.states
    held = {index for span in holding(graph, states) for index in span[:-1]}
    cuts = {
        index: tuple(tensor for tensor in map(as_tensor, values) if tensor)
        for index, values in enumerate(crossings(graph, kept=names_of(states))[:-1])
        if is_legal(values, max_live=1) and index not in held
    }
    ends = _merge(nodes, sorted(cuts))
    if granularity != "strict":
        ends = _set_head_apart(nodes, ends, cuts)
    if granularity == "node":
        return _by_places(network, ends, MAX_LIVE if max_live is None else max_live)
    parts = [nodes[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    crossed = [network.inputs, *(cuts[end - 1] for end in ends[:-1]), network.outputs]
    return Blocks(
        granularity=granularity,
        blocks=tuple(
            _block(part, inputs, outputs, states=len(states_within(states, part)))
            for part, inputs, outputs in zip(parts, crossed, crossed[1:], strict=False)
        ),
        nodes=tuple(tuple(node.name or "" for node in part) for part in parts),
    )


def _check_max_live(granularity: Granularity, max_live: int | None) -> None:
    if max_live is None:
        return
    if granularity != "node":
        raise InputError(
            f"by the rule '{granularity}' one tensor crosses each cut, and {max_live} are allowed: "
            "take the granularity 'node', or leave --max-live out"
        )
    if max_live < 1:
        raise InputError(f"{max_live} tensors cannot cross a cut: --max-live is at least 1")


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


def _by_places(network: Network, ends: list[int], max_live: int) -> Blocks:
    """Cut by the rule "node"; what each step adds is such that it adds up over every segment."""
    flow = flow_of(network.model.graph, network.states)
    places = find_places(flow, ends, max_live=max_live)
    done = (0, *(place.done for place in places.inner), flow.everything)
    crossed = [network.inputs, *(place.tensors for place in places.inner), network.outputs]
    units = [unit for part in places.opened for unit in part.units]
    sizes = {unit: weights_bytes(flow.nodes[number] for number in members(unit)) for unit in units}

    def nodes(some: int) -> list[ir.Node]:
        return [flow.nodes[number] for number in members(some)]

    def kept(some: int) -> int:
        return len(states_within(network.states, nodes(some)))

    def step(before: int, after: int, inputs: Cut, outputs: Cut) -> Block:
        added, undone = after & ~before, before & ~after
        operators = Counter(node.op_type for node in nodes(added))
        operators.subtract(node.op_type for node in nodes(undone))
        return Block(
            name=_name(nodes(added)),
            operators={name: count for name, count in sorted(operators.items()) if count},
            macs=sum(map(macs, nodes(added))) - sum(map(macs, nodes(undone))),
            weights_bytes=sum(
                sizes[unit] * (bool(unit & added) - bool(unit & undone)) for unit in units
            ),
            inputs=inputs,
            outputs=outputs,
            states=kept(added) - kept(undone),
        )

    return Blocks(
        granularity="node",
        blocks=tuple(map(step, done, done[1:], crossed, crossed[1:])),
        nodes=tuple(
            tuple(node.name or "" for node in nodes(after & ~before))
            for before, after in pairwise(done)
        ),
        max_live=max_live,
        done=done,
        opened=places.opened,
    )


def _name(nodes: Sequence[ir.Node]) -> str:
    main = next((node for node in nodes if is_main(node)), nodes[0])
    return main.name or ""


def _block(
    nodes: Sequence[ir.Node],
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    *,
    states: int,
) -> Block:
    return Block(
        name=_name(nodes),
        operators=dict(sorted(Counter(node.op_type for node in nodes).items())),
        macs=sum(map(macs, nodes)),
        weights_bytes=weights_bytes(nodes),
        inputs=inputs,
        outputs=outputs,
        states=states,
    )
