"""Hold the pipeline that runs now, between the threads that run, watch, replace and close it."""

import threading
from types import TracebackType

from evener.errors import ChannelClosedError
from evener.run.leaving import Leaving
from evener.run.plans import Plans
from evener.run.record import LaneProgress
from evener.run.running import Running


class Current:
    """The pipeline that runs now; None between two plans.

    Args:
        plans: opens another one after one was given up.

    Attributes:
        lock: guards `running`, and whatever else is decided by it; never held while anything is
            opened or closed.
        running: what runs now; written by the thread that runs frames only, under the lock.
    """

    def __init__(self, plans: Plans) -> None:
        self.lock = threading.Lock()
        self.running: Running | None = None
        self._plans = plans
        self._leaving = Leaving()
        self._closed = False

    def present(self) -> Running:
        """Return what runs; after it was given up, open anew on what is not lost.

        Raises:
            InputError, StageFailedError: see `Pipeline`.
            ChannelClosedError: it was closed.
        """
        if self.running is None:
            return self.take_up(self._plans.open_any())
        return self.running

    def take_up(self, opened: Running) -> Running:
        """Let this run from now on.

        Raises:
            ChannelClosedError: it was closed meanwhile.
        """
        with self.lock:
            if not self._closed:
                self.running = opened
                return opened
        opened.pipeline.close()
        raise ChannelClosedError("the pipeline was closed while another plan was opened")

    def give_up(self) -> None:
        """Let nothing run, and close what did beside all that follows."""
        with self.lock:
            running, self.running = self.running, None
        if running is not None:
            self.leave(running)

    def leave(self, unused: Running) -> None:
        """Close what does not run beside all that follows."""
        self._leaving.close(unused.pipeline)

    def wait(self) -> None:
        """Wait until all that was left is closed."""
        self._leaving.wait()

    def progress(self) -> tuple[LaneProgress, ...]:
        """Return what each lane does; none between two plans."""
        with self.lock:
            return () if self.running is None else self.running.pipeline.progress()

    def close(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close what runs; nothing else is taken up then."""
        with self.lock:
            self._closed, running = True, self.running
        if running is not None:
            running.pipeline.__exit__(kind, error, trace)
