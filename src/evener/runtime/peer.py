"""Run a whole network the way OpenVINO itself would spread it over the machine, as a peer.

A plan is held against what a user of OpenVINO gets who asks for low latency, for high throughput,
or leaves the choice to its AUTO device. It chooses cores and threads; frames go in by as many
asynchronous requests as it recommends, each to the first that is free.
"""

import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final

from evener.runtime import pinning, refusal
from evener.runtime.session import Array

_RUNTIME: Final = "openvino"
PEERS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "openvino LATENCY": ("CPU", "LATENCY"),
        "openvino THROUGHPUT": ("CPU", "THROUGHPUT"),
        "openvino AUTO": ("AUTO", "LATENCY"),  # the hint that AUTO takes by itself
    }
)
"""Device and performance hint, by name."""

Answers = Callable[[int, Sequence[Array]], None]


def known_peers() -> tuple[str, ...]:
    """Return the names of the peers that are installed."""
    return tuple(PEERS) if find_spec(_RUNTIME) is not None else ()


class Peer:
    """A whole network in OpenVINO, spread over the cores by OpenVINO.

    Args:
        name: one of `known_peers`.
        model: a serialised ONNX model with static shapes.
        clock: the time, in seconds.

    Raises:
        RuntimeFailedError: OpenVINO refuses the model.
    """

    def __init__(
        self, name: str, model: bytes, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.name = name
        self._clock = clock
        self._done_s = array("d")
        self._emit: Answers | None = None
        with pinning.MAKING:
            self._queue: Any = refusal.translated(
                _RUNTIME, "cannot open the network", lambda: _queue(model, *PEERS[name])
            )
        self._queue.set_callback(self._note)

    @property
    def requests(self) -> int:
        """How many frames it has in flight at most: as many as OpenVINO recommends."""
        return len(self._queue)

    def run(
        self, frames: Iterable[Mapping[str, Array]], emit: Answers | None = None
    ) -> tuple[Sequence[float], Sequence[float]]:
        """Answer frames until there are none left.

        Args:
            frames: the arrays of each by the name of the input, which are read while it is in
                flight.
            emit: called with the number of a frame and its answer as soon as that is there, by a
                thread of OpenVINO's. The arrays are used again once it returns.

        Returns:
            When each frame was taken, a request being free, and when its answer was there, in
            the order of the frames and in seconds of the clock.

        Raises:
            RuntimeFailedError: OpenVINO could not run it.
        """
        granted_s = array("d")
        self._done_s, self._emit = array("d"), emit

        def run() -> None:
            for number, frame in enumerate(frames):
                self._queue.get_idle_request_id()
                granted_s.append(self._clock())
                self._done_s.append(0.0)
                self._queue.start_async(frame, userdata=number, share_inputs=True)
            self._queue.wait_all()

        refusal.translated(_RUNTIME, "failed in the network", run)
        return granted_s, self._done_s

    def close(self) -> None:
        """Give back its requests and memory; a second call does nothing."""
        self._queue = None

    def _note(self, request: Any, number: int) -> None:  # noqa: ANN401 - OpenVINO ships no types
        self._done_s[number] = self._clock()
        if self._emit is not None:
            self._emit(number, [tensor.data for tensor in request.output_tensors])


def _queue(model: bytes, device: str, hint: str) -> Any:  # noqa: ANN401 - as above
    import openvino  # noqa: TID251 - one of the modules that run networks with it

    from evener.runtime.openvino import shared_core

    core = shared_core()
    settings = {"PERFORMANCE_HINT": hint, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(core.read_model(model), device, settings)
    return openvino.AsyncInferQueue(compiled)
