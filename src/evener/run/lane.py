"""One thread on one core set that runs its part of every frame it gets.

The thread opens its own sessions, so that it is one of their threads, and closes them at its end.
`Worker` is what a pipeline asks of it; `process.py` has one that lives in a process of its own.
"""

import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Any, Protocol

from evener.artifacts.plan import Lane
from evener.comm.channel import Message, Slot
from evener.errors import ChannelClosedError, ChannelError, InputError, StageFailedError
from evener.run.order import Inlet, OrderedInlet
from evener.run.progress import GAUGE_DOUBLES, Gauge
from evener.run.record import LaneProgress, LaneRecord
from evener.run.wiring import NO_STATES, Circuit, Ports, Wiring
from evener.runtime import pinning
from evener.runtime.session import Array, Optimisation, Runtime, Session


class Outlet(Protocol):
    """The writing half of a channel."""

    def acquire(self, deadline: float | None = None) -> Slot:
        """Take a free slot; see `evener.comm.channel.Channel.acquire`."""
        ...

    def put(self, frame_id: int, slot: Slot, deadline: float | None = None) -> None:
        """Hand on a written slot."""
        ...

    def put_error(self, frame_id: int, error: BaseException) -> None:
        """Hand on, in band, that a frame failed."""
        ...

    def free(self, slot: Slot) -> None:
        """Give a slot back that was acquired."""
        ...


class Worker(Protocol):
    """A lane of a plan at work, wherever that is."""

    @property
    def stage(self) -> int:
        """Index of its stage."""
        ...

    @property
    def lane(self) -> Lane:
        """Where and what it runs."""
        ...

    def launch(
        self, runtimes: Mapping[str, Runtime], optimisation: Optimisation, *, behind: bool = False
    ) -> None:
        """Begin to live, without waiting for it.

        Args:
            runtimes: by name.
            optimisation: how far they optimise each part.
            behind: whether it is to leave the cores to others until `step_forward`, where it can.

        Raises:
            InputError: the runtimes cannot go where the lane is.
        """
        ...

    def step_forward(self) -> None:
        """Take its share of the cores from now on, also if it is launched `behind` only then."""
        ...

    def open(self, models: Sequence[bytes]) -> Sequence[Ports]:
        """Open a session for each part of the lane, and return what each reads and writes.

        Args:
            models: the model of each part; once its session is open, the lane keeps none.

        Raises:
            InputError: this process may not use one of its cores.
            StageFailedError: a runtime refused a part.
            ChannelClosedError: another thread ended it meanwhile (`join`).
        """
        ...

    def start(self, wiring: Wiring, source: Any, to: Any) -> None:  # noqa: ANN401 - see below
        """Take frames from an inlet and hand them to an outlet, from now on.

        Both are of the kind that this worker's transport makes: an `Inlet` and an `Outlet` of this
        process, or channels that another process can join.
        """
        ...

    def begin(
        self, first: int = 0, *, spans: bool = False, states: Mapping[str, Array] = NO_STATES
    ) -> None:
        """Forget the times and states of the run before; no frame may be in flight.

        Args:
            first: number of the first frame to come.
            spans: whether the record is to say when each frame began.
            states: values of states before that frame, by the names of the inputs that read them;
                zero where none is given.
        """
        ...

    def record(self) -> LaneRecord:
        """Return what it did in this run."""
        ...

    def progress(self) -> LaneProgress:
        """Return what it does just now; any thread may ask."""
        ...

    def abandon(self) -> None:
        """Give it up where it hangs: a process is killed, a thread is never waited for."""
        ...

    def join(self, patience_s: float) -> bool:
        """Wait for its end, once its inlet and outlet are closed; return whether it came."""
        ...


class LaneThread:
    """A lane as a thread of this process; see `Worker`.

    Args:
        stage: index of its stage.
        lane: where and what it runs.
        clock: the time, in seconds.
        crashed: called with an error that is no frame's, after which the lane ends.
        gauge: where it shows its progress.
    """

    def __init__(
        self,
        stage: int,
        lane: Lane,
        *,
        clock: Callable[[], float],
        crashed: Callable[[StageFailedError], None],
        gauge: Gauge | None = None,
    ) -> None:
        self.stage = stage
        self.lane = lane
        self._clock = clock
        self._crashed = crashed
        self._gauge = gauge or Gauge(array("d", [0.0] * GAUGE_DOUBLES))
        self._times_s = array("d")
        self._spans: tuple[array[int], array[float]] | None = None  # frames, when they began
        self._confirmed: tuple[int, ...] = ()
        self._models: SimpleQueue[bytes | None] = SimpleQueue()
        self._opened: SimpleQueue[Sequence[Session] | Exception] = SimpleQueue()
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._sessions: Sequence[Session] = ()
        self._thread: threading.Thread | None = None
        self._abandoned = False
        self._circuit: Circuit | None = None
        self._inlet: OrderedInlet | None = None

    def launch(
        self,
        runtimes: Mapping[str, Runtime],
        optimisation: Optimisation,
        *,
        behind: bool = False,  # noqa: ARG002 - see `step_forward`
    ) -> None:
        """Start the thread; see `Worker.launch`."""
        self._thread = threading.Thread(
            target=self._live,
            args=(runtimes, optimisation),
            name=f"stage {self.stage} on {self.lane.processor}",
            daemon=True,
        )
        self._thread.start()

    def step_forward(self) -> None:
        """Do nothing: it never stood behind, as others wait for what it locks, Python too."""

    def open(self, models: Sequence[bytes]) -> Sequence[Session]:
        """Open a session for each part; see `Worker.open`."""
        for model in models:
            self._models.put(model)
        opened = self._opened.get()
        if isinstance(opened, Exception):
            raise opened
        self._sessions = opened
        return opened

    def start(self, wiring: Wiring, source: Inlet, to: Outlet) -> None:
        """Take frames from now on; see `Worker.start`."""
        circuit = self._circuit = Circuit(self._sessions, wiring)
        if wiring.states:
            source = self._inlet = OrderedInlet(source)
        self._work.put(lambda: self._run_frames(circuit, source, to))

    def begin(
        self, first: int = 0, *, spans: bool = False, states: Mapping[str, Array] = NO_STATES
    ) -> None:
        """Forget the times and states of the run before; see `Worker.begin`."""
        self._times_s = array("d")
        self._spans = (array("q"), array("d")) if spans else None
        self._gauge.reset()
        if self._circuit is not None:
            self._circuit.reset(states)
        if self._inlet is not None:
            self._inlet.begin(first)

    def record(self) -> LaneRecord:
        """Return what it did in this run."""
        return LaneRecord(
            stage=self.stage,
            processor=self.lane.processor,
            cores=self._confirmed,
            times_s=self._times_s,
            planned_s=self.lane.time_s,
            frames=() if self._spans is None else self._spans[0],
            begun_s=() if self._spans is None else self._spans[1],
        )

    def progress(self) -> LaneProgress:
        """Return what it does just now; any thread may ask."""
        return self._gauge.progress(self.stage, self.lane)

    def abandon(self) -> None:
        """Never wait for the thread: its session hangs, and no thread can be killed."""
        self._abandoned = True

    def join(self, patience_s: float) -> bool:
        """Wait for the thread's end, once its inlet and outlet are closed.

        Returns:
            Whether it ended in time, or was abandoned. The thread itself does not wait for its
            own end.
        """
        self._models.put(None)
        self._work.put(None)
        if self._thread is None or self._thread is threading.current_thread() or self._abandoned:
            return True
        self._thread.join(patience_s)
        return not self._thread.is_alive()

    def _live(
        self,
        runtimes: Mapping[str, Runtime],
        optimisation: Optimisation,
    ) -> None:
        sessions: list[Session] = []
        try:
            with pinning.pinned(self.lane.cores):
                before = pinning.threads()
                for part in self.lane.parts:
                    model = self._models.get()
                    if model is None:  # `open` may come yet, and waits for an answer
                        self._opened.put(ChannelClosedError("closed before it was open"))
                        return
                    session = runtimes[part.runtime].open(
                        model,
                        cores=self.lane.cores,
                        precision=part.precision,
                        optimisation=optimisation,
                        execution=part.execution,
                        processor=self.lane.processor,
                    )
                    sessions.append(session)
                    del model
                confirmed = pinning.confirmed_cores(frozenset(self.lane.cores), before)
                self._confirmed = tuple(core for core in self.lane.cores if core in confirmed)
                self._opened.put(sessions)
                work = self._work.get()
                if work is not None:
                    work()
        except Exception as error:  # noqa: BLE001 - raised again to the thread that opens
            self._opened.put(self._refusal(len(sessions), error))
        finally:
            for session in sessions:
                session.close()

    def _run_frames(self, circuit: Circuit, source: Inlet, to: Outlet) -> None:
        try:
            while True:
                self._run_frame(source.get(), circuit, source, to)
        except ChannelClosedError:
            return  # how a lane ends
        except Exception as error:  # noqa: BLE001 - raised again to the thread that runs
            failure = StageFailedError(
                f"stage {self.stage} on {self.lane.processor} broke down: {error}",
                stage=self.stage,
                processor=self.lane.processor,
                cores=self.lane.cores,
            )
            failure.__cause__ = error
            self._crashed(failure)

    def _run_frame(self, message: Message, circuit: Circuit, source: Inlet, to: Outlet) -> None:
        frame_id, slot = message.frame_id, message.slot
        if slot is None:
            to.put_error(frame_id, message.error or ChannelError(f"frame {frame_id} has no slot"))
            return
        target = to.acquire()
        begun_s = self._clock()
        self._gauge.begin(frame_id, begun_s)
        try:
            circuit.run(slot.arrays, target.arrays)
        except Exception as error:  # noqa: BLE001 - a runtime's; travels in band to who runs
            self._gauge.end(None)
            to.free(target)
            to.put_error(frame_id, self._failure(frame_id, error))
        else:
            took_s = self._clock() - begun_s
            self._gauge.end(took_s)  # what the caller's `emit` takes is no work of this lane
            self._times_s.append(took_s)
            if self._spans is not None:
                self._spans[0].append(frame_id)
                self._spans[1].append(begun_s)
            to.put(frame_id, target)
        source.free(slot)

    def _refusal(self, part: int, error: Exception) -> Exception:
        if isinstance(error, InputError):
            return error
        refused = self.lane.parts[min(part, len(self.lane.parts) - 1)]
        failure = StageFailedError(
            f"stage {self.stage} on {self.lane.processor} cannot open blocks "
            f"{refused.first_block} to {refused.last_block} with {refused.runtime}: {error}",
            stage=self.stage,
            processor=self.lane.processor,
            cores=self.lane.cores,
        )
        failure.__cause__ = error
        return failure

    def _failure(self, frame_id: int, error: Exception) -> StageFailedError:
        failure = StageFailedError(
            f"stage {self.stage} on {self.lane.processor} failed at frame {frame_id}: {error}",
            stage=self.stage,
            frame_id=frame_id,
            processor=self.lane.processor,
            cores=self.lane.cores,
        )
        failure.__cause__ = error
        return failure


def did_not_end(waited_s: float, name: str, worker: Worker | None = None) -> StageFailedError:
    """Say that a lane or a carrier did not end in time.

    Args:
        waited_s: how long it had.
        name: of it.
        worker: the lane; None for a carrier.
    """
    return StageFailedError(
        f"{name} did not end within {waited_s:g} s: its session or the source of frames hangs; end "
        "the process",
        stage=-1 if worker is None else worker.stage,
        processor="" if worker is None else worker.lane.processor,
        cores=() if worker is None else worker.lane.cores,
    )
