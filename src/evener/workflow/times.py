"""Find the times that a network is planned by: a board's, a file's, or this machine's to be."""

from pathlib import Path
from typing import Literal, TypedDict

import msgspec

from evener.artifacts.profile import Profile
from evener.errors import InputError
from evener.workflow.board import check_left_to_board, open_on_board
from evener.workflow.cutting import Cutting
from evener.workflow.opened import Opened, Progress
from evener.workflow.opening import Engines, open_in_precisions, open_network
from evener.workflow.paper import check_paper
from evener.workflow.precision import with_precisions
from evener.workflow.profile import load_profile, only_runtimes


class BasisChoices(TypedDict, total=False):
    """The fields of `Basis`, as keyword arguments."""

    profile: Path | None
    board: str | None
    transfers: bool


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """Where the times that a plan rests on are from.

    Attributes:
        profile: a profile file, from this or another machine; None to measure on this machine.
        board: name of a known board, or path of a board's file; its table has the times.
        transfers: whether moving a frame between the board's processors costs the stage that sends.
    """

    profile: Path | None = None
    board: str | None = None
    transfers: bool = False


def planning_times(
    net: str,
    cutting: Cutting,
    engines: Engines,
    basis: Basis,
    *,
    space: Literal["paper", "full"] = "full",
    progress: Progress | None = None,
) -> tuple[Profile, Opened | None] | Opened:
    """Find the times to plan by: those of a board or a file, or the network, to be timed here.

    Args:
        net: as for `plan_network`.
        cutting: as for `plan_network`.
        engines: as for `plan_network`.
        basis: as for `plan_network`.
        space: which plans are considered; the paper's needs three processors.
        progress: told what is being done.

    Returns:
        The profile, and the network that it is of where that itself is known; or the opened
        network.

    Raises:
        InputError: as for `plan_network`.
        InfeasibleError: this machine has too few processors for the paper's space.
    """
    if basis.board is not None:
        check_left_to_board(
            cutting,
            {
                "--profile": basis.profile,
                "--runtimes": engines.runtimes,
                "--precision": engines.precision,
            },
        )
        known = open_on_board(net, basis.board, cutting, transfers=basis.transfers).profile
        return known, None
    if basis.transfers:
        raise InputError("only a board has times of transfers: give --board with --transfers")
    if basis.profile is not None:
        # The file may be of another machine: its processors and runtimes count, not those here.
        anywhere = msgspec.structs.replace(engines, processors=None, runtimes=None)
        opened = open_in_precisions(net, cutting, anywhere, progress=progress)
        times = load_profile(basis.profile, opened).value
        return only_runtimes(times, engines.runtimes), opened
    opened = open_network(net, cutting, engines)
    if space == "paper":
        check_paper(opened)
    return with_precisions(opened, engines.precision, progress=progress)
