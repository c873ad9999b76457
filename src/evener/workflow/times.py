"""Find the times that a network is planned by: a board's, a file's, or this machine's to be."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from evener.artifacts.profile import Granularity, Profile
from evener.errors import InputError
from evener.workflow.board import open_on_board
from evener.workflow.opened import Fixed, Opened, Progress, Shapes, States, open_network
from evener.workflow.paper import check_paper
from evener.workflow.precision import PrecisionWish, with_precisions
from evener.workflow.profile import load_profile, only_runtimes


def planning_times(
    net: str,
    *,
    granularity: Granularity,
    max_live: int | None,
    space: Literal["paper", "full"],
    processors: Sequence[str] | None,
    runtimes: Sequence[str] | None,
    shapes: Shapes | None,
    fixed: Fixed | None,
    states: States | None,
    profile: Path | None,
    board: str | None,
    transfers: bool,
    precision: PrecisionWish | None,
    progress: Progress | None,
) -> tuple[Profile, Opened | None] | Opened:
    """Find the times to plan by: those of a board or a file, or the network, to be timed here.

    The arguments are those of `plan_network`, and so are the errors.

    Returns:
        The profile, and the network that it is of where that itself is known; or the opened
        network.
    """
    if board is not None:
        others = {
            "max-live": max_live,
            "profile": profile,
            "runtimes": runtimes,
            "precision": precision,
        }
        given = [f"--{name}" for name, other in others.items() if other is not None]
        if granularity != "paper":
            given.insert(0, "--granularity")
        if given:
            raise InputError(
                "a board's table has times of its own, for parts and runtimes of its own: give "
                f"--board, or {', '.join(given)}"
            )
        known = open_on_board(
            net, board, transfers=transfers, shapes=shapes, fixed=fixed, states=states
        ).profile
        return known, None
    if transfers:
        raise InputError("only a board has times of transfers: give --board with --transfers")
    if profile is not None:
        # The file may be of another machine: its processors and runtimes count, not those here.
        opened = open_network(
            net,
            granularity=granularity,
            max_live=max_live,
            shapes=shapes,
            fixed=fixed,
            states=states,
        )
        opened = with_precisions(opened, precision, progress=progress)
        return only_runtimes(load_profile(profile, opened).value, runtimes), opened
    opened = open_network(
        net,
        granularity=granularity,
        max_live=max_live,
        shapes=shapes,
        fixed=fixed,
        states=states,
        processors=processors,
        runtimes=runtimes,
    )
    if space == "paper":
        check_paper(opened)
    return with_precisions(opened, precision, progress=progress)
