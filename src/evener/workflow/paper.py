"""The paper's space of three stages on three processors: count its plans, or refuse it."""

from typing import Unpack

from evener.errors import InfeasibleError
from evener.plan.count import paper_configurations
from evener.plan.problem import PAPER_STAGES
from evener.workflow.board import open_on_board
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting, CuttingChoices
from evener.workflow.opened import Opened


def count_plans(
    net: str,
    *,
    cutting: Cutting = Cutting(),
    board: str | None = None,
    **choices: Unpack[CuttingChoices],
) -> tuple[int, int]:
    """Count the cut points of a network and its plans in the paper's space, whatever the machine.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        cutting: how it is read and cut.
        board: a board whose table names the network and its parts.
        choices: fields of `cutting`.

    Returns:
        N cut points, and C(N,2)·3! plans of three non-empty stages on three processors; by the rule
        "node" fewer, as only nested cuts follow each other.

    Example:
        >>> count_plans("squeezenet")
        (18, 918)
    """
    (cutting,) = settle(choices, cutting)
    if board is not None:
        points = len(open_on_board(net, board, cutting).profile.blocks) - 1
        return points, paper_configurations(points)
    blocks = cutting.cut(cutting.load(net))
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
