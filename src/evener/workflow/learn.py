"""The first half of a build: from rows to a trained network and its card.

Each method is one step, kept by `steps.py`; `build.py` calls them in order.
"""

import shutil
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evener.artifacts.architecture import Architecture
from evener.artifacts.card import Baseline, Baselines, Card
from evener.artifacts.dataset import MAIN_METRIC, DatasetFacts
from evener.artifacts.files import Kept, digest, file_sha256, write_whole
from evener.artifacts.front import Front
from evener.artifacts.layer_graph import Spread
from evener.artifacts.networks import Network, chain_of, topology_of
from evener.artifacts.project import Project
from evener.artifacts.requirements import check_metrics
from evener.artifacts.search_state import SearchState
from evener.errors import InvalidProjectError
from evener.workflow.before_refit import before_refit, with_quality
from evener.workflow.chunks import Crew, Here, Pool
from evener.workflow.code import SEARCH_CODE, TRAIN_CODE
from evener.workflow.facts import facts_of, sources_of
from evener.workflow.final import Task, fit_final
from evener.workflow.opened import Progress
from evener.workflow.packages import package_versions
from evener.workflow.probing import probe_data, with_edge
from evener.workflow.recommend import Recommended, recommend
from evener.workflow.search_cost import planned_cost
from evener.workflow.searching import Searching, Wanted
from evener.workflow.steps import Steps, code_version

if TYPE_CHECKING:
    from evener.data.dataset import Dataset

NETWORK_FILE: Final = "network.onnx"
_CHECKPOINTS: Final = "training"
_KEY: Final = 16  # letters of a folder's name


class Learning:
    """The steps of a build that need rows; loads them only if a step runs.

    Attributes:
        network_path: where the trained network lies.
    """

    def __init__(
        self,
        *,
        folder: Path,
        project: Project,
        steps: Steps,
        progress: Progress | None,
        pool: Pool = Here,
    ) -> None:
        self.network_path = steps.folder / NETWORK_FILE
        self._folder = folder
        self._project = project
        self._steps = steps
        self._progress = progress
        self._pool = pool

    @cached_property
    def dataset(self) -> "Dataset":
        """The rows, read at the first need."""
        from evener.data.load import load_dataset

        return load_dataset(self._project.data, self._folder)

    def data(self) -> Kept[DatasetFacts]:
        """Read, check and split the rows."""

        def make() -> DatasetFacts:
            self._tell("reading the data")
            return facts_of(self.dataset)

        inputs = {
            "section": self._project.data,
            "source": sources_of(self._project.data, self._folder),
            "code": code_version("data"),
        }
        facts = self._steps.step("data", DatasetFacts, inputs, make)
        check_metrics(self._project.requirements, facts.value.task)
        self._check_training(facts.value)
        return facts

    def search(self, facts: Kept[DatasetFacts]) -> Kept[Front]:
        """Evolve networks, train the best in full, and choose one."""
        wanted = self._wanted(facts.value)
        edge = probe_data(
            self._steps, wanted.section, facts.value.sha256, lambda: self.dataset, self._progress
        )
        planned = planned_cost(self._project, self._folder, wanted.ends, self._progress)
        rows_and_code = {
            "data": facts.value.sha256,
            "code": code_version(*SEARCH_CODE),
            "packages": package_versions(),
        }
        inputs = rows_and_code | {
            "wanted": wanted,
            "planned": None if planned is None else planned.depends_on,
            "edge": None if edge is None else edge.sha256,
        }

        def make() -> Front:
            from evener.train.trials import Rows

            rows = Rows(
                str(self._folder), self._project.data, facts.value.sha256, loaded=self.dataset
            )
            crew: Crew[Any, Any] = Crew(self._pool)
            with crew:
                front = Searching(
                    wanted,
                    rows,
                    path=self._steps.folder / f"{SearchState.kind}.json",
                    inputs=rows_and_code,
                    crew=crew,
                    planned=planned,
                    tell=self._progress,
                ).run()
            return with_edge(front, edge)

        return self._steps.step("search", Front, inputs, make)

    def _wanted(self, facts: DatasetFacts) -> Wanted:
        section = self._project.search
        if self._project.train.sharded:
            section = section.in_row
        return Wanted(
            section=section,
            train=self._project.train.plain.chooses,
            ends=facts.ends,
            metric=MAIN_METRIC[facts.task],
            quality=self._project.hard_limit(MAIN_METRIC[facts.task]),
            size_bytes=self._project.hard_limit("size"),
        )

    def baselines(self, facts: Kept[DatasetFacts]) -> Kept[Baselines]:
        """Fit the simple models that the network is held against."""

        def make() -> Baselines:
            from evener.train.baselines import fit_baselines

            self._tell("fitting a linear model, a forest and boosted trees")
            train = self._project.train
            models = fit_baselines(self.dataset, seed=train.seed, class_weight=train.class_weight)
            return Baselines(models=models)

        inputs = {
            "data": facts.value.sha256,
            "seed": self._project.train.seed,
            "class_weight": self._project.train.class_weight,
            "code": code_version("train"),
            "packages": package_versions(),
        }
        return self._steps.step("baselines", Baselines, inputs, make)

    def train(
        self, facts: Kept[DatasetFacts], front: Kept[Front], baselines: Kept[Baselines]
    ) -> Kept[Card]:
        """Train the chosen architecture, write it as ONNX, and check the file."""
        architecture = front.value.architecture
        topology = topology_of(architecture)
        section = self._project.train.of(topology)
        spread = self._spread(architecture)
        # A topology of the project is another network than the search has trained in full.
        searched = section.refit and (topology is not None or not section.sharded)
        before, unpruned = before_refit(front.value) if searched else ({}, {})
        size_bytes = self._project.hard_limit("size")
        best = recommend(front.value, baselines.value, size_bytes=size_bytes)
        simple = None
        if section.deliver == "recommended":
            simple = next((one for one in baselines.value.models if one.name == best.family), None)
        inputs = {
            "data": facts.value.sha256,
            "architecture": architecture,
            "spread": spread,
            "before": before,
            "unpruned": unpruned,
            "recommended": best,
            "simple": None if simple is None else (simple.name, size_bytes),
            "section": section.network,
            "sharded": section.sharded,
            "baselines": baselines.sha256,
            "code": code_version(*TRAIN_CODE),
            "packages": package_versions(),
        }

        def make() -> Card:
            if simple is not None:
                return self._train_simple(simple, baselines, best, size_bytes)
            if section.sharded:
                return self._train_shards(
                    Task(
                        folder=str(self._folder),
                        data=self._project.data,
                        sha256=facts.value.sha256,
                        architecture=chain_of(architecture),
                        section=section,
                        checkpoints=str(self._steps.folder / _CHECKPOINTS / digest(inputs)[:_KEY]),
                        spread=None if topology is None else spread,
                    ),
                    baselines,
                    best,
                    before,
                )
            from evener.train.card import make_card
            from evener.train.export import export_onnx
            from evener.train.fit import train_network
            from evener.train.verify import verify_export
            from evener.workflow.pruning import shrink

            trained = train_network(
                architecture,
                self.dataset,
                section,
                spread=spread,
                on_epoch=lambda epoch, _loss: self._tell_epoch(architecture, epoch),
                shrink=shrink,
            )
            self._tell("writing and checking the network")
            content = export_onnx(trained)
            error = verify_export(content, trained, self.dataset)
            write_whole(self.network_path, content)
            return make_card(
                trained,
                self.dataset,
                content,
                export_error=error,
                baselines=baselines.value.models,
                before=before,
                recommended=best,
                pruned=with_quality(trained.pruned, unpruned),
            )

        card = self._steps.step(
            "train",
            Card,
            inputs,
            make,
            still_good=lambda card: (
                self.network_path.is_file()
                and file_sha256(self.network_path) == card.network_sha256
            ),
        )
        if (stopped := self._steps.folder / _CHECKPOINTS).is_dir():  # of this training or others
            shutil.rmtree(stopped)
        return card

    def _train_simple(
        self, before: Baseline, baselines: Kept[Baselines], best: Recommended, size: float | None
    ) -> Card:
        """Train the simple model that is recommended, and write it in the network's place."""
        from evener.train.card import make_card
        from evener.train.simple import fit_simple

        self._tell(f"training the model '{before.name}', which is recommended")
        fitted = fit_simple(before, self.dataset, self._project.train, size_bytes=size)
        write_whole(self.network_path, fitted.content)
        return make_card(
            fitted,
            self.dataset,
            fitted.content,
            export_error=fitted.export_error,
            baselines=baselines.value.models,
            recommended=best,
        )

    def _train_shards(
        self, task: Task, baselines: Kept[Baselines], best: Recommended, before: dict[str, float]
    ) -> Card:
        """Train by shards, from the checkpoint of a build that was stopped, if there is one."""
        from evener.train.card import make_card

        kept = Path(task.checkpoints)
        for other in kept.parent.glob("*"):
            if other.name != kept.name:  # of another training
                shutil.rmtree(other)
        held = () if self._steps.lock is None else (self._steps.lock,)
        told = partial(self._tell_epoch, task.architecture)
        fitted = fit_final(task, self.dataset, held=held, on_epoch=told)
        write_whole(self.network_path, fitted.content)
        return make_card(
            fitted,
            self.dataset,
            fitted.content,
            export_error=fitted.export_error,
            baselines=baselines.value.models,
            before=before,
            recommended=best,
            topology=None if fitted.topology.dense else fitted.topology,
        )

    def _spread(self, network: Network) -> Spread | None:
        if isinstance(network, Architecture):
            return None
        from evener.workflow.search_setup import spread_of

        return spread_of(network, self._project.search)

    def _check_training(self, facts: DatasetFacts) -> None:
        """Refuse a training that rows are not made for, before any network is tried."""
        train = self._project.train
        if train.sharded or self._project.search.shards:
            from evener.train.sharded_fit import check_task

            check_task(facts)
        if train.dropout:
            from evener.workflow.block_search import picture_of_blocks

            if picture_of_blocks(self._project.search, facts.ends) is not None:
                raise InvalidProjectError(
                    f"train.dropout = {train.dropout} is for layers, and networks of pictures are "
                    'blocks of convolutions: leave it out, or write search.networks = "layers"',
                    key="train.dropout",
                )
        if train.shift or train.mirror:
            from evener.train.fit import augmentation_of

            augmentation_of(train, facts)

    def _tell_epoch(self, network: Network, epoch: int) -> None:
        train = self._project.train
        rows = " and ".join(train.learned_from)
        self._tell(f"training {network} on {rows} rows", epoch, train.passes)

    def _tell(self, message: str, done: int = 0, total: int = 0) -> None:
        if self._progress is not None:
            self._progress(message, done, total)
