"""What the service asks of whatever answers its requests."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Literal, Protocol

import msgspec
from numpy.typing import NDArray

from evener.artifacts.tensor import Tensor

Arrays = tuple[NDArray[Any], ...]
State = Literal["ready", "recovering", "closed", "broken"]


class StageLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What one lane of one stage has done.

    Attributes:
        stage: index of the stage.
        lane: index of the lane in it.
        processor: what it runs on.
        busy_s: time it has computed, in seconds; may begin anew at 0.
    """

    stage: int
    lane: int
    processor: str
    busy_s: float


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """How much a predictor has to do just now.

    Attributes:
        waiting: requests that wait.
        in_flight: requests that are computed.
        stages: what computes them.
    """

    waiting: int
    in_flight: int
    stages: Sequence[StageLoad] = ()


class Predictor(Protocol):
    """Answers frames; any thread may call it."""

    @property
    def name(self) -> str:
        """What clients call the model."""
        ...

    @property
    def version(self) -> str:
        """Which version of the model it is."""
        ...

    @property
    def properties(self) -> Mapping[str, str]:
        """What clients are told of it besides."""
        ...

    @property
    def inputs(self) -> Sequence[Tensor]:
        """What a frame holds."""
        ...

    @property
    def outputs(self) -> Sequence[Tensor]:
        """What an answer holds."""
        ...

    @property
    def state(self) -> State:
        """Whether it answers: "recovering" ones will soon, "broken" ones never again."""
        ...

    @property
    def load(self) -> Load:
        """How much it has to do."""
        ...

    def submit(self, frame: Arrays) -> "Future[Arrays]":
        """Take a frame, without waiting for its answer.

        Args:
            frame: one array per input, of its shape and type.

        Returns:
            The answer to come, one array per output, or what went wrong with this frame. A frame
            whose future is cancelled need not be computed.

        Raises:
            UnavailableError: it takes no frame just now.
        """
        ...
