"""Let other programs' ways to spread a network over the machine race against its plan."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np

from evener.artifacts.trace import Trace, streaming_rate_hz
from evener.errors import RuntimeFailedError
from evener.run.compare import Runner
from evener.run.entry import Frame
from evener.run.looks import again_and_again
from evener.run.sink import Emit
from evener.runtime.peer import Peer, known_peers
from evener.runtime.session import Array
from evener.runtime.throttle import Throttle
from evener.workflow.memory import session_bytes
from evener.workflow.opened import Opened
from evener.workflow.race import Entrant, without_those_too_big

_TRIED: Final = 4  # frames that tell about how quick a peer is
_LOOK_S: Final = 0.01  # between looks at which threads a peer has pinned


class PeerRunner:
    """A peer that takes turns with pipelines, its answers counted in the order of the frames.

    Args:
        peer: the peer; whoever opened it closes it.
        names: names of the network's inputs, in the order of a frame.
        throttle: the throttled cores, if some are. Threads that the peer pins to a core while they
            compute, as OpenVINO does, are throttled as that core is; those that wander may use what
            the cores may do together.
    """

    def __init__(
        self, peer: Peer, names: Sequence[str], *, throttle: Throttle | None = None
    ) -> None:
        self._peer = peer
        self._names = names
        self._throttle = throttle

    @property
    def credits(self) -> int:
        """Most frames in flight."""
        return self._peer.requests

    def run(self, frames: Iterable[Frame], emit: Emit, /) -> Trace:
        """Answer frames until there are none left; see `evener.run.compare.Runner`."""

        def named() -> Iterator[Mapping[str, Array]]:
            for frame in frames:
                yield dict(zip(self._names, frame, strict=True))

        with self._settled():
            granted_s, done_s = self._peer.run(
                named(), lambda number, answer: emit(number, tuple(answer))
            )
        # An answer is out once those of all frames before it are.
        emitted_s = np.maximum.accumulate(done_s)
        latencies_s = emitted_s - np.asarray(granted_s)
        return Trace(
            frames=len(done_s),
            dropped=0,
            elapsed_s=float(emitted_s[-1] - granted_s[0]),
            rate_hz=streaming_rate_hz(granted_s, emitted_s.tolist(), credits=self.credits),
            latency_p50_s=float(np.percentile(latencies_s, 50)),
            latency_p99_s=float(np.percentile(latencies_s, 99)),
            wait_p50_s=0.0,
            stages=(),
        )

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """Keep each thread where it belongs, if some cores are throttled."""
        if self._throttle is None:
            yield
            return
        failed: list[Exception] = []
        with (
            self._throttle.together(),
            again_and_again([self._throttle.follow], every_s=_LOOK_S, failed=failed.append),
        ):
            yield
        if failed:
            raise failed[0]


def find_peers(
    opened: Opened, frames: Sequence[Frame], *, throttle: Throttle | None = None
) -> tuple[dict[str, Entrant], dict[str, str]]:
    """Return the peers that can run a network, by name, and reasons why others cannot.

    Each is opened and tried on a few frames.

    Args:
        opened: the network.
        frames: some frames of it.
        throttle: the throttled cores, if some are.
    """
    network = opened.network
    names = [tensor.name for tensor in network.inputs]
    blocks = len(opened.blocks.blocks)
    able: dict[str, Entrant] = {}
    reasons: dict[str, str] = {}
    model = opened.segments(0, blocks - 1)
    for name in known_peers():
        if network.states:
            reasons[name] = "it would not hand the state of one frame on to the next"
            continue

        @contextmanager
        def opening(name: str = name) -> Iterator[Runner]:
            peer = Peer(name, model)
            try:
                yield PeerRunner(peer, names, throttle=throttle)
            finally:
                peer.close()

        memory_bytes = session_bytes(opened, "openvino", 0, blocks - 1)
        untried = Entrant(open=opening, memory_bytes=memory_bytes, rate_hz=1.0)
        _, too_big = without_those_too_big({name: untried})
        reasons |= too_big
        if too_big:
            continue
        try:
            with opening() as runner:
                runner.run(frames[:_TRIED], _drop)
                rate_hz = runner.run(frames[:_TRIED], _drop).rate_hz
        except RuntimeFailedError as error:
            reasons[name] = str(error)
        else:
            able[name] = Entrant(open=opening, memory_bytes=memory_bytes, rate_hz=rate_hz)
    return able, reasons


def _drop(frame_id: int, answer: tuple[Array, ...]) -> None:
    """Emit to nowhere."""
