"""The second half of a build: from a trained network to a measured plan, verdicts and a report.

Each method is one step, kept by `steps.py`; `build.py` calls them in order.
"""

from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from evener.artifacts.card import Card
from evener.artifacts.comparison import Comparison
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
from evener.workflow.bench import compare_opened
from evener.workflow.learn import Learning, package_versions
from evener.workflow.opened import Opened, Progress, find_processors, open_network, restrict
from evener.workflow.plan import plan_live, settle_profile
from evener.workflow.run import run_opened
from evener.workflow.steps import Steps, code_version
from evener.workflow.wish import Wish

REPORT_FILE: Final = "report.html"
ROUNDS: Final = 9  # of the comparison with single, all cores and copies
LEAST_FRAMES: Final = 2000  # of the timed run; fewer test rows go round


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
    def _opened(self) -> Opened:
        """The network as it serves: one row a frame."""
        return open_network(
            str(self._learning.network_path),
            shapes={"features": (1, self._card.value.features)},
            processors=self._project.plan.named,
        )

    @cached_property
    def _frames(self) -> list[tuple[Array, ...]]:
        """The rows of the test split, one a frame."""
        features, _ = self._learning.dataset.rows("test")
        return [(row[np.newaxis],) for row in features]

    def profile(self) -> Kept[Profile]:
        """Time the network on the processors of this machine."""
        inputs = {
            "network": self._card.value.network_sha256,
            "machine": restrict(find_processors(), self._project.plan.named),
            "code": code_version("network", "profile", "runtime"),
        }
        return self._steps.step("profile", Profile, inputs, self._settled)

    def _settled(self) -> Profile:
        try:
            return settle_profile(self._opened, self._wish(), progress=self._progress).value
        except InfeasibleError:
            # No plan keeps the latency limit; the verdict will say so, by how much.
            return settle_profile(self._opened, self._wish(bounded=False)).value

    def plan(self, profile: Kept[Profile]) -> Kept[Plan]:
        """Decide where it runs; the best few plans are tried."""

        def make() -> Plan:
            try:
                return plan_live(self._opened, profile, self._wish(), progress=self._progress)
            except InfeasibleError:
                return plan_live(self._opened, profile, self._wish(bounded=False))

        inputs = {
            "profile": profile.sha256,
            "wish": self._wish(),
            "code": code_version("plan", "run"),
        }
        return self._steps.step("plan", Plan, inputs, make)

    def run(self, plan: Kept[Plan]) -> Kept[Trace]:
        """Answer the test rows through the pipeline, and time it."""

        def make() -> Trace:
            from evener.train.metrics import quality

            self._tell("answering the test rows through the pipeline")
            _, labels = self._learning.dataset.rows("test")
            answers = np.empty_like(labels)

            def on_answer(frame_id: int, outputs: tuple[Array, ...]) -> None:
                answers[frame_id % len(labels)] = outputs[0].argmax()

            result = run_opened(
                self._opened,
                plan.value,
                self._frames,
                count=max(len(labels), LEAST_FRAMES),
                on_answer=on_answer,
            )
            found = quality(labels, answers, len(self._learning.dataset.classes))
            return msgspec.structs.replace(result.trace, quality=found)

        inputs = {"plan": plan.sha256, "code": code_version("run")}
        return self._steps.step("run", Trace, inputs, make)

    def compare(self, plan: Kept[Plan], profile: Kept[Profile]) -> Kept[Comparison]:
        """Measure the plan against single, all cores and copies."""

        def make() -> Comparison:
            self._tell("measuring the plan against single, all cores and copies")
            return compare_opened(
                self._opened, plan.value, profile.value, self._frames, rounds=ROUNDS
            )

        inputs = {"plan": plan.sha256, "profile": profile.sha256, "code": code_version("run")}
        return self._steps.step("compare", Comparison, inputs, make)

    def judge(self, trace: Kept[Trace]) -> Kept[Verdicts]:
        """Hold what was measured against the requirements."""
        values = {
            "latency_p50": trace.value.latency_p50_s,
            "latency_p99": trace.value.latency_p99_s,
            "throughput": trace.value.rate_hz,
            "size": float(self._card.value.network_bytes),
            "training_time": self._card.made.took_s,
        } | (trace.value.quality or {})
        required = {one.name: values.get(one.name) for one in self._project.requirements}
        verdicts = judge(self._project.requirements, required)
        inputs = {"requirements": self._project.requirements, "values": required}
        return self._steps.step("judge", Verdicts, inputs, lambda: Verdicts(verdicts=verdicts))

    def report(
        self,
        front: Kept[Front],
        profile: Kept[Profile],
        plan: Kept[Plan],
        trace: Kept[Trace],
        comparison: Kept[Comparison],
        verdicts: Kept[Verdicts],
    ) -> Kept[Page]:
        """Write the page that shows it all."""
        parts = (front, self._card, profile, plan, trace, comparison, verdicts)

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
            )
            write_report(self.report_path, content)
            return Page(path=REPORT_FILE, sha256=file_sha256(self.report_path))

        inputs = {
            "parts": [part.sha256 for part in parts],
            "project": self._folder.resolve().name,
            "code": code_version("report"),
        }
        return self._steps.step(
            "report", Page, inputs, make, still_good=lambda page: page.whole_in(self._folder)
        )

    def _wish(self, *, bounded: bool = True) -> Wish:
        return Wish(
            objective=self._project.plan.objective,
            max_latency_s=self._project.hard_limit("latency_p99") if bounded else None,
        )

    def _tell(self, message: str, done: int = 0, total: int = 0) -> None:
        if self._progress is not None:
            self._progress(message, done, total)
