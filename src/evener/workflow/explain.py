"""Explain where a network may be cut, without measuring anything."""

from typing import Unpack

import msgspec

from evener.network.blocks import cut_into_blocks
from evener.network.explain import Explanation, explain
from evener.network.explain_parts import explain_names, explain_parts
from evener.network.explain_places import explain_places
from evener.workflow.board import OnBoard, open_on_board
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting, CuttingChoices
from evener.workflow.opened import hint_at_states


def explain_network(
    net: str,
    *,
    cutting: Cutting = Cutting(),
    board: str | None = None,
    **choices: Unpack[CuttingChoices],
) -> Explanation:
    """List the blocks and cuts of a network, and why it cannot be cut elsewhere.

    Args:
        net: path of an ONNX file, or name of a built-in network; with a board also the name of a
            network in the board's table.
        cutting: how it is read and cut.
        board: name of a known board, or path of a board's file: the blocks are then those that
            plans for it are made of, the parts of its table where that has the network.
        choices: fields of `cutting`.

    Raises:
        InputError: the network, a shape or the board cannot be used.

    Example:
        >>> explanation = explain_network("alexnet")
        >>> len(explanation.blocks), len(explanation.cuts), explanation.no_cuts
        (8, 7, ())
        >>> [one.reason for one in explain_network("googlenet", board="khadas-vim3").no_cuts][:2]
        ['both were timed as one part', '2 tensors would cross']
    """
    (cutting,) = settle(choices, cutting)
    if board is not None:
        return _explain_on_board(open_on_board(net, board, cutting))
    network = cutting.load(net)
    hint_at_states(network)
    blocks = cutting.cut(network)
    if cutting.granularity == "node":
        return explain_places(network, blocks)
    return explain(network, blocks)


def _explain_on_board(found: OnBoard) -> Explanation:
    if found.network is None or found.blocks is None:
        explanation = explain_names(found.profile.network, found.profile.blocks)
    elif found.blocks.granularity == "table":
        blocks = cut_into_blocks(found.network, "paper")
        explanation = explain_parts(found.network, blocks, found.blocks)
    else:
        explanation = explain(found.network, found.blocks)
    return msgspec.structs.replace(explanation, board=found.board.name)
