"""State: outputs of one frame that are inputs of the next, as a recurrent network has them.

ONNX does not say which output feeds which input; who opens a network does. A state is no part of a
frame or an answer. Before the first frame it is zero. The nodes that read it and the node that
makes its new value stay in one stage, which keeps it: nothing is ever handed back to an earlier
stage, so that frames follow each other as closely as without.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import onnx_ir as ir

from evener.artifacts.tensor import Tensor
from evener.errors import InvalidNetworkError
from evener.hints import did_you_mean
from evener.network.graph import as_tensor, live_nodes, reads

# What exporters add to a name to tell the old value from the new one: h and hn, h_in and h_out.
_MARK: Final = re.compile(r"[_.]?(in|out|new|next|prev|n|0)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class State:
    """A value that is handed from frame to frame.

    Attributes:
        input: where a frame reads it.
        output: where the frame before wrote it.
    """

    input: Tensor
    output: Tensor


def find_states(graph: ir.Graph, named: Mapping[str, str]) -> tuple[State, ...]:
    """Check which outputs are said to feed which inputs.

    Args:
        graph: one with static shapes.
        named: name of the input by name of the output.

    Returns:
        The states, in the order given.

    Raises:
        InvalidNetworkError: no such output or input, an input that two outputs feed, another
            shape or type, a state that no node reads or makes, or no input or output is left.
    """
    inputs = {value.name or "": value for value in graph.inputs}
    outputs = {value.name or "": value for value in graph.outputs}
    states: list[State] = []
    for output, input_ in named.items():
        _check_known(output, outputs, "output")
        _check_known(input_, inputs, "input")
        made, read = as_tensor(outputs[output]), as_tensor(inputs[input_])
        if made is None or read is None or (made.shape, made.dtype) != (read.shape, read.dtype):
            raise InvalidNetworkError(
                f"the state '{output}' is {_described(made)}, and '{input_}', which it is to feed, "
                f"is {_described(read)}: both must be alike. Give the network shapes that make "
                "them so, or another pair"
            )
        if any(state.input.name == input_ for state in states):
            raise InvalidNetworkError(
                f"two states feed '{input_}', one of them '{output}': give each input one"
            )
        states.append(State(read, made))
    for left, what, fed in ((inputs, "input", "fed"), (outputs, "output", "kept")):
        if states and len(left) == len(states):
            raise InvalidNetworkError(
                f"every {what} is {fed} from frame to frame ({', '.join(left)}), so that a frame "
                f"would have no {what}: leave one out of the states"
            )
    places = _places(live_nodes(graph), states, graph)
    for state, (readers, makers) in zip(states, places, strict=True):
        if not readers or not makers:
            lacks = (
                f"no node reads '{state.input.name}'"
                if not readers
                else f"no node that depends on a frame or a state makes '{state.output.name}'"
            )
            raise InvalidNetworkError(
                f"the state '{state.output.name}={state.input.name}' carries nothing from frame to "
                f"frame: {lacks}. Leave it out"
            )
    return tuple(states)


def likely_states(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> dict[str, str]:
    """Guess which outputs feed which inputs: alike, and called alike but for a mark of old or new.

    Args:
        inputs: what a network reads.
        outputs: what it answers.

    Returns:
        Name of the input by name of the output; empty if no input or output would be left.

    Example:
        >>> x, h = (Tensor(name=name, shape=(1, 4), dtype="float32") for name in ("x", "h"))
        >>> y, hn = (Tensor(name=name, shape=(1, 4), dtype="float32") for name in ("y", "hn"))
        >>> likely_states([x, h], [y, hn])
        {'hn': 'h'}
    """
    found = {
        made.name: read.name
        for made in outputs
        for read in inputs
        if (made.shape, made.dtype) == (read.shape, read.dtype)
        and made.name != read.name
        and _MARK.sub("", made.name) == _MARK.sub("", read.name)
    }
    one_each = len(set(found.values())) == len(found)
    some_left = len(found) < min(len(inputs), len(outputs))
    return found if one_each and some_left else {}


def gather(graph: ir.Graph, states: Sequence[State]) -> None:
    """Reorder nodes so that those which touch a state stand together, in place.

    What is made of old states alone comes as late as it can; what only makes new ones comes as
    early as it can once a state was read.

    Args:
        graph: its nodes in topological order, as they are again afterwards.
        states: its states.
    """
    if not states:
        return
    nodes = tuple(graph)
    place = {node: index for index, node in enumerate(nodes)}
    old = {value for value in graph.inputs if value.name in {one.input.name for one in states}}
    new = {value for value in graph.outputs if value.name in {one.output.name for one in states}}
    of_state = _following(nodes, old)
    early = _leading_to(nodes, new) - _leading_to(nodes, set(graph.outputs) - new)
    late = of_state - _following(nodes, set(graph.inputs) - old) - early
    order: dict[ir.Node, None] = {}
    begun = False
    waiting = [node for node in nodes if node in early]
    for node in nodes:
        if node in late or node in early:
            continue
        order.update(dict.fromkeys(_with_makers(node, order, place)))
        begun = begun or not of_state.isdisjoint(order)
        if begun:
            for follower in waiting:
                if all(maker in order for maker in _makers(follower)):
                    order[follower] = None
            waiting = [follower for follower in waiting if follower not in order]
    for node in nodes:
        order.update(dict.fromkeys(_with_makers(node, order, place)))
    graph.remove(nodes)
    graph.extend(order)


def _with_makers(
    node: ir.Node, done: Collection[ir.Node], place: Mapping[ir.Node, int]
) -> list[ir.Node]:
    """List a node behind all that it needs and that is not done yet."""
    needed: set[ir.Node] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one not in needed and one not in done:
            needed.add(one)
            waiting.extend(_makers(one))
    return sorted(needed, key=place.__getitem__)


def holding(graph: ir.Graph, states: Sequence[State]) -> tuple[range, ...]:
    """For each state, where it is touched first to last: positions among the live nodes.

    A cut may stand before or behind them, and not within.
    """
    return tuple(
        range(min(readers + makers), max(readers + makers) + 1)
        for readers, makers in _places(live_nodes(graph), states, graph)
    )


def states_within(states: Sequence[State], nodes: Iterable[ir.Node]) -> tuple[State, ...]:
    """Return the states that some nodes read, in order."""
    read = {value.name for node in nodes for value in reads(node) if value.is_graph_input()}
    return tuple(state for state in states if state.input.name in read)


def names_of(states: Iterable[State]) -> frozenset[str]:
    """Name the inputs and outputs that states are."""
    return frozenset(name for one in states for name in (one.input.name, one.output.name))


def _places(
    nodes: Sequence[ir.Node], states: Sequence[State], graph: ir.Graph
) -> list[tuple[list[int], list[int]]]:
    """For each state, which nodes read it and which make its new value."""
    inputs = {value.name: value for value in graph.inputs}
    outputs = {value.name: value for value in graph.outputs}
    return [
        (
            [i for i, node in enumerate(nodes) if inputs[state.input.name] in reads(node)],
            [i for i, node in enumerate(nodes) if outputs[state.output.name] in node.outputs],
        )
        for state in states
    ]


def _following(nodes: Iterable[ir.Node], values: Iterable[ir.Value]) -> set[ir.Node]:
    alive = set(values)
    found = set()
    for node in nodes:
        if any(value in alive for value in reads(node)):
            alive.update(node.outputs)
            found.add(node)
    return found


def _leading_to(nodes: Sequence[ir.Node], values: Iterable[ir.Value]) -> set[ir.Node]:
    wanted = set(values)
    found = set()
    for node in reversed(nodes):
        if any(value in wanted for value in node.outputs):
            wanted.update(reads(node))
            found.add(node)
    return found


def _makers(node: ir.Node) -> list[ir.Node]:
    makers = (value.producer() for value in reads(node))
    return [maker for maker in makers if maker is not None]


def _check_known(name: str, known: Mapping[str, ir.Value], what: str) -> None:
    if name not in known:
        hint = did_you_mean(name, known)
        raise InvalidNetworkError(
            f"a state names the {what} '{name}', which the network has not; {hint}"
            f"{what}s: {', '.join(known)}"
        )


def _described(tensor: Tensor | None) -> str:
    return "of unknown shape" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"
