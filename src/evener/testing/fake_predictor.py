"""A predictor that computes nothing worth it, and is in whatever state a test says."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future

from evener.artifacts.tensor import Tensor
from evener.serve.predictor import Arrays, Load, State


def add_one(frame: Arrays) -> Arrays:
    """Answer `y` = `x` + 1, and whether `x` is above 0."""
    return frame[0] + 1, frame[0] > 0


class FakePredictor:
    """Reads `x`, float32 [1, 3], and answers `y`, float32 [1, 3], and `large`, bool [1, 3].

    Attributes:
        state: what it says it is.
        properties: what it says of itself besides.
        load: what it says it has to do.
        asked: the frames that came.
        answer: what it answers a frame, or raises.
        refusal: what `submit` raises, if anything.
        pool: threads that answer, in whatever order; None to answer at once.

    Args:
        answer: as above.
    """

    name = "fake net"
    version = "1"
    inputs = (Tensor(name="x", shape=(1, 3), dtype="float32"),)
    outputs = (
        Tensor(name="y", shape=(1, 3), dtype="float32"),
        Tensor(name="large", shape=(1, 3), dtype="bool"),
    )

    def __init__(self, answer: Callable[[Arrays], Arrays] = add_one) -> None:
        self.state: State = "ready"
        self.properties: Mapping[str, str] = {}
        self.load = Load(waiting=0, in_flight=0)
        self.asked: list[Arrays] = []
        self.answer = answer
        self.refusal: Exception | None = None
        self.pool: Executor | None = None

    def submit(self, frame: Arrays) -> "Future[Arrays]":
        """Answer, or promise to."""
        if self.refusal is not None:
            raise self.refusal
        self.asked.append(frame)
        if self.pool is not None:
            return self.pool.submit(self.answer, frame)
        future: Future[Arrays] = Future()
        try:
            future.set_result(self.answer(frame))
        except Exception as error:  # noqa: BLE001 - as a stage's would, it goes to who asked
            future.set_exception(error)
        return future
