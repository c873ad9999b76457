"""Run frames to their end though stages fail, hang or slow down: by changing the plan.

A `SupervisedPipeline` runs a plan like `Pipeline`, in legs: as long as all goes well there is one.
When a lane fails or hangs, what it ran on is left out and the frames in flight are run again on
another plan; when the lanes are slower than planned, another plan is opened beside the running one,
which then drains and hands over. Either way every frame is answered once, in order. Where plans
come from is the caller's to say: this module decides when, not which.

A frame is at fault itself, not the processors, if a stage failed at it twice, each time in another
pipeline: the run ends with it, and what it had failed on counts as sound again.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from types import TracebackType
from typing import Literal, Self

import msgspec

from evener.artifacts.plan import Plan, Unit
from evener.artifacts.tensor import Tensor
from evener.artifacts.trace import Switch, Trace
from evener.errors import ChannelClosedError, InputError, StageFailedError
from evener.run.condition import Condition
from evener.run.entry import Frame
from evener.run.leaving import Leaving
from evener.run.looks import again_and_again
from evener.run.monitor import Limits, Monitor
from evener.run.pipeline import Pipeline
from evener.run.plans import Plans, Replan, Running, units_of
from evener.run.record import LaneProgress, Record, trace_of_legs
from evener.run.replay import Leg, ReplayBuffer
from evener.run.sink import Emit
from evener.run.watchdog import Watchdog
from evener.units import count


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of plan that was decided; what it came to is known at the end of the run."""

    cause: Literal["failed", "hung", "drifted", "recovered"]
    reason: str
    at_s: float
    before: Plan
    to: Running


class _Run(msgspec.Struct, kw_only=True):
    """What is known of one run, from its first frame to its last."""

    buffer: ReplayBuffer
    record: Record
    leg: Leg | None = None  # None while no pipeline runs
    next: _Change | None = None  # opened beside the running plan
    hung: StageFailedError | None = None  # why the leg was abandoned
    broken: Exception | None = None  # what a look raised
    switches: list[Switch] = msgspec.field(default_factory=list)
    blamed: dict[int, tuple[Unit, ...]] = msgspec.field(default_factory=dict)  # by frame


class SupervisedPipeline:
    """A pipeline that outlives its plan, as a context manager; `run` it as often as you like.

    Args:
        plan: what it begins with, and comes back to once nothing that it uses is lost or slow.
        open_pipeline: makes the pipeline of a plan, not yet open.
        replan: makes a plan of the same network for a machine whose cores are partly lost or slow;
            None if there is none. It may be called from a thread of the supervisor.
        limits: when a lane counts as hung, and when another plan is taken.
        clock: the time, in seconds; that of the pipelines too.
    """

    def __init__(
        self,
        plan: Plan,
        open_pipeline: Callable[[Plan], Pipeline],
        replan: Replan,
        *,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._limits = Limits() if limits is None else limits
        self._clock = clock
        self._condition = Condition(term_s=self._limits.parole_s)
        self._plans = Plans(plan, open_pipeline, replan, condition=self._condition, clock=clock)
        self._monitor = Monitor(self._condition, self._limits)
        self._watchdog = self._new_watchdog()
        self._leaving = Leaving()
        self._busy = threading.Lock()  # held during a run
        self._lock = threading.Lock()  # for what follows; never held while anything is opened
        self._running: Running | None = None
        self._run: _Run | None = None
        self._record = Record(clock)
        self._outputs: tuple[Tensor, ...] | None = None
        self._closed = False

    @property
    def plan(self) -> Plan:
        """What runs now."""
        return self._plans.home if self._running is None else self._running.plan

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What an answer holds, once it is open."""
        return self._outputs or ()

    @property
    def credits(self) -> int:
        """Most frames in flight under the plan that runs now."""
        return self.plan.credits if self._running is None else self._running.pipeline.credits

    @property
    def record(self) -> Record:
        """The times of the run in progress, or of the last one, whatever plans it took."""
        return self._record

    def progress(self) -> tuple[LaneProgress, ...]:
        """Return what each lane of the plan that runs now does; none between two plans."""
        with self._lock:
            return () if self._running is None else self._running.pipeline.progress()

    def __enter__(self) -> Self:
        """Open the pipeline of the first plan; what fails already here is the caller's to see.

        Raises:
            InputError, StageFailedError: see `Pipeline`.
        """
        self._running = self._plans.open(self._plans.home, {})
        self._outputs = self._running.pipeline.outputs
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it; where an error is on its way already, it is not covered by another."""
        with self._lock:
            self._closed, running = True, self._running
        if running is not None:
            running.pipeline.__exit__(kind, error, trace)

    def close(self) -> None:
        """End every lane and close its sessions; see `Pipeline.close`."""
        self.__exit__(None, None, None)

    def run(self, frames: Iterable[Frame], emit: Emit) -> Trace:
        """Answer frames, in order, until there are none left; see `Pipeline.run`.

        A frame's arrays must keep their content until it was emitted: it may be run again. A frame
        whose answer was given to `emit` never is.

        Raises:
            InputError: no frame at all, an array of a wrong shape or type, or a run in progress.
            StageFailedError: a frame failed twice, or nothing is left to run on.
            ChannelClosedError: it is closed.
        """
        if self._outputs is None:
            raise InputError("this pipeline is not open; use it as a context manager")
        if not self._busy.acquire(blocking=False):
            raise InputError("this pipeline runs already; wait for its end or open another")
        try:
            if isinstance(frames, list | tuple):
                self._present().pipeline.check(frames)
            record = self._record = Record(self._clock)
            run = _Run(buffer=ReplayBuffer(iter(frames), emit, record), record=record)
            self._plans.begin()
            with self._watched(run):
                return self._answer(run)
        finally:
            self._busy.release()

    def look_for_hangs(self) -> None:
        """End the leg if a lane of it hangs.

        Called again and again by a thread of the supervisor, or by its owner if `Limits.look_s` is
        None.
        """
        with self._lock:
            run, running = self._run, self._running
            if run is None or run.leg is None or running is None:
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
            lane = hang.lane.lane
            run.hung = StageFailedError(
                hang.reason,
                stage=hang.lane.stage,
                frame_id=-1 if hang.lane.frame_id is None else hang.lane.frame_id,
                processor=lane.processor,
                cores=lane.cores,
            )
            running.pipeline.abandon(run.hung)

    def look_for_drift(self) -> None:
        """Open another plan beside the running one, and stop the leg, if that is better.

        Called again and again by another thread of the supervisor, or by its owner.
        """
        with self._lock:
            run, running = self._run, self._running
            leg = None if run is None else run.leg
            if run is None or running is None or leg is None or run.next is not None:
                return
            at_s = self._clock()
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
        with self._lock:
            if run.leg is leg:
                run.next = _Change(
                    cause=doubt.cause, reason=doubt.reason, at_s=at_s, before=running.plan, to=to
                )
                self._monitor.switched(self._clock())
                leg.stop()
                return
        self._leaving.close(to.pipeline)  # the leg failed, or ended, meanwhile

    def _answer(self, run: _Run) -> Trace:
        last: Trace | None = None
        leg = run.buffer.leg()
        while run.buffer.more():
            running = self._present()
            with self._lock:
                if run.broken is not None:
                    raise run.broken
                self._monitor.follow(running.plan, running.planned_under)
                self._watchdog = self._new_watchdog()
                run.leg = leg
            try:
                last = running.pipeline.run(leg.frames(), leg.emit, first=leg.first)
            except (StageFailedError, ChannelClosedError) as error:
                leg = self._switch(run, leg, self._recover(run, running, error))
            else:
                change = self._hand_over(run, running)
                if change is not None:
                    leg = self._switch(run, leg, change)
        if last is None and not run.record.emitted:
            raise InputError("there is no frame to run; give at least one")
        if last is not None and not run.switches:
            return last
        return trace_of_legs(
            run.record,
            last,
            switches=run.switches,
            replayed=run.buffer.replayed,
            credits=self._plans.home.credits,
        )

    def _hand_over(self, run: _Run, running: Running) -> _Change | None:
        """Take up the plan that was opened beside the one that has drained, if there is one."""
        with self._lock:
            change, run.next, run.leg = run.next, None, None
            abandoned, run.hung = run.hung is not None, None  # at its last frame, just too early
            if change is None and not abandoned:
                return None
            self._running = None
        self._leaving.close(running.pipeline)
        return change

    def _recover(
        self, run: _Run, running: Running, error: StageFailedError | ChannelClosedError
    ) -> _Change:
        """Open a plan without what failed.

        Raises:
            EvenerError: `error` is not of a lane, the frame is at fault, or nothing is left.
        """
        at_s = self._clock()
        with self._lock:
            unused, run.next, run.leg = run.next, None, None
            hung, run.hung = run.hung, None
        if unused is not None:
            self._leaving.close(unused.to.pipeline)
        if hung is not None or run.broken is not None:
            self._running = None  # it was abandoned
            self._leaving.close(running.pipeline)
        if run.buffer.failure is not None:
            raise run.buffer.failure
        if run.broken is not None:
            raise run.broken
        # What comes first counts: what the lanes of an abandoned pipeline say last is no cause.
        failed = hung or (error if isinstance(error, StageFailedError) else error.__cause__)
        if not isinstance(failed, StageFailedError) or not failed.processor:
            raise error
        if hung is None:
            self._running = None
            self._leaving.close(running.pipeline)
        self._blame(run, failed)
        self._plans.lose(failed)
        emitted = run.buffer.emitted
        return _Change(
            cause="failed" if hung is None else "hung",
            reason=str(failed),
            at_s=at_s,
            before=running.plan,
            to=self._plans.open_what_is_left(failed, emitted=emitted),
        )

    def _blame(self, run: _Run, failed: StageFailedError) -> None:
        """Note what failed at a frame; at the second time the frame is at fault."""
        frame = failed.frame_id
        if frame < 0:
            return
        if frame in run.blamed:
            self._condition.forgive(run.blamed[frame])
            raise StageFailedError(
                f"frame {frame} fails on every plan, the last time thus: {failed}; look at its "
                f"values. The {count(run.buffer.emitted, 'frame')} before it were answered",
                stage=failed.stage,
                frame_id=frame,
                processor=failed.processor,
                cores=failed.cores,
            ) from failed
        run.blamed[frame] = units_of(failed)

    def _switch(self, run: _Run, old: Leg, change: _Change) -> Leg:
        self._take_up(change.to)
        leg = run.buffer.leg()
        run.switches.append(
            Switch(
                frame=leg.first,
                at_s=change.at_s - run.record.granted[0],
                cause=change.cause,
                reason=change.reason,
                before=change.before.outline,
                after=change.to.plan.outline,
                replayed=old.first + old.taken - leg.first,
                pause_s=0.0,  # known once an answer came
                misses=change.to.plan.misses,
            )
        )
        return leg

    def _present(self) -> Running:
        """Return what runs; after it was given up, open anew on what is not lost."""
        if self._running is None:
            return self._take_up(self._plans.open_any())
        return self._running

    def _take_up(self, opened: Running) -> Running:
        with self._lock:
            if not self._closed:
                self._running = opened
                return opened
        opened.pipeline.close()
        raise ChannelClosedError("the pipeline was closed while another plan was opened")

    def _new_watchdog(self) -> Watchdog:
        look_s = inf if self._limits.look_s is None else 2 * self._limits.look_s
        return Watchdog(
            factor=self._limits.hang_factor,
            floor_s=self._limits.hang_floor_s,
            longest_look_s=look_s,
        )

    @contextmanager
    def _watched(self, run: _Run) -> Iterator[None]:
        """Look at the lanes while a run goes on, for hangs and for drift in a thread each."""

        def broken(error: Exception) -> None:
            with self._lock:
                run.broken = error
                if self._running is not None and run.leg is not None:
                    self._running.pipeline.abandon(error)

        looks = (self.look_for_hangs, self.look_for_drift)
        self._run = run
        try:
            with again_and_again(looks, every_s=self._limits.look_s, failed=broken):
                try:
                    yield
                finally:
                    with self._lock:
                        self._run = run.leg = None
        finally:
            if run.next is not None:
                self._leaving.close(run.next.to.pipeline)
            self._leaving.wait()
