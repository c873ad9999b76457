"""Write blocks of a network as an ONNX model of their own."""

from evener.errors import InputError
from evener.network.blocks import Blocks
from evener.network.flow import members
from evener.network.graph import between, initialisers, live_nodes, reads
from evener.network.model import Network
from evener.network.proto import model_proto
from evener.network.rejoin import rejoined
from evener.network.state import State, states_within


def segment_model(
    network: Network, blocks: Blocks, first: int, last: int, *, passing: bool = False
) -> bytes:
    """Write blocks `first` to `last` as a serialised ONNX model with static shapes.

    Tensors keep their names. Its inputs are those of the first block and its outputs those of the
    last, in their order, but for tensors that only pass by: it neither reads nor answers them
    unless asked to, as a stage hands them on itself. Then come the states that it keeps. Constants
    that other blocks read too are copied. The same blocks give the same bytes.

    Args:
        network: what was cut.
        blocks: how it was cut.
        first: index of the first block, from 0.
        last: index of the last block, included.
        passing: whether it is to answer the tensors that it only passes on too.

    Raises:
        InputError: there are no such blocks, or no part of the network runs between these cuts.
        InvalidNetworkError: the segment exceeds the 2 GiB that an ONNX message can hold.
    """
    count = len(blocks.blocks)
    if not 0 <= first <= last < count:
        raise InputError(
            f"'{network.name}' has blocks 0 to {count - 1}, and {first} to {last} are asked for"
        )
    if not blocks.form_segment(first, last):
        raise InputError(
            f"blocks {first} to {last} of '{network.name}' are no segment: some nodes that run "
            f"before block {first} only run after block {last}. Take cuts of which each is behind "
            "the one before: see evener plan NET --granularity node --explain"
        )
    inputs = [network.value(tensor.name) for tensor in blocks.blocks[first].inputs]
    outputs = [network.value(tensor.name) for tensor in blocks.blocks[last].outputs]
    states = segment_states(network, blocks, first, last)
    old = [network.value(state.input.name) for state in states]
    new = [network.value(state.output.name) for state in states]
    nodes = between(network.model.graph, set(inputs), [*outputs, *new])
    if not passing:
        read = {value for node in nodes for value in reads(node)}
        passed = set(inputs) & set(outputs)
        inputs = [value for value in inputs if value in read or value not in passed]
        outputs = [value for value in outputs if value not in passed]
    nodes = rejoined(nodes, [*outputs, *new])
    content: bytes = model_proto(
        nodes,
        inputs=[*inputs, *old],
        outputs=list(dict.fromkeys([*outputs, *new])),  # a new state may cross the cut as well
        initialisers=initialisers(nodes, outputs),
        opsets=network.model.opset_imports,
        name=f"{network.name}-{first}-{last}",
    ).SerializeToString()
    return content


def segment_states(network: Network, blocks: Blocks, first: int, last: int) -> tuple[State, ...]:
    """List the states that blocks `first` to `last` keep from frame to frame."""
    if blocks.done:
        alive = live_nodes(network.model.graph)
        ran = members(blocks.done[last + 1] & ~blocks.done[first])
        return states_within(network.states, [alive[number] for number in ran])
    names = {name for part in blocks.nodes[first : last + 1] for name in part}
    nodes = [node for node in network.model.graph if node.name in names]
    return states_within(network.states, nodes)


def whole_model(network: Network) -> bytes:
    """Write the whole network as a serialised ONNX model with static shapes.

    Raises:
        InvalidNetworkError: it exceeds the 2 GiB that an ONNX message can hold.
    """
    graph = network.model.graph
    nodes = rejoined(tuple(graph), graph.outputs)
    content: bytes = model_proto(
        nodes,
        inputs=graph.inputs,
        outputs=graph.outputs,
        initialisers=initialisers(nodes, graph.outputs),
        opsets=network.model.opset_imports,
        name=network.name,
    ).SerializeToString()
    return content
