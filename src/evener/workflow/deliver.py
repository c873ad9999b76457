"""The second half of a build: from a trained network to a measured plan, verdicts and a report.

Each method is one step, kept by `steps.py`; `build.py` calls them in order.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import numpy as np

from evener.artifacts.card import Card
from evener.artifacts.comparison import Comparison
from evener.artifacts.dataset import DatasetFacts
from evener.artifacts.files import Kept, file_sha256
from evener.artifacts.front import Front
from evener.artifacts.page import Page
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.project import Project
from evener.artifacts.requirements import Verdicts, judge
from evener.artifacts.trace import Trace
from evener.errors import InfeasibleError
from evener.runtime.session import Array
from evener.workflow.code import COMPARE_CODE, PLAN_CODE, RUN_CODE
from evener.workflow.learn import Learning
from evener.workflow.opened import Progress
from evener.workflow.packages import package_versions
from evener.workflow.place import Place, place_of
from evener.workflow.steps import Steps, code_version
from evener.workflow.wish import Wish

REPORT_FILE: Final = "report.html"
Found = TypeVar("Found")


class Delivery:
    """The steps of a build that need a trained network; opens it only if a step runs.

    Attributes:
        report_path: where the page is written.
    """

    def __init__(
        self,
        learning: Learning,
        card: Kept[Card],
        *,
        folder: Path,
        project: Project,
        steps: Steps,
        progress: Progress | None,
    ) -> None:
        self.report_path = folder / REPORT_FILE
        self._learning = learning
        self._card = card
        self._folder = folder
        self._project = project
        self._steps = steps
        self._progress = progress

    @cached_property
    def _place(self) -> Place:
        """Where the network is to serve, one row a frame."""
        return place_of(
            self._project.plan,
            self._folder,
            self._learning.network_path,
            {"features": (1, self._card.value.features)},
        )

    @cached_property
    def _frames(self) -> list[tuple[Array, ...]]:
        """The rows of the test split, one a frame."""
        features, _ = self._learning.dataset.examples("test")
        return [(row[np.newaxis],) for row in features]

    def profile(self) -> Kept[Profile]:
        """Say how long the network takes where it is to serve."""

        def make() -> Profile:
            return self._within_limits(lambda wish: self._place.profile(wish, self._progress))

        inputs = {"network": self._card.value.network_sha256, **self._place.depends_on}
        return self._steps.step("profile", Profile, inputs, make)

    def plan(self, profile: Kept[Profile]) -> Kept[Plan]:
        """Decide where it runs."""

        def make() -> Plan:
            return self._within_limits(lambda wish: self._place.plan(profile, wish, self._progress))

        inputs = {
            "profile": profile.sha256,
            "wish": self._wish(self._limits),
            "processors": self._project.plan.named,
            "code": code_version(*PLAN_CODE),
        }
        return self._steps.step("plan", Plan, inputs, make)

    def run(self, plan: Kept[Plan]) -> Kept[Trace]:
        """Answer the test rows through the pipeline, and say how quickly."""

        def make() -> Trace:
            from evener.train.metrics import quality

            self._tell("answering the test rows through the pipeline")
            dataset = self._learning.dataset
            _, targets = dataset.examples("test")
            answers = np.empty_like(targets)

            def on_answer(frame_id: int, outputs: tuple[Array, ...]) -> None:
                answers[frame_id % len(targets)] = outputs[0].ravel()

            trace = self._place.run(plan.value, self._frames, on_answer)
            found = quality(dataset.task, targets, answers)
            return msgspec.structs.replace(trace, quality=found)

        inputs = {"plan": plan.sha256, "code": code_version(*RUN_CODE)}
        return self._steps.step("run", Trace, inputs, make)

    def compare(self, plan: Kept[Plan], profile: Kept[Profile]) -> Kept[Comparison]:
        """Hold the plan against single, all cores and copies."""

        def make() -> Comparison:
            self._tell("comparing the plan with single, all cores and copies")
            return self._place.compare(plan.value, profile.value, self._frames)

        inputs = {
            "plan": plan.sha256,
            "profile": profile.sha256,
            "code": code_version(*COMPARE_CODE),
        }
        return self._steps.step("compare", Comparison, inputs, make)

    def judge(self, trace: Kept[Trace], comparison: Kept[Comparison]) -> Kept[Verdicts]:
        """Hold what was measured against the requirements.

        Energy is what the comparison metered of the plan; of a board it is the plan's.
        """
        [row] = (one for one in comparison.value.rows if one.kind == "plan")
        values = {
            "latency_p50": trace.value.latency_p50_s,
            "latency_p99": trace.value.latency_p99_s,
            "throughput": trace.value.rate_hz,
            "energy": row.energy_j,
            "size": float(self._card.value.network_bytes),
            "training_time": self._card.made.took_s,
        } | (trace.value.quality or {})
        required = {one.name: values.get(one.name) for one in self._project.requirements}
        verdicts = judge(self._project.requirements, required)
        inputs = {"requirements": self._project.requirements, "values": required}
        return self._steps.step("judge", Verdicts, inputs, lambda: Verdicts(verdicts=verdicts))

    def report(
        self,
        facts: Kept[DatasetFacts],
        front: Kept[Front],
        profile: Kept[Profile],
        plan: Kept[Plan],
        trace: Kept[Trace],
        comparison: Kept[Comparison],
        verdicts: Kept[Verdicts],
    ) -> Kept[Page]:
        """Write the page that shows it all."""
        parts = (facts, front, self._card, profile, plan, trace, comparison, verdicts)

        def make() -> Page:
            from evener.report.page import ReportContent, write_report

            self._tell("writing the report")
            content = ReportContent(
                project=self._folder.resolve().name,
                verdicts=verdicts.value.verdicts,
                front=front.value,
                card=self._card.value,
                profile=profile.value,
                plan=plan.value,
                trace=trace.value,
                comparison=comparison.value,
                versions=package_versions() | profile.value.machine.runtimes,
                training_s=self._card.made.took_s,
                notes=facts.value.notes,
            )
            write_report(self.report_path, content)
            return Page(path=REPORT_FILE, sha256=file_sha256(self.report_path))

        inputs = {
            "parts": [part.sha256 for part in parts],
            "project": self._folder.resolve().name,
            "code": code_version("report", "artifacts/card.py"),
        }
        return self._steps.step(
            "report", Page, inputs, make, still_good=lambda page: page.whole_in(self._folder)
        )

    @cached_property
    def _limits(self) -> dict[str, float]:
        """The hard requirements that a plan can be held to, by the name that `Wish` has for it."""
        limits = {"max_latency_s": self._project.hard_limit("latency_p99")}
        if self._project.plan.objective in ("latency", "energy"):  # others are as quick as may be
            limits["min_rate_hz"] = self._project.hard_limit("throughput")
        if self._place.knows_energy:
            limits["max_energy_j"] = self._project.hard_limit("energy")
        return {name: limit for name, limit in limits.items() if limit is not None}

    def _within_limits(self, find: Callable[[Wish], Found]) -> Found:
        """Find what keeps as many limits as can be kept; the verdict says by how much others miss.

        Raises:
            InfeasibleError: nothing is found without any limit either.
        """
        limits = tuple(self._limits.items())
        for count in range(len(limits), 0, -1):
            for kept in combinations(limits, count):
                try:
                    return find(self._wish(dict(kept)))
                except InfeasibleError:
                    continue
        return find(self._wish({}))

    def _wish(self, limits: Mapping[str, float]) -> Wish:
        return msgspec.structs.replace(Wish(objective=self._project.plan.objective), **limits)

    def _tell(self, message: str, done: int = 0, total: int = 0) -> None:
        if self._progress is not None:
            self._progress(message, done, total)
