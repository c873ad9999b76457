"""One thread on one core set that runs its part of every frame it gets.

The thread opens its own sessions, so that it is one of their threads, and closes them at its end.
"""

import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Protocol

from evener.artifacts.plan import Lane
from evener.comm.channel import Message, Slot
from evener.errors import ChannelClosedError, ChannelError, InputError, StageFailedError
from evener.run.record import RECENT, LaneProgress, LaneRecord
from evener.run.wiring import Circuit, Wiring
from evener.runtime import pinning
from evener.runtime.session import Optimisation, Runtime, Session


class Inlet(Protocol):
    """The reading half of a channel."""

    def get(self, deadline: float | None = None) -> Message:
        """Take the next frame; see `evener.comm.channel.Channel.get`."""
        ...

    def free(self, slot: Slot) -> None:
        """Give a slot back that `get` returned."""
        ...


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


class LaneThread:
    """A lane of a plan at work.

    Args:
        stage: index of its stage.
        lane: where and what it runs.
        clock: the time, in seconds.
        crashed: called with an error that is no frame's, after which the lane ends.
    """

    def __init__(
        self,
        stage: int,
        lane: Lane,
        *,
        clock: Callable[[], float],
        crashed: Callable[[Exception], None],
    ) -> None:
        self.stage = stage
        self.lane = lane
        self._clock = clock
        self._crashed = crashed
        self._times_s = array("d")
        self._at: tuple[int, float] | None = None
        self._confirmed: tuple[int, ...] = ()
        self._models: SimpleQueue[bytes] = SimpleQueue()
        self._opened: SimpleQueue[Sequence[Session] | Exception] = SimpleQueue()
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def open(
        self,
        models: Sequence[bytes],
        runtimes: Mapping[str, Runtime],
        optimisation: Optimisation,
    ) -> Sequence[Session]:
        """Start the thread and open a session for each part of the lane.

        Args:
            models: the model of each part; once its session is open, the lane keeps none.
            runtimes: by name.
            optimisation: how far the runtimes optimise each part.

        Raises:
            InputError: this process may not use one of its cores.
            StageFailedError: a runtime refused a part.
        """
        for model in models:
            self._models.put(model)
        self._thread = threading.Thread(
            target=self._live,
            args=(runtimes, optimisation),
            name=f"stage {self.stage} on {self.lane.processor}",
            daemon=True,
        )
        self._thread.start()
        opened = self._opened.get()
        if isinstance(opened, Exception):
            raise opened
        return opened

    def start(self, sessions: Sequence[Session], wiring: Wiring, source: Inlet, to: Outlet) -> None:
        """Let the opened lane take frames from an inlet and hand them to an outlet."""
        circuit = Circuit(sessions, wiring)
        self._work.put(lambda: self._run_frames(circuit, source, to))

    def begin(self) -> None:
        """Forget the times of the run before; no frame may be in flight."""
        self._times_s, self._at = array("d"), None

    def record(self) -> LaneRecord:
        """Return what it did in this run."""
        return LaneRecord(
            stage=self.stage,
            processor=self.lane.processor,
            cores=self._confirmed,
            times_s=self._times_s,
            planned_s=self.lane.time_s,
        )

    def progress(self) -> LaneProgress:
        """Return what it does just now; any thread may ask."""
        frame_id, since_s = self._at or (None, 0.0)
        return LaneProgress(
            stage=self.stage,
            lane=self.lane,
            frame_id=frame_id,
            since_s=since_s,
            frames=len(self._times_s),
            recent_s=self._times_s[-RECENT:],
        )

    def join(self, patience_s: float) -> bool:
        """Wait for the thread's end, once its inlet and outlet are closed.

        Returns:
            Whether it ended in time. The thread itself does not wait for its own end.
        """
        self._work.put(None)
        if self._thread is None or self._thread is threading.current_thread():
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
                    session = runtimes[part.runtime].open(
                        self._models.get(),
                        cores=self.lane.cores,
                        precision=part.precision,
                        optimisation=optimisation,
                    )
                    sessions.append(session)
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
            self._crashed(error)

    def _run_frame(self, message: Message, circuit: Circuit, source: Inlet, to: Outlet) -> None:
        frame_id, slot = message.frame_id, message.slot
        if slot is None:
            to.put_error(frame_id, message.error or ChannelError(f"frame {frame_id} has no slot"))
            return
        target = to.acquire()
        begun_s = self._clock()
        self._at = frame_id, begun_s
        try:
            circuit.run(slot.arrays, target.arrays)
        except Exception as error:  # noqa: BLE001 - a runtime's; travels in band to who runs
            self._at = None
            to.free(target)
            to.put_error(frame_id, self._failure(frame_id, error))
        else:
            self._at = None  # what the caller's `emit` takes is no work of this lane
            self._times_s.append(self._clock() - begun_s)
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
