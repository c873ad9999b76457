"""Refuse a project that weighs energies which nobody will know, before anything is timed."""

import json
from pathlib import Path
from typing import Final

from evener.artifacts.board import load_board
from evener.artifacts.project import Project
from evener.artifacts.requirements import METRICS
from evener.errors import InvalidProjectError
from evener.plan.board import unpowered
from evener.units import show
from evener.workflow.place import path_of
from evener.workflow.plan import metered

_BOARD: Final = "plan for a board whose file has powers (plan.board)"


def check_energy_asked(project: Project, folder: Path) -> None:
    """Check that the energies are known which a search, a plan or a hard requirement weighs.

    On this machine energies are metered, if at all, once a network runs, and never known before.

    Args:
        project: what asks for them, and says where it plans.
        folder: the project, which a board's file is relative to.

    Raises:
        InvalidProjectError: nobody will know them; it names the key, and what to write instead.
        InputError: no such board.
    """
    limit_j = project.hard_limit("energy")
    sought = "energy" in project.search.costs
    planned = project.plan.objective == "energy" and project.plan.board is not None
    if limit_j is None and not sought and not planned:
        return
    if project.plan.board is None:
        before, after, instead = (
            "nobody knows what a network draws on this machine before it runs",
            None if metered() else "nothing here measures energy",
            _BOARD,
        )
    else:
        board = load_board(path_of(project.plan.board, folder))
        missing = unpowered(board, project.plan.named)
        if not missing:
            return
        before = after = (
            f"the cost model of {board.name} has no powers of {', '.join(missing)} at some clock"
        )
        instead = "give them in its file (block_mw, input_mw), leave these processors out"
    if sought:
        raise InvalidProjectError(
            f"search.cost = {_cost(project)}, and {before}: {instead}, or {_without(project)}",
            key="search.cost",
        )
    if limit_j is not None and after is not None:
        limit = f"<= {show(limit_j, METRICS['energy'].dimension)}"
        raise InvalidProjectError(
            f"requirements.energy = '{limit}', and {after}: {instead}, or make it a wish, "
            f"'{limit} ?'",
            key="requirements.energy",
        )
    if planned and after is not None:
        raise InvalidProjectError(
            f"plan.objective = 'energy', and {after}: {instead}, or write 'throughput' or "
            "'latency'",
            key="plan.objective",
        )


def _cost(project: Project) -> str:
    """Write the costs as the project does."""
    cost = project.search.cost
    return f"'{cost}'" if isinstance(cost, str) else json.dumps(cost)


def _without(project: Project) -> str:
    """Say what to write in place of energy."""
    if "period" in project.search.costs:
        return "leave 'energy' out"
    return "write 'period' in place of 'energy'"
