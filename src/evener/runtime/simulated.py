"""Stand in for a processor that is not here: sessions that take as long as it would.

Each frame is computed for real by another runtime first, and then the session waits until the
simulated processor would have been done. So everything around it, threads and hand-offs and order,
is the real thing, and so are the answers. Where this machine computes longer than the simulated
processor would, that is counted, for the figures of such a run are too low.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Execution
from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.runtime import pinning, refusal
from evener.runtime.binding import Signature
from evener.runtime.session import Array, Optimisation, Runtime, Session

NAME: Final = "simulated"
# A thread that sleeps wakes late, on the machines measured by up to 0.2 ms after a long sleep: so
# it wakes early and looks at the clock for the rest, which takes a core for less than 0.3 ms.
_AWAKE_S: Final = 0.25e-3


@dataclass(slots=True)
class Tally:
    """How often sessions were done in time.

    Attributes:
        frames: frames they took.
        overruns: how many of them were computed longer than the simulated time.
        worst: longest computation over its simulated time; 0 where none was an overrun.
    """

    frames: int = 0
    overruns: int = 0
    worst: float = 0.0

    def clear(self) -> None:
        """Forget all; no session may run meanwhile."""
        self.frames = self.overruns = 0
        self.worst = 0.0


def wait_until(deadline_s: float) -> None:
    """Return at a time of `time.perf_counter`, within tens of microseconds on an idle core.

    Sleeps for most of the time and looks at the clock for the last quarter of a millisecond.
    """
    left_s = deadline_s - time.perf_counter()
    if left_s > _AWAKE_S:
        time.sleep(left_s - _AWAKE_S)
    while time.perf_counter() < deadline_s:
        pass


class SimulatedRuntime:
    """A runtime for one lane, whose sessions take given times.

    Args:
        times_s: seconds of each frame in turn; its sessions take from it one after the other.
        inner: what computes the answers.
        compute: whether it does; if not, answers are zeros.
        clock: the time, in seconds.
        wait: returns at a given time of the clock.

    Attributes:
        tally: how often its sessions were done in time.
    """

    def __init__(
        self,
        times_s: Iterator[float],
        inner: Runtime,
        *,
        compute: bool = True,
        clock: Callable[[], float] = time.perf_counter,
        wait: Callable[[float], None] = wait_until,
    ) -> None:
        self.tally = Tally()
        self._times_s = times_s
        self._inner = inner
        self._compute = compute
        self._clock = clock
        self._wait = wait

    @property
    def name(self) -> str:
        """Its name in plans."""
        return NAME

    @property
    def version(self) -> str:
        """Version of what computes."""
        return self._inner.version

    def supports(self, processor: Processor) -> bool:
        """Whether there is a processor: it stands in for any."""
        return bool(processor.name)

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...] = (),
        precision: str = "f32",
        optimisation: Optimisation = "all",
        execution: Execution = "sequential",  # noqa: ARG002 - it takes its time, however computed
        processor: str = "",  # noqa: ARG002 - it stands in for any
    ) -> Session:
        """Open a network; see `evener.runtime.session.Runtime.open`.

        Without cores, as of a processor that is not here, it computes in the calling thread on
        whichever core that may use.

        Raises:
            InputError: this process may not use a core.
            RuntimeFailedError: the inner runtime refuses the model.
        """
        somewhere = () if cores else (min(pinning.PROCESS_CORES),)
        with pinning.pinned(somewhere):  # only while it opens: a session keeps no core of a caller
            try:
                session = self._inner.open(
                    model, cores=cores or somewhere, precision=precision, optimisation=optimisation
                )
            except RuntimeFailedError as error:
                raise RuntimeFailedError(str(error), runtime=NAME) from error
        return SimulatedSession(
            session,
            self._times_s,
            self.tally,
            compute=self._compute,
            clock=self._clock,
            wait=self._wait,
        )


class SimulatedSession:
    """A network that takes a simulated processor's time. Made by `SimulatedRuntime.open`."""

    def __init__(
        self,
        inner: Session,
        times_s: Iterator[float],
        tally: Tally,
        *,
        compute: bool,
        clock: Callable[[], float],
        wait: Callable[[float], None],
    ) -> None:
        self._inner = inner
        self._times_s = times_s
        self._tally = tally
        self._compute = compute
        self._clock = clock
        self._wait = wait
        self._closed = False
        self._signature = Signature(inner.inputs, inner.outputs, runtime=NAME)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What `run` reads, in graph order."""
        return self._signature.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What `run` writes, in graph order."""
        return self._signature.outputs

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute one frame, and return when its simulated time is over.

        Raises:
            RuntimeFailedError: wrong arrays, a closed session, or the inner runtime failed.
        """
        begun_s = self._clock()
        if self._closed:
            raise refusal.unusable(NAME, closed=True)
        time_s = next(self._times_s)
        if self._compute:
            self._inner.run(inputs, outputs)
        else:
            self._signature.pointers(inputs, outputs)
            for output in outputs:
                output.fill(0)
        taken_s = self._clock() - begun_s
        self._tally.frames += 1
        if taken_s > time_s:
            self._tally.overruns += 1
            self._tally.worst = max(self._tally.worst, taken_s / time_s)
        else:
            self._wait(begun_s + time_s)

    def close(self) -> None:
        """Give back the inner session; a second call does nothing."""
        self._closed = True
        self._inner.close()
