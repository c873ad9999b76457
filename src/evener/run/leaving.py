"""Close pipelines beside one's work: the next one need not wait for the end of the last."""

import threading
from contextlib import suppress

from evener.errors import StageFailedError
from evener.run.pipeline import Pipeline


class Leaving:
    """Pipelines that are being closed, each in a thread of its own."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def close(self, pipeline: Pipeline) -> None:
        """Begin to close a pipeline; a second time does no harm."""
        thread = threading.Thread(target=_close, args=(pipeline,), name="leaving", daemon=True)
        self._threads.append(thread)
        thread.start()

    def wait(self) -> None:
        """Wait until all are closed."""
        while self._threads:
            self._threads.pop().join()


def _close(pipeline: Pipeline) -> None:
    # A lane that does not end is left to itself, as a thread that hangs must be: the rest goes on.
    with suppress(StageFailedError):
        pipeline.close()
