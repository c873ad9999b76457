"""Open the plan that suits what is left of a machine."""

import threading
import time
from collections.abc import Callable
from typing import Final

from evener.artifacts.plan import Plan, Unit
from evener.errors import StageFailedError
from evener.run.condition import Condition, Slowdowns
from evener.run.pipeline import Pipeline
from evener.run.running import Running
from evener.run.standby import Standby

Replan = Callable[[Slowdowns], Plan | None]
"""Makes a plan for what is lost or slow, None if there is none: of the same the same."""
_REMEMBERED: Final = 64  # plans for a condition


class Plans:
    """The plans of one network on a machine whose cores may be lost or slow.

    Args:
        home: the plan that is best while nothing that it uses is lost or slow.
        open_pipeline: makes the pipeline of a plan, not yet open.
        replan: makes a plan for what is lost or slow; None if there is none.
        condition: what is known of the machine.
        standby: pipelines that are held ready; None if none are.
        clock: the time, in seconds.
    """

    def __init__(
        self,
        home: Plan,
        open_pipeline: Callable[[Plan], Pipeline],
        replan: Replan,
        *,
        condition: Condition,
        standby: Standby | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.home = home
        self._home_units = {unit for s in home.stages for lane in s.lanes for unit in lane.units}
        self._open_pipeline = open_pipeline
        self._replan = replan
        self._condition = condition
        self._standby = standby
        self._clock = clock
        self._knowing = threading.Lock()  # guards what is known; not held while a plan is made
        self._known: dict[frozenset[tuple[Unit, float]], Plan | None] = {}
        self.begin()

    def begin(self) -> None:
        """Begin a run: its losses are told if it comes to nothing."""
        self._losses: list[str] = []
        self._forgiven_at = 0

    def under(self, slowdowns: Slowdowns) -> Plan | None:
        """Return the plan for a condition: the home plan where that does not concern it."""
        if self._home_units.isdisjoint(slowdowns):
            return self.home
        key = frozenset(slowdowns.items())
        with self._knowing:
            if key in self._known:
                return self._known[key]
        plan = self._replan(slowdowns)
        with self._knowing:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = plan
        return plan

    def after(self, slowdowns: Slowdowns) -> tuple[Plan, Slowdowns]:
        """Return the plan that `open_what_is_left` opens, and what it holds for lost or slow."""
        plan = self.under(slowdowns)
        return (self.home, {}) if plan is None else (plan, slowdowns)

    def open(self, plan: Plan, planned_under: Slowdowns) -> Running:
        """Open the pipeline of a plan, or take one that is held ready.

        Raises:
            InputError, StageFailedError: see `Pipeline`.
        """
        ready = None if self._standby is None else self._standby.take(plan, planned_under)
        if ready is not None:
            return ready
        pipeline = self._open_pipeline(plan).__enter__()
        return Running(plan=plan, pipeline=pipeline, planned_under=planned_under)

    def open_any(self) -> Running:
        """Open a plan on what is not lost; if there is none, as if nothing were.

        Raises:
            InputError, StageFailedError: see `Pipeline`.
        """
        slowdowns = self._condition.slowdowns(now_s=self._clock())
        plan = self.under(slowdowns)
        if plan is not None:
            return self.open(plan, slowdowns)
        self._condition.forgive()
        return self.open(self.home, {})

    def open_what_is_left(self, failed: StageFailedError, *, emitted: int) -> Running:
        """Open a plan on what is not lost, and leave out what fails already then.

        If nothing is left, all that was lost is tried once more, provided that frames were answered
        since that was last done: what failed hours ago may do again.

        Args:
            failed: why it is needed; its lane is lost already.
            emitted: how many frames of the run were answered.

        Raises:
            StageFailedError: nothing is left.
        """
        self._losses.append(str(failed))
        while True:
            slowdowns = self._condition.slowdowns(now_s=self._clock())
            plan = self.under(slowdowns)
            if plan is not None:
                try:
                    return self.open(plan, slowdowns)
                except StageFailedError as refusal:
                    self.lose(refusal)
                    self._losses.append(str(refusal))
            elif emitted > self._forgiven_at:
                self._forgiven_at = emitted
                self._condition.forgive()
            else:
                raise StageFailedError(
                    f"nothing is left to run frame {emitted} on: {'; '.join(self._losses)}. Mend "
                    f"what failed, and run again from frame {emitted} on",
                    stage=failed.stage,
                    frame_id=failed.frame_id,
                    processor=failed.processor,
                    cores=failed.cores,
                ) from failed

    def lose(self, failed: StageFailedError) -> None:
        """Leave out what a failed lane ran on.

        Raises:
            StageFailedError: the same, if it does not say where its lane ran.
        """
        if not failed.processor:
            raise failed
        self._condition.lose(units_of(failed), now_s=self._clock())


def units_of(failed: StageFailedError) -> tuple[Unit, ...]:
    """Return what the lane of a failure took up."""
    return tuple((failed.processor, core) for core in failed.cores) or ((failed.processor, None),)
