"""What the plans of a project's networks cost, where its search needs to know that beforehand."""

from pathlib import Path

from evener.artifacts.networks import Ends
from evener.artifacts.project import Project
from evener.workflow.network_cost import NetworkCost, cost_here, cost_on_board
from evener.workflow.opened import Progress
from evener.workflow.place import path_of
from evener.workflow.search_setup import OF_PLANS


def planned_cost(
    project: Project, folder: Path, ends: Ends, progress: Progress | None
) -> NetworkCost | None:
    """Return what says what a network's best plan comes to; None where nothing asks for it.

    It is asked for where the search is to make it small. Then hard requirements on rate, latency
    and energy are limits too, which networks are held to before they are trained. A requirement
    alone is none: where no network keeps it, a build says by how much it is missed.

    Args:
        project: its search, plan and requirements.
        folder: the project, which a board's file is relative to.
        ends: what networks stand between.
        progress: told what is being measured.

    Raises:
        InputError: no such board.
    """
    if OF_PLANS.keys().isdisjoint(project.search.costs):
        return None
    plan = project.plan
    if plan.board is not None:
        return cost_on_board(
            path_of(plan.board, folder),
            ends,
            requirements=project.requirements,
            objective=plan.objective,
            processors=plan.named,
        )
    return cost_here(
        ends,
        requirements=project.requirements,
        objective=plan.objective,
        processors=plan.named,
        progress=progress,
    )
