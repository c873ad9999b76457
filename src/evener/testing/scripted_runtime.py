"""A runtime whose sessions do what a test says: wait, fail, or add one.

Its models are short texts, `b"x,y>z"`: read `x` and `y`, write `z`, which is their sum plus one.
"""

import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Execution
from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.runtime.session import Array, Optimisation, Session

SHAPE: Final = (2,)


def do_nothing(text: str, value: float) -> None:
    """Be a script that lets every frame pass."""


@dataclass(frozen=True, slots=True)
class SignalAt:
    """A script that sends its own process a signal at one frame; it can go to other processes.

    Attributes:
        text: the model.
        value: the first input's first element.
        number: the signal.
    """

    text: str
    value: float
    number: signal.Signals

    def __call__(self, text: str, value: float) -> None:
        """Look whether it is this frame."""
        if (text, value) == (self.text, self.value):
            # To this very thread, which then computes no further.
            signal.pthread_kill(threading.get_ident(), self.number)


@dataclass(frozen=True, slots=True)
class RaiseAt:
    """A script that fails at one frame; it can go to other processes.

    Attributes:
        text: the model.
        value: the first input's first element.
    """

    text: str
    value: float

    def __call__(self, text: str, value: float) -> None:
        """Look whether it is this frame."""
        if (text, value) == (self.text, self.value):
            raise ValueError(f"{text} does not like {value:g}")


class ScriptedRuntime:
    """A runtime of sessions that call a test's function first.

    Args:
        script: called with the model's text and the first input's first element before each run.
    """

    def __init__(self, script: Callable[[str, float], None] = do_nothing) -> None:
        self.script = script
        self.sessions: list[ScriptedSession] = []

    @property
    def name(self) -> str:
        """Its name in plans."""
        return "scripted"

    @property
    def version(self) -> str:
        """Version of its protocol."""
        return "1"

    def supports(self, processor: Processor) -> bool:
        """Whether there is a processor."""
        return bool(processor.name)

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...],  # noqa: ARG002 - it needs none
        precision: str = "f32",  # noqa: ARG002 - sums of small integers are exact
        optimisation: Optimisation = "all",  # noqa: ARG002 - nothing to optimise
        execution: Execution = "sequential",  # noqa: ARG002 - it has no branches
        processor: str = "",  # noqa: ARG002 - it needs none
    ) -> Session:
        """Open a text such as `b"x>y"`; `b"refuse"` is refused."""
        if model == b"refuse":
            raise RuntimeFailedError("scripted refuses", runtime=self.name)
        session = ScriptedSession(model.decode(), self)
        self.sessions.append(session)
        return session


class ScriptedSession:
    """A session that adds its inputs and one.

    Args:
        text: the model.
        runtime: whose script it follows.
    """

    def __init__(self, text: str, runtime: ScriptedRuntime) -> None:
        self.text = text
        self.closed = False
        self._runtime = runtime
        reads, writes = text.split(">")
        self.inputs = tuple(vector(name) for name in reads.split(","))
        self.outputs = tuple(vector(name) for name in writes.split(","))

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Follow the script, then compute."""
        self._runtime.script(self.text, float(inputs[0][0]))
        for output in outputs:
            output[:] = sum(inputs) + 1

    def close(self) -> None:
        """Note that it was closed."""
        self.closed = True


def vector(name: str) -> Tensor:
    """Describe one of its tensors."""
    return Tensor(name=name, shape=SHAPE, dtype="float32")
