"""What the plans of a project's networks cost, where its search needs to know that beforehand."""

from pathlib import Path
from typing import Final

from evener.artifacts.networks import Ends
from evener.artifacts.project import Project
from evener.workflow.network_cost import NetworkCost, cost_here, cost_on_board
from evener.workflow.opened import Progress
from evener.workflow.place import path_of
from evener.workflow.search_setup import OF_PLANS

_LIMITED: Final = ("throughput", "latency_p50", "latency_p99", "energy")  # that are of a plan


def planned_cost(
    project: Project, folder: Path, ends: Ends, progress: Progress | None
) -> NetworkCost | None:
    """Return what says what a network's best plan comes to; None where nothing asks for it.

    It is asked for where the search is to make it small, and of a board, whose cost model is there,
    also where a hard requirement limits it. Then hard requirements on rate, latency and energy are
    limits which networks are held to before they are trained. On this machine a requirement alone
    is none, as nothing is known before a model is measured: a build says by how much it is missed.

    Args:
        project: its search, plan and requirements.
        folder: the project, which a board's file is relative to.
        ends: what networks stand between.
        progress: told what is being measured.

    Raises:
        InputError: no such board.
    """
    plan = project.plan
    sought = not OF_PLANS.keys().isdisjoint(project.search.costs)
    if plan.board is not None and (sought or _limits_plans(project)):
        return cost_on_board(
            path_of(plan.board, folder),
            ends,
            requirements=project.requirements,
            objective=plan.objective,
            processors=plan.named,
        )
    if not sought:
        return None
    return cost_here(
        ends,
        requirements=project.requirements,
        objective=plan.objective,
        processors=plan.named,
        progress=progress,
    )


def _limits_plans(project: Project) -> bool:
    return any(project.hard_limit(name) is not None for name in _LIMITED)
