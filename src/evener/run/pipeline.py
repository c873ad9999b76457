"""Run a plan: frames through stages on cores of their own, answers in order, memory bounded.

Each lane of each stage is one thread (`lane.py`). The first stage's lanes take frames by credit
(`entry.py`), stages hand on through channels, and the last stage's lanes emit in order
(`sink.py`): no further thread stands between a frame and its answer. A pipeline that waits for
its next run uses no CPU.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from types import TracebackType
from typing import Final, Self

import numpy as np

from evener.artifacts.plan import Plan
from evener.artifacts.tensor import Tensor
from evener.artifacts.trace import Trace
from evener.comm.threads import ThreadChannel
from evener.errors import InputError, StageFailedError
from evener.run.entry import Entry, Frame
from evener.run.lane import Inlet, LaneThread, Outlet
from evener.run.record import LaneProgress, Record, trace_of
from evener.run.sink import Emit, Sink
from evener.run.wiring import Wiring, wire
from evener.runtime.session import Array, Optimisation, Runtime, Session

Segments = Callable[[int, int], bytes]
CLOSE_PATIENCE_S: Final = 10.0


class Pipeline:
    """A plan with its sessions open, as a context manager; `run` it as often as you like.

    Args:
        plan: which blocks run where.
        segments: the model of blocks `first` to `last`, last included.
        inputs: what a frame holds, in the network's order.
        runtimes: runtimes by name; those that the plan names must be there.
        optimisation: how far the runtimes optimise each segment.
        credits: most frames in flight; the plan's own number if None.
        clock: the time, in seconds.

    Raises:
        InputError: the plan names a runtime that is not there, does not run its blocks in order,
            or there is no credit.
    """

    def __init__(
        self,
        plan: Plan,
        segments: Segments,
        *,
        inputs: Sequence[Tensor],
        runtimes: Mapping[str, Runtime],
        optimisation: Optimisation = "all",
        credits: int | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.plan = plan
        self.inputs = tuple(inputs)
        self.credits = plan.credits if credits is None else credits
        _check(plan, self.credits, runtimes)
        self._segments = segments
        self._runtimes = runtimes
        self._optimisation = optimisation
        self._clock = clock
        self._running = Lock()
        self._entry = Entry(self.credits)
        self._sink: Sink | None = None
        self._channels: list[ThreadChannel] = []
        self._outputs: tuple[Tensor, ...] = ()
        self._lanes = [
            [LaneThread(index, lane, clock=clock, crashed=self._shut) for lane in stage.lanes]
            for index, stage in enumerate(plan.stages)
        ]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What an answer holds, once the pipeline is open."""
        return self._outputs

    @property
    def in_flight(self) -> Mapping[int, Frame]:
        """The frames admitted and not yet emitted, by number: what could be run again."""
        return self._entry.in_flight

    def progress(self) -> tuple[LaneProgress, ...]:
        """Return what each lane does just now; any thread may ask, at any time."""
        return tuple(lane.progress() for stage in self._lanes for lane in stage)

    def check(self, frames: Sequence[Frame]) -> None:
        """Refuse frames that the network does not take.

        Raises:
            InputError: an array of a wrong shape or type, with the number of its frame.
        """
        for number, frame in enumerate(frames):
            _check_frame(number, frame, self.inputs)

    def __enter__(self) -> Self:
        """Open every lane's sessions in its own pinned thread.

        Raises:
            InputError: this process may not use a core of the plan, or the segments do not fit
                together.
            StageFailedError: a runtime refused a segment. Nothing stays open.
        """
        try:
            self._open()
        except BaseException:
            self._shut()
            self._join()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it; where an error is on its way already, it is not covered by another."""
        self._shut()
        late = self._join()
        if late is not None and kind is None:
            raise late

    def close(self) -> None:
        """End every lane and close its sessions; a second call does nothing.

        A frame that a session computes just now is finished first; a run in another thread ends
        with a ChannelClosedError.

        Raises:
            StageFailedError: a lane did not end, because a session or the source of frames hangs.
        """
        self.__exit__(None, None, None)

    def abandon(self, cause: Exception) -> None:
        """End a run that hangs, from another thread, and wait for nothing.

        The run ends with a ChannelClosedError of this cause. Lanes that wait end; one that hangs
        in its session cannot be stopped from outside: it keeps its thread and its sessions until
        it comes back by itself, and nothing it does then reaches anyone.
        """
        self._shut(cause)

    def run(self, frames: Iterable[Frame], emit: Emit, *, first: int = 0) -> Trace:
        """Answer frames, in order, until there are none left.

        Frames are read in place: a frame's arrays must keep their content until it was emitted.
        Only `credits` frames are taken from the iterable before the first answer. A list or tuple
        is checked whole before anything runs, any other iterable frame by frame.

        When a frame fails, those before it are still emitted, those after it are dropped, and
        nothing is left in flight: the pipeline can run again. An interrupt (Ctrl-C) closes it.

        Args:
            frames: one tuple of arrays per frame, in the order of `inputs`.
            emit: called with the number of the frame and its answer in the order of `outputs`, in
                frame order, by one thread at a time. The arrays are used again once it returns.
            first: number of the first frame.

        Raises:
            InputError: no frame at all, an array of a wrong shape or type, or a run in progress.
            StageFailedError: a stage failed at a frame.
            ChannelClosedError: the pipeline is closed.
        """
        if isinstance(frames, list | tuple):
            self.check(frames)
        if not self._running.acquire(blocking=False):
            raise InputError("this pipeline runs already; wait for its end or open another")
        try:
            return self._run(self._checked(frames, first), emit, first)
        finally:
            self._running.release()

    def _run(self, frames: Iterator[Frame], emit: Emit, first: int) -> Trace:
        record = Record(self._clock)
        lanes = [lane for stage in self._lanes for lane in stage]
        for lane in lanes:
            lane.begin()
        if self._sink is None:
            raise InputError("this pipeline is not open; use it as a context manager")
        self._sink.begin(emit, record, first=first)
        try:
            self._entry.begin(frames, record, first=first)
            self._entry.wait()
        except BaseException:
            self._shut()
            raise
        failure = self._sink.failure or self._entry.failure
        if failure is not None:
            raise failure
        if not record.emitted:
            raise InputError("there is no frame to run; give at least one")
        return trace_of(record, [lane.record() for lane in lanes], credits=self.credits)

    def _open(self) -> None:
        stages: list[list[tuple[Sequence[Session], Wiring]]] = []
        tensors = self.inputs
        for index in range(len(self._lanes)):
            opened = self._open_stage(index, tensors)
            stages.append(opened)
            tensors = opened[0][1].outputs
        self._outputs = tensors
        self._sink = Sink(tensors, self.credits, self._entry)
        self._channels = [
            ThreadChannel([(t.shape, t.dtype) for t in opened[0][1].outputs], self.credits)
            for opened in stages[:-1]
        ]
        inlets: list[Inlet] = [self._entry, *self._channels]
        outlets: list[Outlet] = [*self._channels, self._sink]
        for lanes, opened, inlet, outlet in zip(self._lanes, stages, inlets, outlets, strict=True):
            for lane, (sessions, wiring) in zip(lanes, opened, strict=True):
                lane.start(sessions, wiring, inlet, outlet)

    def _open_stage(
        self, index: int, inputs: Sequence[Tensor]
    ) -> list[tuple[Sequence[Session], Wiring]]:
        """Open the lanes of one stage; no longer than that are its models in memory."""
        made: dict[tuple[int, int], bytes] = {}
        outputs = self.plan.stages[index].outputs
        opened = []
        for lane in self._lanes[index]:
            spans = [(part.first_block, part.last_block) for part in lane.lane.parts]
            made |= {span: self._segments(*span) for span in spans if span not in made}
            models = [made[span] for span in spans]
            sessions = lane.open(models, self._runtimes, self._optimisation)
            opened.append((sessions, wire(sessions, inputs=inputs, outputs=outputs, stage=index)))
        return opened

    def _shut(self, cause: Exception | None = None) -> None:
        """Tell every lane to end, and wait for none."""
        if self._sink is not None:
            self._sink.close()
        self._entry.close(cause)
        for channel in self._channels:
            channel.close(cause)

    def _join(self) -> StageFailedError | None:
        deadline_s = time.monotonic() + CLOSE_PATIENCE_S
        late = None
        for lane in (lane for stage in self._lanes for lane in stage):
            if not lane.join(max(0.0, deadline_s - time.monotonic())):
                late = StageFailedError(
                    f"stage {lane.stage} on {lane.lane.processor} did not end within "
                    f"{CLOSE_PATIENCE_S:g} s: its session or the source of frames hangs; end the "
                    "process",
                    stage=lane.stage,
                    processor=lane.lane.processor,
                    cores=lane.lane.cores,
                )
        return late

    def _checked(self, frames: Iterable[Frame], first: int) -> Iterator[Frame]:
        for number, frame in enumerate(frames, first):
            _check_frame(number, frame, self.inputs)
            yield tuple([a if a.flags.c_contiguous else np.ascontiguousarray(a) for a in frame])


def _check(plan: Plan, credits: int, runtimes: Mapping[str, Runtime]) -> None:
    if credits < 1:
        raise InputError(f"{credits} credits let no frame in; give at least 1")
    if not plan.stages:
        raise InputError(f"the plan of '{plan.network}' has no stage; plan the network again")
    following = 0
    for index, stage in enumerate(plan.stages):
        for lane in stage.lanes:
            block = following
            for part in lane.parts:
                if part.first_block != block or part.last_block < part.first_block:
                    raise InputError(
                        f"stage {index} on {lane.processor} runs blocks {part.first_block} to "
                        f"{part.last_block} where block {block} is next; plan the network again"
                    )
                block = part.last_block + 1
                if part.runtime not in runtimes:
                    raise InputError(
                        f"stage {index} on {lane.processor} needs the runtime '{part.runtime}', "
                        f"there is {', '.join(runtimes) or 'none'}; install it or plan again"
                    )
            if block != stage.last_block + 1:
                raise InputError(
                    f"stage {index} on {lane.processor} ends before block {block}, not after its "
                    f"last block {stage.last_block}; plan the network again"
                )
        if not stage.lanes:
            raise InputError(f"stage {index} has no lane; plan the network again")
        following = stage.last_block + 1


def _check_frame(number: int, frame: Frame | Array, inputs: Sequence[Tensor]) -> None:
    if isinstance(frame, np.ndarray) or len(frame) != len(inputs):
        raise InputError(
            f"frame {number} must be a tuple of {len(inputs)} arrays, one per input of the "
            f"network: {', '.join(tensor.name for tensor in inputs)}"
        )
    for array, tensor in zip(frame, inputs, strict=True):
        if array.shape != tensor.shape or array.dtype != tensor.dtype:
            raise InputError(
                f"frame {number} gives {array.dtype} {list(array.shape)} for '{tensor.name}', "
                f"which takes {tensor.dtype} {list(tensor.shape)}"
            )
