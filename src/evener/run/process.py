"""A lane in a process of its own: what breaks there, breaks nothing here.

The process is a fresh Python (`child.py`), never a fork, since runtimes have threads. A line of
orders leads to it (`correspondence.py`): its end is the process's.
"""

import mmap
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import evener
from evener.artifacts.plan import Lane
from evener.comm.link import Link
from evener.comm.processes import ProcessChannel
from evener.errors import InputError, StageFailedError
from evener.run import orders
from evener.run.correspondence import Correspondence, launched
from evener.run.lane import Worker
from evener.run.progress import GAUGE_DOUBLES, Gauge
from evener.run.record import LaneProgress, LaneRecord
from evener.run.wiring import NO_STATES, Ports, Wiring
from evener.runtime import pinning, priority
from evener.runtime.session import Array, Optimisation, Runtime

_ROOT: Final = str(Path(evener.__file__).parent.parent)


class LaneProcess:
    """A lane as a process; see `evener.run.lane.Worker`.

    Its progress and its times are by `time.perf_counter`, which all processes of a machine share.

    Args:
        stage: index of its stage.
        lane: where and what it runs.
        crashed: called with the error when the process ends unasked or its lane breaks down.
    """

    def __init__(
        self, stage: int, lane: Lane, *, crashed: Callable[[StageFailedError], None]
    ) -> None:
        self.stage = stage
        self.lane = lane
        self._crashed = crashed
        self._process: subprocess.Popen[bytes] | None = None
        self._link: Link | None = None
        self._orders: Correspondence | None = None
        self._gauge = Gauge([0.0] * GAUGE_DOUBLES)
        self._standing = threading.Lock()  # guards the two that follow
        self._forward = False
        self._behind = False
        self._ending = False

    def launch(
        self, runtimes: Mapping[str, Runtime], optimisation: Optimisation, *, behind: bool = False
    ) -> None:
        """Start the process; see `evener.run.lane.Worker.launch`."""
        used = used_by(self.lane, runtimes)
        memory = os.memfd_create("evener-gauge")
        try:
            os.ftruncate(memory, GAUGE_DOUBLES * 8)
            self._gauge = shared_gauge(memory)
            self._process, self._link = _begin_process()
            with self._standing:
                if behind and not self._forward:
                    self._behind = priority.stand_behind(self._process.pid)
            self._orders = Correspondence(
                self._link,
                name=f"stage {self.stage} on {self.lane.processor}",
                crashed=lambda error: self._crashed(broken_down(self, error)),
                broken=self._died,
                late=self._gave_up,
            )
            host = orders.Host(path=tuple(sys.path), cores=tuple(pinning.PROCESS_CORES))
            self._orders.tell(host, [memory])
        finally:
            os.close(memory)
        self._orders.launch(self.stage, self.lane, used, optimisation)

    def step_forward(self) -> None:
        """Let its process take its share of the cores; see `Worker.step_forward`."""
        with self._standing:
            self._forward = True
            if self._process is not None and self._behind:
                self._behind = False
                priority.step_forward(self._process.pid)

    def open(self, models: Sequence[bytes]) -> Sequence[Ports]:
        """Open a session for each part; see `evener.run.lane.Worker.open`."""
        return launched(self._orders).open(models)

    def start(self, wiring: Wiring, source: ProcessChannel, to: ProcessChannel) -> None:
        """Take frames from now on; see `evener.run.lane.Worker.start`."""
        files = [*source.handles, *to.handles]
        launched(self._orders).start(wiring, source.layout, to.layout, files)

    def begin(
        self, first: int = 0, *, spans: bool = False, states: Mapping[str, Array] = NO_STATES
    ) -> None:
        """Forget the run before; see `evener.run.lane.Worker.begin`."""
        launched(self._orders).begin(first, spans=spans, states=states)

    def record(self) -> LaneRecord:
        """Return what it did in this run."""
        return launched(self._orders).record()

    def progress(self) -> LaneProgress:
        """Return what it does just now; any thread may ask."""
        process = self._process.pid if self._process is not None else None
        return self._gauge.progress(self.stage, self.lane, process)

    def abandon(self) -> None:
        """Kill the process, which a hanging session cannot prevent."""
        self._ending = True
        if self._process is not None:
            self._process.kill()

    def join(self, patience_s: float) -> bool:
        """Wait for its end, and kill it if that does not come in time; it always ends."""
        self._ending = True
        if self._process is None or self._link is None or self._orders is None:
            return True
        self._orders.tell(orders.Stop())
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._orders.join()
        self._link.close()
        return True

    def _gave_up(self, waited_s: float) -> StageFailedError:
        """Kill the process: it would not end by itself either."""
        self.abandon()
        return does_not_answer(self, f"process {self._process_id()}", waited_s)

    def _process_id(self) -> int:
        return 0 if self._process is None else self._process.pid

    def _died(self) -> StageFailedError:
        """Find out how the process ended, and tell the pipeline if nobody asked for it."""
        code = self._process.wait() if self._process is not None else 0
        process = self._process_id()
        frame_id, _ = self._gauge.at
        names = {one.value: one.name for one in signal.Signals}
        how = f"was killed by {names.get(-code, -code)}" if code < 0 else f"ended with {code}"
        when = "between two frames" if frame_id is None else f"at frame {frame_id}"
        failure = StageFailedError(
            f"the process {process} of stage {self.stage} on {self.lane.processor} {how} {when}; "
            "if nobody did, look for a lack of memory in the kernel's log (dmesg)",
            stage=self.stage,
            processor=self.lane.processor,
            cores=self.lane.cores,
            frame_id=-1 if frame_id is None else frame_id,
        )
        if not self._ending:
            self._crashed(failure)
        return failure


def shared_gauge(memory: int) -> Gauge:
    """Make a gauge in memory that two processes share.

    Args:
        memory: file descriptor of the memory.
    """
    return Gauge(memoryview(mmap.mmap(memory, GAUGE_DOUBLES * 8)).cast("d"))


def used_by(lane: Lane, runtimes: Mapping[str, Runtime]) -> dict[str, Runtime]:
    """Return the runtimes of a lane that lives elsewhere.

    Raises:
        InputError: one cannot go there.
    """
    used = {part.runtime: runtimes[part.runtime] for part in lane.parts}
    for name, runtime in used.items():
        try:
            pickle.dumps(runtime)
        except Exception as error:
            raise InputError(
                f"the runtime '{name}' cannot go to another process: {error}; run its stages as "
                "threads"
            ) from error
    return used


def broken_down(worker: Worker, error: BaseException) -> StageFailedError:
    """Name the lane that an error came from, if it does not itself."""
    if isinstance(error, StageFailedError):
        return error
    return StageFailedError(
        f"stage {worker.stage} on {worker.lane.processor} broke down: {error}",
        stage=worker.stage,
        processor=worker.lane.processor,
        cores=worker.lane.cores,
    )


def _begin_process() -> tuple[subprocess.Popen[bytes], Link]:
    """Start a process that waits for orders; return it and the line to it."""
    here, there = socket.socketpair()
    with there:
        try:
            process = subprocess.Popen(  # noqa: S603 - this Python and our own module
                [sys.executable, "-P", "-m", "evener.run.child", str(there.fileno())],
                pass_fds=(there.fileno(),),
                env=os.environ | {"PYTHONPATH": _first_on_path(_ROOT)},
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is for the pipeline, which then ends its lanes
            )
        except BaseException:
            here.close()
            raise
    return process, Link(here)


def does_not_answer(worker: Worker, where: str, waited_s: float) -> StageFailedError:
    """Say that a lane did not answer what it answers at once."""
    return StageFailedError(
        f"stage {worker.stage} on {worker.lane.processor} in the {where} hangs: it has answered "
        f"nothing for {waited_s:g} s, though it holds no frame; look whether it was stopped (state "
        "T in ps)",
        stage=worker.stage,
        processor=worker.lane.processor,
        cores=worker.lane.cores,
    )


def _first_on_path(folder: str) -> str:
    others = os.environ.get("PYTHONPATH", "")
    return f"{folder}{os.pathsep}{others}" if others else folder
