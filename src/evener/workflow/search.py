"""Search the network of a project, the first steps of a build, and say what it was worth."""

import os
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from evener.artifacts.card import Baselines
from evener.artifacts.data_edge import DataEdge
from evener.artifacts.files import load
from evener.artifacts.front import Front, Retrained, Scored
from evener.artifacts.project import FILE_NAME, Project, load_project
from evener.artifacts.search_checks import check_search
from evener.artifacts.search_section import SearchName
from evener.artifacts.search_state import SearchState
from evener.comm.pools import process_pool
from evener.errors import InvalidFileError
from evener.workflow.chunks import Here, Pool
from evener.workflow.energy_asked import check_energy_asked
from evener.workflow.learn import Learning
from evener.workflow.opened import Progress
from evener.workflow.packages import check_packages
from evener.workflow.recommend import Recommended, recommend
from evener.workflow.steps import open_steps

_WORKERS: Final = 8  # more pay only for large populations


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A network of the front.

    Attributes:
        id: of the network.
        network: what it is, for people.
        validation: quality after the short training of the search.
        retrained: the same, trained in full, the mean over seeds; None if it was not.
        test: quality on the test split then; nothing was chosen by it.
        macs: multiply-accumulates per prediction.
        weights: how many numbers it holds.
        costs: what the search made small beside the error, by name, in SI units.
        chosen: whether it is the one to train.
    """

    id: str
    network: str
    validation: float
    retrained: float | None
    test: float | None
    macs: int
    weights: int
    costs: dict[str, float]
    chosen: bool


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a search came to.

    Attributes:
        metric: what quality is.
        best: the best on the validation split, after the short training.
        test: of the chosen network trained in full, the mean over seeds; None if time was up.
        baselines: the same of what the search is held against, by name.
        recommended: what is best on the validation split: the chosen network, or a simple model.
        evaluations: trainings that the search made; of one network there may be several.
        elapsed_s: how long it took, in seconds, the trials of random search included.
        full_s: of these, how long training in full took.
        simple_s: how long fitting the simple models took beside it.
        front: networks than which no other is both better and cheaper, the cheapest in the first
            cost first.
        found: all of it.
        kept: whether it had been searched before, with all the same.
        probe_s: how long measuring λ_c of the data took, beside it; 0 where nobody asked.
    """

    metric: str
    best: float
    test: float | None
    baselines: dict[str, float]
    recommended: Recommended
    evaluations: int
    elapsed_s: float
    full_s: float
    simple_s: float
    front: tuple[Member, ...]
    found: Front
    kept: bool
    probe_s: float = 0.0


def search_project(
    folder: Path,
    *,
    algorithm: SearchName | None = None,
    budget: str | None = None,
    workers: int = 1,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> SearchResult:
    """Search the network of a project: data, search, and the simple models beside it.

    Args:
        folder: the project, which holds `evener.toml`.
        algorithm: in place of the project's.
        budget: likewise, such as "10 min".
        workers: processes that train networks.
        pool: makes the processes, where they are no others of this machine.
        progress: told what is being done.

    Raises:
        InputError: the project file or its data cannot be used, or another build is running.
        MissingExtraError: a package is missing.
    """
    folder = folder.parent if folder.name == FILE_NAME else folder
    project = _changed(load_project(folder), algorithm, budget)
    check_packages()
    check_energy_asked(project, folder)
    with open_steps(folder) as steps:
        learning = Learning(
            folder=folder,
            project=project,
            steps=steps,
            progress=progress,
            pool=pool or pool_of(workers),
        )
        facts = learning.data()
        front = learning.search(facts)
        baselines = learning.baselines(facts)
        return _result(
            front.value,
            baselines.value,
            spent_s=_spent(steps.folder) or (front.made.took_s, 0.0),
            simple_s=baselines.made.took_s,
            kept="search" in steps.kept,
            probe_s=0.0 if front.value.edge is None else _probe_s(steps.folder),
            size_bytes=project.hard_limit("size"),
        )


def workers_here() -> int:
    """Return how many processes train by default: one for each core that this one may use."""
    return min(len(os.sched_getaffinity(0)), _WORKERS)


def pool_of(workers: int) -> Pool:
    """Return what makes so many processes; this one alone for one."""
    return Here if workers == 1 else partial(_processes, workers)


def _processes(workers: int) -> AbstractContextManager[Executor]:
    return process_pool(workers)


def _changed(project: Project, algorithm: SearchName | None, budget: str | None) -> Project:
    given = {"algorithm": algorithm, "budget": budget}
    new = {name: value for name, value in given.items() if value is not None}
    section = msgspec.structs.replace(project.search, **new)
    check_search(section)
    return msgspec.structs.replace(project, search=section)


def _result(
    front: Front,
    baselines: Baselines,
    *,
    spent_s: tuple[float, float],
    simple_s: float,
    kept: bool,
    probe_s: float,
    size_bytes: float | None,
) -> SearchResult:
    by_id = {one.score.id: one for one in front.scored}
    members = tuple(_member(front, by_id[id_]) for id_ in front.front)
    chosen = front.retrained_of(front.chosen)
    names = {"random": "random search", "fixed": "fixed network"}
    tests = {names[one.of]: one.test_quality for one in front.retrained if one.of in names}
    simple = {one.name: one.test[front.metric] for one in baselines.models}
    return SearchResult(
        metric=front.metric,
        best=max(one.validation for one in members),
        test=_test(chosen),
        baselines=tests | simple,
        recommended=recommend(front, baselines, size_bytes=size_bytes),
        evaluations=max([len(front.scored), *(one.evaluations for one in front.generations[-1:])]),
        elapsed_s=spent_s[0],
        full_s=spent_s[1],
        simple_s=simple_s,
        front=members,
        found=front,
        kept=kept,
        probe_s=probe_s,
    )


def _member(front: Front, one: Scored) -> Member:
    full = front.retrained_of(one.score.id)
    return Member(
        id=one.score.id,
        network=str(one.architecture),
        validation=one.score.quality or 0.0,
        retrained=None if full is None else full.quality,
        test=_test(full),
        macs=one.score.macs,
        weights=one.score.weights,
        costs=dict(zip(front.costs, one.objectives[1:], strict=True)),
        chosen=one.score.id == front.chosen,
    )


def _test(full: Retrained | None) -> float | None:
    return None if full is None else full.test_quality


def _probe_s(state: Path) -> float:
    return load(state / f"{DataEdge.kind}.json", DataEdge).made.took_s


def _spent(state: Path) -> tuple[float, float] | None:
    try:
        kept = load(state / f"{SearchState.kind}.json", SearchState)
    except InvalidFileError:
        return None
    return kept.made.took_s, kept.value.full_s
