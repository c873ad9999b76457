"""What the plans of a project's networks cost, where its search needs to know that beforehand."""

from pathlib import Path
from typing import Final

from evener.artifacts.networks import Ends
from evener.artifacts.project import Project
from evener.workflow.network_cost import NetworkCost, cost_here, cost_on_board
from evener.workflow.opened import Progress
from evener.workflow.place import path_of
from evener.workflow.search_setup import OF_PLANS

_TIMES: Final = frozenset({"throughput", "latency_p50", "latency_p99", "energy"})


def planned_cost(
    project: Project, folder: Path, ends: Ends, progress: Progress | None
) -> NetworkCost | None:
    """Return what says what a network's best plan comes to; None where nothing asks for it.

    It is asked for where the search is to make it small, and on a board also where a hard
    requirement limits it. On this machine such a limit alone is no reason to measure a cost model:
    the build measures the chosen network itself.

    Args:
        project: its search, plan and requirements.
        folder: the project, which a board's file is relative to.
        ends: what networks stand between.
        progress: told what is being measured.

    Raises:
        InputError: no such board.
    """
    plan = project.plan
    limited = any(one.hard and one.name in _TIMES for one in project.requirements)
    wanted = project.search.cost in OF_PLANS
    if plan.board is not None and (wanted or limited):
        return cost_on_board(
            path_of(plan.board, folder),
            ends,
            requirements=project.requirements,
            objective=plan.objective,
            processors=plan.named,
        )
    if wanted:
        return cost_here(
            ends,
            requirements=project.requirements,
            objective=plan.objective,
            processors=plan.named,
            progress=progress,
        )
    return None
