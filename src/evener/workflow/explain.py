"""Explain where a network may be cut, without measuring anything."""

from typing import Unpack

from evener.network.explain import Explanation, explain
from evener.network.explain_places import explain_places
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting, CuttingChoices
from evener.workflow.opened import hint_at_states


def explain_network(
    net: str, *, cutting: Cutting = Cutting(), **choices: Unpack[CuttingChoices]
) -> Explanation:
    """List the blocks and cuts of a network, and why it cannot be cut elsewhere.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        cutting: how it is read and cut.
        choices: fields of `cutting`.

    Raises:
        InputError: the network or a shape cannot be used.

    Example:
        >>> explanation = explain_network("alexnet")
        >>> len(explanation.blocks), len(explanation.cuts), explanation.no_cuts
        (8, 7, ())
    """
    (cutting,) = settle(choices, cutting)
    network = cutting.load(net)
    hint_at_states(network)
    blocks = cutting.cut(network)
    if cutting.granularity == "node":
        return explain_places(network, blocks)
    return explain(network, blocks)
