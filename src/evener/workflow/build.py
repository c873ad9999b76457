"""The whole flow as one function: from a project's dataset to a plan that meets its requirements.

Every step is run once per inputs and kept (`steps.py`); the steps are in `learn.py` and
`deliver.py`.
"""

from pathlib import Path

import msgspec

from evener.artifacts.card import Card
from evener.artifacts.plan import Plan
from evener.artifacts.project import FILE_NAME, load_project
from evener.artifacts.requirements import Verdict
from evener.workflow.deliver import Delivery
from evener.workflow.final import check_ranks
from evener.workflow.learn import Learning
from evener.workflow.opened import Progress
from evener.workflow.packages import check_packages
from evener.workflow.place import check_place
from evener.workflow.search import pool_of
from evener.workflow.steps import open_steps


class BuildResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a build came to.

    Attributes:
        verdicts: each requirement beside its measured value.
        network: the ONNX file.
        report: the page.
        ran: names of the steps that ran.
        kept: names of the steps whose results were kept.
        holds: whether every hard requirement holds.
        plan: the plan of the network.
        board: the board whose simulated processors it was judged on; None for this machine.
        card: the card of the network.
        warnings: of the search's settings, for people.
    """

    verdicts: tuple[Verdict, ...]
    network: Path
    report: Path
    ran: tuple[str, ...]
    kept: tuple[str, ...]
    holds: bool
    plan: Plan
    card: Card
    board: str | None = None
    warnings: tuple[str, ...] = ()


def build_project(
    folder: Path, *, workers: int = 1, progress: Progress | None = None
) -> BuildResult:
    """Build a project: data, search, training, profile, plan, run, verdict, report.

    A step whose inputs did not change is not run again; a build that was killed goes on where it
    was and ends in the same network.

    Args:
        folder: the project, which holds `evener.toml`.
        workers: processes that train the networks of the search.
        progress: told what is being done.

    Raises:
        InputError: the project file or its data cannot be used, or another build is running.
        MissingExtraError: a package is missing, or what starts ranks.
    """
    folder = folder.parent if folder.name == FILE_NAME else folder
    project = load_project(folder)
    check_packages()
    check_ranks(project.train)  # refused now, not after the search
    check_place(project.plan, folder)
    with open_steps(folder) as steps:
        learning = Learning(
            folder=folder,
            project=project,
            steps=steps,
            progress=progress,
            pool=pool_of(workers),
        )
        facts = learning.data()
        front = learning.search(facts)
        baselines = learning.baselines(facts)
        card = learning.train(facts, front, baselines)

        delivery = Delivery(
            learning, card, folder=folder, project=project, steps=steps, progress=progress
        )
        profile = delivery.profile()
        plan = delivery.plan(profile)
        trace = delivery.run(plan)
        comparison = delivery.compare(plan, profile)
        verdicts = delivery.judge(trace, comparison)
        delivery.report(facts, front, profile, plan, trace, comparison, verdicts)
    return BuildResult(
        verdicts=verdicts.value.verdicts,
        network=learning.network_path,
        report=delivery.report_path,
        ran=tuple(steps.ran),
        kept=tuple(steps.kept),
        holds=verdicts.value.holds,
        plan=plan.value,
        card=card.value,
        board=profile.value.machine.host if trace.value.simulated else None,
        warnings=front.value.warnings,
    )
