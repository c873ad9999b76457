"""Closing pipelines beside one's work."""

import threading

from evener.errors import StageFailedError
from evener.run.leaving import Leaving
from evener.run.pipeline import Pipeline
from evener.testing.plans import chain
from evener.testing.scripted_runtime import ScriptedRuntime, vector

PATIENCE_S = 20.0


class Slow(Pipeline):
    """A pipeline whose end waits for another's, and then says that a lane did not end."""

    def __init__(self, waits: threading.Event, ends: threading.Event) -> None:
        super().__init__(
            chain((1, [()]), runtime="scripted"),
            lambda *_: b"x>y",
            inputs=[vector("x")],
            runtimes={"scripted": ScriptedRuntime()},
        )
        self._waits, self._ends = waits, ends

    def close(self) -> None:
        assert self._waits.wait(PATIENCE_S)
        super().close()
        self._ends.set()
        raise StageFailedError("stage 0 on p0a did not end within 0 s", stage=0)


def test_pipelines_are_closed_at_the_same_time_and_waited_for_at_the_end() -> None:
    first, second, both = threading.Event(), threading.Event(), threading.Event()
    leaving = Leaving()

    leaving.close(Slow(waits=second, ends=both))  # the first can only end once the second has
    leaving.close(Slow(waits=first, ends=second))
    assert not both.is_set()
    first.set()
    leaving.wait()

    assert both.is_set()
    assert not [one for one in threading.enumerate() if one.name == "leaving"]
