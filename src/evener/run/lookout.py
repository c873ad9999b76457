"""End the leg of a supervised run where a lane of it hangs, or where another plan pays."""

from collections.abc import Callable
from math import inf

from evener.artifacts.plan import Plan
from evener.errors import StageFailedError
from evener.run.change import Change
from evener.run.condition import Condition, Slowdowns
from evener.run.current import Current
from evener.run.monitor import Limits, Monitor
from evener.run.plans import Plans
from evener.run.running import Running
from evener.run.standby import Standby, likeliest_losses
from evener.run.supervised_run import SupervisedRun
from evener.run.watchdog import new_watchdog


class Lookout:
    """Watches what runs now, leg after leg; its looks may come from several threads.

    Args:
        current: the pipeline that runs.
        plans: makes and opens other plans.
        condition: what is known of the machine; learns what the lanes show.
        limits: when a lane counts as hung, and when another plan is taken.
        standby: holds pipelines ready; None if none are to be.
        clock: the time, in seconds; that of the pipelines too.
    """

    def __init__(
        self,
        current: Current,
        plans: Plans,
        condition: Condition,
        *,
        limits: Limits,
        standby: Standby | None = None,
        clock: Callable[[], float],
    ) -> None:
        self._current = current
        self._plans = plans
        self._limits = limits
        self._condition = condition
        self._standby = standby
        self._clock = clock
        self._monitor = Monitor(condition, limits)
        self._watchdog = new_watchdog(self._limits)
        self._followed_s = 0.0
        self._held_for: tuple[Plan, Slowdowns] | None = None
        self._held_at_s = -inf

    def follow(self, running: Running) -> None:
        """Watch the lanes of what runs from their first frame on; the lock must be held."""
        self._monitor.follow(running.plan, running.planned_under)
        self._watchdog = new_watchdog(self._limits)
        self._followed_s = self._clock()

    def look_for_hangs(self, run: SupervisedRun) -> None:
        """End the leg of a run if a lane of it hangs."""
        with self._current.lock:
            running = self._current.running
            if run.leg is None or running is None:
                return
            hang = self._watchdog.look(
                running.pipeline.progress(),
                self._clock(),
                taken=run.leg.taken,
                emitted=run.buffer.emitted - run.leg.first,
                emitting=run.buffer.emitting,
            )
            if hang is None:
                return
            run.hung = hang.failure
            running.pipeline.abandon(run.hung)

    def look_for_drift(self, run: SupervisedRun) -> None:
        """Open another plan beside the running one, and stop the leg of a run, if it is better."""
        with self._current.lock:
            running, leg = self._current.running, run.leg
            if running is None or leg is None or run.next is not None:
                return
            at_s = self._clock()
            if self._standby is not None and self._standby.opening:
                self._monitor.overlook(running.pipeline.progress())
                return
            self._monitor.observe(running.pipeline.progress(), at_s)
            doubt = self._monitor.doubt(at_s)
        if doubt is None:
            return
        plan = self._plans.under(doubt.slowdowns)
        if plan is None or not self._monitor.is_better(plan, doubt):
            return
        try:
            to = self._plans.open(plan, doubt.slowdowns)
        except StageFailedError as refusal:
            self._plans.lose(refusal)
            return
        with self._current.lock:
            if run.leg is leg:
                run.next = Change(
                    cause=doubt.cause, reason=doubt.reason, at_s=at_s, before=running.plan, to=to
                )
                self._monitor.switched(self._clock())
                leg.stop()
                return
        self._current.leave(to)  # the leg failed, or ended, meanwhile

    def hold_ready(self, run: SupervisedRun) -> None:
        """Hold ready what is needed if a lane fails, once the plan has run for a while.

        Waits until it is open. The same is not asked twice, nor again for other times sooner than
        a change of plan on account of times would come.
        """
        with self._current.lock:
            running = self._current.running
            if self._standby is None or running is None or run.leg is None:
                return
        now_s = self._clock()
        plan, slowdowns = running.plan, self._condition.slowdowns(now_s=now_s)
        if now_s < self._followed_s + self._limits.standby_after_s:
            return
        if self._held_for is not None and self._held_for[0] == plan:
            again_s = self._held_at_s + self._limits.cooldown_s
            if self._held_for[1] == slowdowns or now_s < again_s:
                return
        losses = likeliest_losses(plan, slowdowns)
        if self._standby.hold([self._plans.after(lost) for lost in losses]):
            self._held_for, self._held_at_s = (plan, slowdowns), now_s

    def broke_down(self, run: SupervisedRun, error: Exception) -> None:
        """End a run with what a look at it raised."""
        with self._current.lock:
            run.broken = error
            if self._current.running is not None and run.leg is not None:
                self._current.running.pipeline.abandon(error)
