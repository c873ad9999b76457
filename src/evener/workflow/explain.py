"""Explain where a network may be cut, without measuring anything."""

from evener.artifacts.profile import Granularity
from evener.network.blocks import cut_into_blocks
from evener.network.explain import Explanation, explain
from evener.network.explain_places import explain_places
from evener.network.model import load_network
from evener.workflow.opened import Fixed, Shapes, States, hint_at_states


def explain_network(
    net: str,
    *,
    granularity: Granularity = "paper",
    max_live: int | None = None,
    shapes: Shapes | None = None,
    fixed: Fixed | None = None,
    states: States | None = None,
) -> Explanation:
    """List the blocks and cuts of a network, and why it cannot be cut elsewhere.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        granularity: rule by which it is cut.
        max_live: most tensors that cross a cut, by the rule "node"; None for 2.
        shapes: static shapes of the inputs that leave some size open, by input name.
        fixed: a number for each input that is to be constant, by input name.
        states: for each output that is an input of the next frame, the input, by output name.

    Raises:
        InputError: the network or a shape cannot be used.

    Example:
        >>> explanation = explain_network("alexnet")
        >>> len(explanation.blocks), len(explanation.cuts), explanation.no_cuts
        (8, 7, ())
    """
    network = load_network(net, shapes=shapes, fixed=fixed, states=states)
    hint_at_states(network)
    blocks = cut_into_blocks(network, granularity, max_live=max_live)
    return explain_places(network, blocks) if granularity == "node" else explain(network, blocks)
