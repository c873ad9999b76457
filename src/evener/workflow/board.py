"""Open a network on a board that need not be at hand: what it is cut into, and what that costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evener.artifacts.board import Board, load_board
from evener.artifacts.profile import Profile
from evener.errors import InputError
from evener.network.blocks import Blocks
from evener.network.light import FILES
from evener.network.model import Network
from evener.plan.board import board_blocks, board_profile
from evener.workflow.cutting import Cutting


@dataclass(frozen=True, slots=True)
class OnBoard:
    """A network on a board.

    Attributes:
        board: the board.
        profile: what the network costs there.
        network: the network itself; None where only the board's table knows it.
        blocks: what the profile's blocks are made of, to be run; None as above.
    """

    board: Board
    profile: Profile
    network: Network | None
    blocks: Blocks | None


def open_on_board(
    net: str, board: str, cutting: Cutting = Cutting(), *, transfers: bool = False
) -> OnBoard:
    """Say what a network costs on a board.

    A name in the board's table has the times of the table, and the built-in network of that name,
    if there is one, has its blocks. Any other network is looked for in the table by what its blocks
    compute, and else estimated by the board's cost model.

    Args:
        net: name of a network of the table or of a built-in one, or path of an ONNX file.
        board: name of a known board, or path of a board's file.
        cutting: how the network is read; what it is cut into is the table's.
        transfers: whether moving a frame between two processors costs the stage that sends.

    Raises:
        InputError: no such board or network, or the board cannot say what the network costs; or it
            is to be cut by another rule.

    Example:
        >>> opened = open_on_board("googlenet", "khadas-vim3")
        >>> len(opened.profile.blocks), opened.profile.blocks[1].operators["Conv"]
        (11, 2)
    """
    check_left_to_board(cutting)
    found = load_board(board)
    if net in found.networks:
        return _in_table(found, net, cutting, transfers=transfers)
    if net not in FILES and not Path(net).exists():
        raise InputError(
            f"the board {found.name} has no times of '{net}', and there is no file and no built-in "
            f"network of that name. Its table has {', '.join(sorted(found.networks))}; built in "
            f"are {', '.join(FILES)}; or give the path of an ONNX file"
        )
    network = cutting.load(net)
    profile = board_profile(found, network, transfers=transfers)
    return OnBoard(found, profile, network, board_blocks(found, network)[1])


def check_left_to_board(cutting: Cutting, others: Mapping[str, object] | None = None) -> None:
    """Refuse what a board's table decides.

    Args:
        cutting: how a network is to be read and cut.
        others: further choices by the name of their option; None where nothing was chosen.

    Raises:
        InputError: a rule for cuts, or one of the others, is given.
    """
    given = [name for name, other in (others or {}).items() if other is not None]
    if cutting.max_live is not None:
        given.insert(0, "--max-live")
    if cutting.granularity != "paper":
        given.insert(0, "--granularity")
    if given:
        raise InputError(
            "a board's table has times of its own, for parts and runtimes of its own: give "
            f"--board, or {', '.join(given)}"
        )


def _in_table(board: Board, net: str, cutting: Cutting, *, transfers: bool) -> OnBoard:
    if net in FILES and board.timed(net).blocks:
        network = cutting.load(net)
        profile = board_profile(board, network, transfers=transfers, table=net)
        return OnBoard(board, profile, network, board_blocks(board, network, table=net)[1])
    if cutting.shapes or cutting.fixed or cutting.states:
        raise InputError(
            f"the board {board.name} was measured with shapes of its own of {net}: leave --shape, "
            "--fix and --state out, or give the path of an ONNX file"
        )
    return OnBoard(board, board_profile(board, net, transfers=transfers), None, None)
