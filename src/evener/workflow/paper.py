"""The paper's space of three stages on three processors: count its plans, or refuse it."""

from evener.artifacts.profile import Granularity
from evener.errors import InfeasibleError
from evener.network.blocks import cut_into_blocks
from evener.network.model import load_network
from evener.plan.count import paper_configurations
from evener.plan.problem import PAPER_STAGES
from evener.workflow.board import open_on_board
from evener.workflow.opened import Fixed, Opened, Shapes, States


def count_plans(
    net: str,
    *,
    granularity: Granularity = "paper",
    max_live: int | None = None,
    shapes: Shapes | None = None,
    fixed: Fixed | None = None,
    states: States | None = None,
    board: str | None = None,
) -> tuple[int, int]:
    """Count the cut points of a network and its plans in the paper's space, whatever the machine.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        granularity: rule by which it is cut.
        max_live: most tensors that cross a cut, by the rule "node"; None for 2.
        shapes: static shapes of the inputs that leave some size open, by input name.
        fixed: a number for each input that is to be constant, by input name.
        states: for each output that is an input of the next frame, the input, by output name.
        board: a board whose table names the network and its parts.

    Returns:
        N cut points, and C(N,2)·3! plans of three non-empty stages on three processors; by the rule
        "node" fewer, as only nested cuts follow each other.

    Example:
        >>> count_plans("squeezenet")
        (18, 918)
    """
    if board is not None:
        points = (
            len(open_on_board(net, board, shapes=shapes, fixed=fixed, states=states).profile.blocks)
            - 1
        )
        return points, paper_configurations(points)
    network = load_network(net, shapes=shapes, fixed=fixed, states=states)
    blocks = cut_into_blocks(network, granularity, max_live=max_live)
    return len(blocks.cuts), paper_configurations(len(blocks.cuts), blocks.form_segment)


def check_paper(opened: Opened) -> None:
    """Refuse the paper's space on a machine of fewer than three processors, before measuring.

    Raises:
        InfeasibleError: too few processors; the text still counts the plans.
    """
    found = len(opened.machine.processors)
    if found < PAPER_STAGES:
        points = len(opened.blocks.cuts)
        plans = paper_configurations(points, opened.blocks.form_segment)
        raise InfeasibleError(
            f"the space 'paper' puts {PAPER_STAGES} stages on {PAPER_STAGES} processors, and "
            f"{opened.machine.host} has {found}; {opened.network.name} has {points} cut points, "
            f"which make {plans} such plans. Take the space 'full', or "
            "--profile of a machine with more processors",
            needed=PAPER_STAGES,
            available=found,
        )
