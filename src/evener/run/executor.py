"""Answer frames one by one, as they are submitted, through a pipeline that stays open.

Frames that are submitted together are in the stages together; each answer goes to whoever submitted
its frame. What goes wrong stays with the frame it went wrong with. Where a stage hangs, everyone
who waits is told so.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, Literal, Self

import msgspec

from evener.artifacts.tensor import Tensor
from evener.errors import InputError, StageFailedError, UnavailableError
from evener.run.entry import Frame
from evener.run.looks import again_and_again
from evener.run.monitor import Limits
from evener.run.pipeline import Pipeline
from evener.run.record import LaneProgress
from evener.run.supervise import SupervisedPipeline
from evener.run.watchdog import new_watchdog
from evener.runtime.session import Array
from evener.units import count

Answer = tuple[Array, ...]
Served = Pipeline | SupervisedPipeline
State = Literal["ready", "recovering", "closed", "broken"]
_RUN_FRAMES: Final = 10_000  # a run keeps the times of its frames: end it now and then
_DRAIN_S: Final = 30.0  # how long the frames that are left may take once it is to end
_IDLE_S: Final = 0.25  # a supervised run is told so often that there is no frame yet
_RETRY_HUNG_S: Final = 5.0  # about what opening a pipeline takes
_TRIES: Final = 2  # a frame that was in the stages at two breakdowns may have caused them


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """How much an executor has to do just now.

    Attributes:
        waiting: frames that wait to be admitted.
        in_flight: frames in the stages.
        lanes: each lane of the pipeline; what they were busy counts anew after a breakdown.
    """

    waiting: int
    in_flight: int
    lanes: Sequence[LaneProgress]


class _Task(msgspec.Struct, kw_only=True):
    frame: Frame
    future: Future[Answer]
    tries: int = 0  # how often it was admitted


class PipelineExecutor:
    """Takes frames from any thread and answers each, as a context manager.

    Where the pipeline breaks down, another is opened, and what was in flight is run again, once.
    Where a lane of a plain pipeline hangs, it is given up, and whoever waits is told to ask again;
    then another is opened if the lane was a process, which can be killed. A thread cannot, and
    would only be followed by the next that hangs: with it the executor is broken. A supervised
    pipeline looks after its lanes itself, and answers what waits by another plan.

    Args:
        open_pipeline: makes the pipeline, not yet open; called again after a breakdown.
        limit: most frames that may wait, beside as many as there are credits.
        period_s: time between two answers of a full pipeline, as planned.
        limits: when a lane counts as hung, and how often that is looked at.
        clock: the time, in seconds; that of the pipelines too.
    """

    def __init__(
        self,
        open_pipeline: Callable[[], Served],
        *,
        limit: int,
        period_s: float,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._limits = Limits() if limits is None else limits
        self._clock = clock
        self._watchdog = new_watchdog(self._limits)
        self._watching = ExitStack()
        self._open_pipeline = open_pipeline
        self._limit = limit
        self._period_s = period_s
        self._changed = threading.Condition()  # guards all that follows
        self._waiting: deque[_Task] = deque()
        self._in_flight: dict[int, _Task] = {}  # by number of the frame
        self._next = 0  # number of the next frame
        self._run: _Intake | None = None
        self._hung: StageFailedError | None = None
        self._pipeline: Served | None = None
        self._recovering = False
        self._closed = False
        self._broken: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="executor", daemon=True)

    def __enter__(self) -> Self:
        """Open the pipeline.

        Raises:
            InputError, StageFailedError: see `Pipeline`.
        """
        self._pipeline = self._open_pipeline().__enter__()
        self._thread.start()
        looks = again_and_again(
            [self.look_for_hangs], every_s=self._limits.look_s, failed=self._give_up
        )
        self._watching.enter_context(looks)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take no more frames, answer those that are there, and close the pipeline.

        Raises:
            StageFailedError: a lane did not end.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(_DRAIN_S)
        self._watching.close()
        if self._thread.is_alive():
            hang = StageFailedError(
                f"what was in the stages was not answered within {_DRAIN_S:g} s: a session hangs; "
                "end the process",
                stage=-1,
            )
            with self._changed:
                self._broken = hang
            self._opened.abandon(hang)
            self._thread.join()
        self._opened.__exit__(kind, error, trace)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a frame holds."""
        return self._opened.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What an answer holds."""
        return self._opened.outputs

    @property
    def credits(self) -> int:
        """Most frames in flight."""
        return self._opened.credits

    @property
    def state(self) -> State:
        """Whether it takes frames: only while it is ready."""
        with self._changed:
            return self._state()

    @property
    def load(self) -> Load:
        """How much it has to do just now."""
        with self._changed:
            return Load(
                waiting=len(self._waiting),
                in_flight=len(self._in_flight),
                lanes=self._opened.progress(),
            )

    def submit(self, frame: Frame) -> "Future[Answer]":
        """Take a frame to be answered after those that wait.

        Args:
            frame: one array per input; nobody may change them before it was answered.

        Returns:
            The answer to come: arrays of its own, one per output. Its exception is a
            StageFailedError where a stage failed at the frame, or broke down with it twice. It can
            be cancelled while the frame waits.

        Raises:
            InputError: an array of a wrong shape or type.
            UnavailableError: too many frames wait, or it is not ready.
        """
        self._opened.check([frame])
        future: Future[Answer] = Future()
        with self._changed:
            self._check_room()
            self._waiting.append(_Task(frame=frame, future=future))
            self._changed.notify_all()
        return future

    def look_for_hangs(self) -> None:
        """Give the pipeline up if a lane of it hangs, and tell everyone who waits.

        Called again and again by a thread of its own, or by the owner if `Limits.look_s` is None.
        """
        with self._changed:
            pipeline, run = self._opened, self._run
            if isinstance(pipeline, SupervisedPipeline) or run is None or self._hung is not None:
                return
            hang = self._watchdog.look(
                pipeline.progress(),
                self._clock(),
                taken=run.taken,
                emitted=run.taken - len(self._in_flight),
                emitting=False,
            )
            if hang is None:
                return
            self._hung, self._run, self._recovering = hang.failure, None, True
            if hang.lane.process is None:
                self._broken = hang.failure
            told = [task for task in self._in_flight.values() if not task.future.done()]
            told += [task for task in self._waiting if _is_wanted(task)]
            self._in_flight.clear()
            self._waiting.clear()
            self._changed.notify_all()
        for task in told:
            task.future.set_exception(_no_answer(hang.failure))
        pipeline.abandon(hang.failure)

    @property
    def _opened(self) -> Served:
        if self._pipeline is None:
            raise InputError("this executor is not open; use it as a context manager")
        return self._pipeline

    def _state(self) -> State:
        if self._broken is not None:
            return "broken"
        if self._closed:
            return "closed"
        changing = isinstance(self._pipeline, SupervisedPipeline) and self._pipeline.recovering
        return "recovering" if self._recovering or changing else "ready"

    def _check_room(self) -> None:
        state = self._state()
        if state == "broken":
            raise UnavailableError(
                f"nothing can be answered any more: {self._broken}; start it again",
                retry_after_s=60.0,
            ) from self._broken
        if state == "recovering" and self._hung is not None:
            raise _no_answer(self._hung)
        if state == "closed":
            raise UnavailableError(
                "no more frames are taken, because it ends; ask another or later", retry_after_s=1.0
            )
        here = len(self._waiting) + len(self._in_flight)
        if here >= self._opened.credits + self._limit:
            raise UnavailableError(
                f"{count(here, 'frame')} are being answered or wait already, and no more may; ask "
                "again later",
                retry_after_s=here * self._period_s,
            )

    def _work(self) -> None:
        """Run the pipeline whenever frames wait, until it is closed and none is left."""
        while self._await_frames():
            intake = _Intake(self._take)
            with self._changed:
                self._run, first = intake, self._next
                self._watchdog = new_watchdog(self._limits)
            try:
                self._opened.run(intake, self._answer, first=first, failed=self._fail)
            except Exception as error:  # noqa: BLE001 - whatever it is, the service goes on
                if intake.taken or not isinstance(error, InputError):
                    self._recover(error)
                # else all that waited were cancelled, and it was closed
            else:
                if self._hung is not None:  # given up at its last frame
                    self._recover(self._hung)

    def _await_frames(self) -> bool:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            return bool(self._waiting)

    def _take(self, intake: "_Intake") -> Frame | None:
        """Give a run its next frame once one waits; None if a supervised run is to ask again.

        Raises:
            StopIteration: the run is to end.
        """
        supervised = isinstance(self._pipeline, SupervisedPipeline)
        with self._changed:
            while intake is self._run and intake.taken < _RUN_FRAMES:
                while self._waiting:
                    task = self._waiting.popleft()
                    if _is_wanted(task):
                        task.tries += 1
                        intake.taken += 1
                        self._in_flight[self._next] = task
                        self._next += 1
                        return task.frame
                if self._closed:
                    raise StopIteration
                if not self._changed.wait(_IDLE_S if supervised else None):
                    return None
            raise StopIteration

    def _answer(self, number: int, answer: Answer) -> None:
        own = tuple(array.copy() for array in answer)
        task = self._taken(number)
        if task is not None:
            task.future.set_result(own)

    def _fail(self, number: int, error: BaseException) -> None:
        task = self._taken(number)
        if task is not None:
            task.future.set_exception(error)

    def _taken(self, number: int) -> _Task | None:
        """Return the task of a frame; None if its pipeline was given up just before."""
        with self._changed:
            return self._in_flight.pop(number, None)

    def _recover(self, error: Exception) -> None:
        """Open another pipeline, and let those that were in flight have another try."""
        with self._changed:
            self._run, self._recovering = None, True
            left = [self._in_flight.pop(number) for number in sorted(self._in_flight)]
            self._waiting.extendleft(reversed([task for task in left if task.tries < _TRIES]))
            self._changed.notify_all()  # a lane that still waits for a frame of that run
        for task in left:
            if task.tries >= _TRIES:
                task.future.set_exception(error)
        if self._broken is not None:
            self._give_up(self._broken)
            return
        try:
            self._opened.abandon(error)  # a lane that hangs is not waited for
            self._opened.close()
            another = self._open_pipeline().__enter__()
        except Exception as refusal:  # noqa: BLE001 - told to everyone who waits or will ask
            self._give_up(refusal)
            return
        with self._changed:
            self._pipeline, self._recovering, self._hung = another, False, None

    def _give_up(self, error: Exception) -> None:
        with self._changed:
            self._broken = error
            left = list(self._waiting)
            self._waiting.clear()
        for task in left:
            if _is_wanted(task):
                task.future.set_exception(error)


def _is_wanted(task: _Task) -> bool:
    """Whether nobody has cancelled it, which from now on nobody can."""
    return task.tries > 0 or task.future.set_running_or_notify_cancel()


def _no_answer(hung: StageFailedError) -> UnavailableError:
    error = UnavailableError(f"{hung}; ask again later", retry_after_s=_RETRY_HUNG_S)
    error.__cause__ = hung
    return error


class _Intake:
    """The frames of one run: an iterator that waits for them."""

    def __init__(self, take: Callable[["_Intake"], Frame | None]) -> None:
        self._take = take
        self.taken = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:  # noqa: ANN401 - a frame; None for a supervised run alone
        return self._take(self)
