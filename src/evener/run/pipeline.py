"""Run a plan: frames through stages on cores of their own, answers in order, memory bounded.

Each lane of each stage is one thread (`lane.py`) or one process (`process.py`). The first stage's
lanes take frames by credit (`entry.py`), stages hand on through channels, and the last stage's
lanes emit in order (`sink.py`). `transport.py` joins them. A pipeline that waits for its next run
uses no CPU.
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
from evener.errors import ChannelClosedError, InputError, StageFailedError
from evener.network.state import State
from evener.run.admission import check_frame, check_plan
from evener.run.entry import Entry, Frame
from evener.run.lane import Worker, did_not_end
from evener.run.live import LiveSource, Policy, Waiting
from evener.run.record import LaneProgress, LaneRecord, Record, trace_of
from evener.run.sink import Emit, Failed, Sink
from evener.run.stage import Segments, handed_on, open_stage
from evener.run.transport import Joints, Transport, get_transport
from evener.run.wiring import NO_STATES, Wiring
from evener.runtime.session import Array, Optimisation, Runtime

CLOSE_PATIENCE_S: Final = 10.0


class Pipeline:
    """A plan with its sessions open, as a context manager; `run` it as often as you like.

    Args:
        plan: which blocks run where.
        segments: the model of blocks `first` to `last`, last included.
        inputs: what a frame holds, in the network's order.
        runtimes: runtimes by name; those that the plan names must be there.
        variants: the same of the network in other precisions, by precision; a part in one that is
            not among them is computed from `segments`.
        states: what goes from frame to frame; zero before the first frame of each run.
        tell_states: whether each answer is to be followed by the states after its frame, in the
            order of `states_told`, so that another pipeline can go on from there. They go through
            every later stage.
        optimisation: how far the runtimes optimise each segment.
        credits: most frames in flight; the plan's own number if None.
        transport: where the lanes live, and how they hand on: "threads" of this process, or
            "processes" of their own, which cost more per hand-off and cannot break this one.
        clock: the time, in seconds.

    Raises:
        InputError: the plan names a runtime that is not there, does not run its blocks in order,
            there is no credit, or no such transport.
    """

    def __init__(
        self,
        plan: Plan,
        segments: Segments,
        *,
        inputs: Sequence[Tensor],
        runtimes: Mapping[str, Runtime],
        variants: Mapping[str, Segments] | None = None,
        states: Sequence[State] = (),
        tell_states: bool = False,
        optimisation: Optimisation = "all",
        credits: int | None = None,
        transport: str | Transport = "threads",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.plan = plan
        self.inputs = tuple(inputs)
        self.credits = plan.credits if credits is None else credits
        check_plan(plan, self.credits, runtimes)
        self._segments = segments
        self._low = variants or {}
        self._states = states
        self._tell_states = tell_states
        self._told: list[State] = []
        self._runtimes = runtimes
        self._optimisation = optimisation
        self._clock = clock
        self._running = Lock()
        self._behind = False
        self._entry = Entry(self.credits)
        self._sink: Sink | None = None
        self._record = Record(clock)
        self._joints = Joints()
        self._stateful = False
        self._outputs: tuple[Tensor, ...] = ()
        self._transport = get_transport(transport) if isinstance(transport, str) else transport
        self._lanes = [
            [
                self._transport.worker(index, lane, clock=clock, crashed=self._shut)
                for lane in stage.lanes
            ]
            for index, stage in enumerate(plan.stages)
        ]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What an answer holds, once the pipeline is open; not the states that follow it."""
        return self._outputs[: len(self._outputs) - len(self._told)]

    @property
    def states_told(self) -> tuple[str, ...]:
        """The inputs that the states after each answer are for, once the pipeline is open."""
        return tuple(state.input.name for state in self._told)

    @property
    def record(self) -> Record:
        """The times of the run in progress, or of the last one."""
        return self._record

    @property
    def in_flight(self) -> Mapping[int, Frame]:
        """The frames admitted and not yet emitted, by number: what could be run again."""
        return self._entry.in_flight

    @property
    def usable(self) -> bool:
        """Whether it was not closed, and no lane of it has broken down."""
        return not self._entry.closed

    def progress(self) -> tuple[LaneProgress, ...]:
        """Return what each lane does just now; any thread may ask, at any time."""
        return tuple(lane.progress() for stage in self._lanes for lane in stage)

    def check(self, frames: Sequence[Frame]) -> None:
        """Refuse frames that the network does not take.

        Raises:
            InputError: an array of a wrong shape or type, with the number of its frame.
        """
        for number, frame in enumerate(frames):
            check_frame(number, frame, self.inputs)

    def __enter__(self) -> Self:
        """Open every lane's sessions in its own pinned thread.

        Raises:
            InputError: this process may not use a core of the plan, or the segments do not fit
                together.
            StageFailedError: a runtime refused a segment, or it was given up meanwhile.
            ChannelClosedError: it was closed meanwhile. Nothing stays open in either case.
        """
        try:
            self._open()
        except BaseException:
            self._shut()
            self._join()
            raise
        return self

    def open_behind(self) -> None:
        """Open it as `with` does, but leave the cores to others until its first run.

        Processes of lanes then stand behind (`evener.runtime.priority`), threads do not.

        Raises:
            InputError, StageFailedError, ChannelClosedError: as `with` does.
        """
        self._behind = True
        self.__enter__()

    def step_forward(self) -> None:
        """Take its share of the cores from now on; each run does.

        Any thread may call it, before or during `open_behind` too, which then leaves it in front.
        """
        for lane in (lane for stage in self._lanes for lane in stage):
            lane.step_forward()

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

        The run ends with this cause if it is a StageFailedError, else with a ChannelClosedError of
        it. Lanes that wait end, and the processes of lanes are killed. A thread that hangs in its
        session cannot be stopped from outside: it keeps its sessions until it comes back by
        itself, `close` does not wait for it, and nothing it does then reaches anyone. What was not
        emitted stays `in_flight`.
        """
        for lane in (lane for stage in self._lanes for lane in stage):
            lane.abandon()
        self._shut(cause)

    def run(
        self,
        frames: Iterable[Frame],
        emit: Emit,
        *,
        first: int = 0,
        policy: Policy = "block",
        failed: Failed | None = None,
        spans: bool = False,
        states: Mapping[str, Array] = NO_STATES,
    ) -> Trace:
        """Answer frames, in order, until there are none left.

        Frames are read in place: a frame's arrays must keep their content until it was emitted.
        Only `credits` frames are taken from the iterable before the first answer. A list or tuple
        is checked whole before anything runs, any other iterable frame by frame.

        When a frame fails, those before it are still emitted, those after it are dropped (see
        `failed`), and nothing is left in flight: the pipeline can run again. An interrupt (Ctrl-C)
        closes it.

        Args:
            frames: one tuple of arrays per frame, in the order of `inputs`.
            emit: called with the number of the frame and its answer in the order of `outputs`, in
                frame order, by one thread at a time. The arrays are used again once it returns.
            first: number of the first frame.
            policy: "block" asks for a frame when a credit is free. The others are for a source
                that does not wait: a thread takes each frame as it comes, `credits` of them wait
                for a credit, and what is too much is left out ("drop_oldest", "drop_newest"), or
                all but the newest ("latest_only"). Frames keep their numbers, and their latency
                counts from their arrival.
            failed: called instead of `emit`, in its turn, with the number of a frame that a stage
                failed at and what it raised; the run then goes on with the next. None ends the
                run there.
            spans: whether to note when each lane ran each frame; see `record.timeline_of`.
            states: values of states before the first frame, by input; zero where none is given.

        Raises:
            InputError: no frame at all, an array of a wrong shape or type, or a run in progress.
            StageFailedError: a stage failed at a frame; or it broke down or was given up, then
                the pipeline is closed, and `in_flight` holds what was not emitted.
            ChannelClosedError: the pipeline is closed.
        """
        if isinstance(frames, list | tuple):
            self.check(frames)
        if not self._running.acquire(blocking=False):
            raise InputError("this pipeline runs already; wait for its end or open another")
        try:
            given = self._checked(frames, first)
            return self._run(given, emit, first, policy, failed, spans=spans, states=states)
        finally:
            self._running.release()

    def _run(
        self,
        frames: Iterator[Frame],
        emit: Emit,
        first: int,
        policy: Policy,
        failed: Failed | None,
        *,
        spans: bool,
        states: Mapping[str, Array],
    ) -> Trace:
        self.step_forward()
        record = self._record = Record(self._clock)
        lanes = [lane for stage in self._lanes for lane in stage]
        if self._sink is None:
            raise InputError("this pipeline is not open; use it as a context manager")
        self._sink.begin(emit, record, first=first, failed=failed)
        if policy != "block" and self._stateful:
            raise InputError(
                "the network keeps a state from each frame to the next, and no frame may be left "
                "out of it; choose the policy 'block'"
            )
        failure: BaseException | None = None
        live = None if policy == "block" else self._live(frames, first, policy, self._sink)
        try:
            self._entry.check_open()
            for lane in lanes:
                lane.begin(first, spans=spans, states=states)
            self._entry.begin(frames if live is None else iter(live), record, first=first)
            self._entry.wait()
        except ChannelClosedError as closed:
            broken = isinstance(closed.__cause__, StageFailedError)
            failure = closed.__cause__ if broken else closed
        except BaseException as error:
            self._shut(error)
            raise
        finally:
            if live is not None:
                live.close()
        if failure is not None:
            self._sink.settle()
        failure = failure or self._sink.failure or self._entry.failure
        if failure is not None:
            raise failure
        if not record.emitted:
            raise InputError("there is no frame to run; give at least one")
        record.lanes = self._lane_records(lanes)
        return trace_of(record, record.lanes, credits=self.credits)

    def _lane_records(self, lanes: Sequence[Worker]) -> list[LaneRecord]:
        try:
            return [lane.record() for lane in lanes]
        except BaseException as error:
            self._shut(error)  # who does not answer would not begin again
            raise

    def _live(self, frames: Iterator[Frame], first: int, policy: Policy, sink: Sink) -> LiveSource:
        waiting = Waiting(policy, room=self.credits)
        return LiveSource(frames, waiting, first=first, clock=self._clock, dropped=sink.skip)

    def _open(self) -> None:
        for stage in self._lanes:
            for lane in stage:
                self._entry.check_kept()
                lane.launch(self._runtimes, self._optimisation, behind=self._behind)
        wirings: list[list[Wiring]] = []
        tensors = [self.inputs]
        for index in range(len(self._lanes)):
            wirings.append(self._open_stage(index, tensors[-1]))
            tensors.append(wirings[-1][0].outputs)
        self._outputs = tensors[-1]
        self._stateful = any(wiring.states for made in wirings for wiring in made)
        self._sink = Sink(self._outputs, self.credits, self._entry)
        self._joints = self._transport.join(
            tensors,
            [len(stage) for stage in self._lanes],
            credits=self.credits,
            entry=self._entry,
            sink=self._sink,
            crashed=self._shut,
        )
        for index, stage in enumerate(self._lanes):
            inlet, outlet = self._joints.inlets[index], self._joints.outlets[index]
            for lane, wiring in zip(stage, wirings[index], strict=True):
                lane.start(wiring, inlet, outlet)

    def _open_stage(self, index: int, inputs: Sequence[Tensor]) -> list[Wiring]:
        planned, states = self.plan.stages[index].outputs, self._states
        told = self._told if self._tell_states else None
        return open_stage(
            index,
            self._lanes[index],
            segments_in=lambda precision: self._low.get(precision, self._segments),
            inputs=inputs,
            outputs_of=lambda ports: (
                planned if told is None else handed_on(planned, ports, states, told)
            ),
            states=states,
            check_open=self._entry.check_kept,
        )

    def _shut(self, cause: BaseException | None = None) -> None:
        """Tell every lane to end, and wait for none; runs from now on end by the cause."""
        if not isinstance(cause, Exception):
            cause = None
        if self._sink is not None:
            self._sink.close()
        self._entry.close(cause)
        self._joints.close(cause)

    def _join(self) -> StageFailedError | None:
        deadline_s = time.monotonic() + CLOSE_PATIENCE_S
        late = None
        for lane in (lane for stage in self._lanes for lane in stage):
            if not lane.join(max(0.0, deadline_s - time.monotonic())):
                late = did_not_end(
                    CLOSE_PATIENCE_S, f"stage {lane.stage} on {lane.lane.processor}", lane
                )
        for carrier in self._joints.carriers:
            if not carrier.join(max(0.0, deadline_s - time.monotonic())):
                late = did_not_end(CLOSE_PATIENCE_S, f"the carrier at the {carrier.name}")
        if late is None:
            self._joints.release()
        return late

    def _checked(self, frames: Iterable[Frame], first: int) -> Iterator[Frame]:
        for number, frame in enumerate(frames, first):
            check_frame(number, frame, self.inputs)
            yield tuple([a if a.flags.c_contiguous else np.ascontiguousarray(a) for a in frame])
