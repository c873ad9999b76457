"""Run frames to their end though stages fail, hang or slow down: by changing the plan.

A `SupervisedPipeline` runs a plan like `Pipeline`, in legs: as long as all goes well there is one.
When a lane fails or hangs, what it ran on is left out and the frames in flight are run again on
another plan; when the lanes are slower than planned, another plan is opened beside the running one,
which then drains and hands over. Either way every frame is answered once, in order. Where plans
come from is the caller's to say: this decides when, not which.

`supervised_run.py` goes from leg to leg, `lookout.py` decides when one ends, `plans.py` opens what
comes next, `standby.py` has done so before it is needed, and `blame.py` tells a frame that is at
fault itself.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Self

from evener.artifacts.plan import Plan
from evener.artifacts.tensor import Tensor
from evener.artifacts.trace import Trace
from evener.errors import InputError
from evener.run.admission import check_frame
from evener.run.condition import Condition
from evener.run.current import Current
from evener.run.entry import Frame
from evener.run.lookout import Lookout
from evener.run.looks import again_and_again
from evener.run.monitor import Limits
from evener.run.pipeline import Pipeline
from evener.run.plans import Plans, Replan
from evener.run.record import LaneProgress, Record
from evener.run.sink import Emit, Failed
from evener.run.standby import Standby
from evener.run.supervised_run import SupervisedRun


class SupervisedPipeline:
    """A pipeline that outlives its plan, as a context manager; `run` it as often as you like.

    Args:
        plan: what it begins with, and comes back to once nothing that it uses is lost or slow.
        open_pipeline: makes the pipeline of a plan, not yet open.
        replan: makes a plan of the same network for a machine whose cores are partly lost or slow;
            None if there is none. It may be called from a thread of the supervisor.
        limits: when a lane counts as hung, and when another plan is taken.
        may_hold: whether there is room to hold the pipeline of a plan ready beside what runs, for
            the failure of a lane; None holds none. Then what follows a failure must be opened
            first.
        clock: the time, in seconds; that of the pipelines too.
    """

    def __init__(
        self,
        plan: Plan,
        open_pipeline: Callable[[Plan], Pipeline],
        replan: Replan,
        *,
        limits: Limits | None = None,
        may_hold: Callable[[Plan], bool] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._limits = Limits() if limits is None else limits
        self._clock = clock
        self._condition = Condition(term_s=self._limits.parole_s)
        self._standby: Standby | None = None
        if may_hold is not None:
            self._standby = Standby(
                open_pipeline, may_hold, most=self._limits.standby_most, margin=self._limits.margin
            )
        self._plans = Plans(
            plan,
            open_pipeline,
            replan,
            condition=self._condition,
            standby=self._standby,
            clock=clock,
        )
        self._current = Current(self._plans)
        self._lookout = Lookout(
            self._current,
            self._plans,
            self._condition,
            limits=self._limits,
            standby=self._standby,
            clock=clock,
        )
        self._busy = threading.Lock()  # held during a run
        self._run: SupervisedRun | None = None
        self._record = Record(clock)
        self._inputs: tuple[Tensor, ...] = ()
        self._outputs: tuple[Tensor, ...] | None = None

    @property
    def plan(self) -> Plan:
        """What runs now."""
        running = self._current.running
        return self._plans.home if running is None else running.plan

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What an answer holds, once it is open."""
        return self._outputs or ()

    @property
    def credits(self) -> int:
        """Most frames in flight under the plan that runs now."""
        running = self._current.running
        return self._plans.home.credits if running is None else running.pipeline.credits

    @property
    def record(self) -> Record:
        """The times of the run in progress, or of the last one, whatever plans it took."""
        return self._record

    @property
    def held_ready(self) -> tuple[Plan, ...]:
        """The plans whose pipelines are open and wait for a failure."""
        return () if self._standby is None else self._standby.held

    def progress(self) -> tuple[LaneProgress, ...]:
        """Return what each lane of the plan that runs now does; none between two plans."""
        return self._current.progress()

    def __enter__(self) -> Self:
        """Open the pipeline of the first plan; what fails already here is the caller's to see.

        Raises:
            InputError, StageFailedError: see `Pipeline`.
        """
        opened = self._current.take_up(self._plans.open(self._plans.home, {}))
        self._inputs, self._outputs = opened.pipeline.inputs, opened.pipeline.outputs
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it; where an error is on its way already, it is not covered by another."""
        if self._standby is not None:
            self._standby.close()
        self._current.close(kind, error, trace)

    def close(self) -> None:
        """End every lane and close its sessions; see `Pipeline.close`."""
        self.__exit__(None, None, None)

    def run(
        self,
        frames: Iterable[Frame | None],
        emit: Emit,
        *,
        first: int = 0,
        failed: Failed | None = None,
    ) -> Trace:
        """Answer frames, in order, until there are none left; see `Pipeline.run`.

        A frame's arrays must keep their content until it was emitted: it may be run again. A frame
        whose answer was given to `emit` never is.

        Args:
            frames: one tuple of arrays per frame. Where an iterable gives None, there is no frame
                yet: one that is asked for long should do so now and then, as only between two
                frames a plan can give way to another.
            emit: as for `Pipeline.run`.
            first: number of the first frame.
            failed: called instead of `emit`, in its turn, with the number of a frame that a stage
                failed at and what it raised: its lane is lost only where it fails at
                `replay.FAILURES_IN_A_ROW` frames in a row. None loses it at the first.

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
                self.check([frame for frame in frames if frame is not None])
            self._record = Record(self._clock)
            run = SupervisedRun(
                iter(frames),
                lambda number, answer: emit(first + number, answer),
                failed=None if failed is None else _from(first, failed),
                record=self._record,
                current=self._current,
                plans=self._plans,
                condition=self._condition,
            )
            self._plans.begin()
            with self._watched(run):
                return run.answer(self._lookout.follow)
        finally:
            self._busy.release()

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a frame holds, once it is open."""
        return self._inputs

    @property
    def recovering(self) -> bool:
        """Whether it is between two plans just now, so that no frame goes on."""
        return self._run is not None and self._current.running is None

    def check(self, frames: Sequence[Frame]) -> None:
        """Refuse frames that the network does not take; see `Pipeline.check`."""
        for number, frame in enumerate(frames):
            check_frame(number, frame, self._inputs)

    def abandon(self, cause: Exception) -> None:
        """End a run, from another thread, and wait for nothing; see `Pipeline.abandon`."""
        run = self._run
        if run is not None:
            self._lookout.broke_down(run, cause)

    def look_for_hangs(self) -> None:
        """End the leg if a lane of it hangs.

        Called again and again by a thread of the supervisor, or by its owner if `Limits.look_s` is
        None.
        """
        run = self._run
        if run is not None:
            self._lookout.look_for_hangs(run)

    def look_for_drift(self) -> None:
        """Open another plan beside the running one, and stop the leg, if that is better.

        Called again and again by another thread of the supervisor, or by its owner.
        """
        run = self._run
        if run is not None:
            self._lookout.look_for_drift(run)

    def hold_ready(self) -> None:
        """Hold ready what is needed if a lane fails, and wait until it is open.

        Called again and again by a third thread of the supervisor, or by its owner.
        """
        run = self._run
        if run is not None:
            self._lookout.hold_ready(run)

    @contextmanager
    def _watched(self, run: SupervisedRun) -> Iterator[None]:
        """Look at the lanes while a run goes on, in a thread for each look."""
        looks = [self.look_for_hangs, self.look_for_drift]
        if self._standby is not None:
            self._standby.begin()
            looks.append(self.hold_ready)
        broke_down = partial(self._lookout.broke_down, run)
        self._run = run
        try:
            with again_and_again(looks, every_s=self._limits.look_s, failed=broke_down):
                try:
                    yield
                finally:
                    self._run = None
                    with self._current.lock:
                        run.leg = None
                    if self._standby is not None:
                        self._standby.interrupt()
        finally:
            run.end()
            self._current.wait()


def _from(first: int, failed: Failed) -> Failed:
    return lambda number, error: failed(first + number, error)
