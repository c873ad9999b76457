"""Put frames together into batches for a pipeline, and take its answers apart again."""

from collections.abc import Iterable, Iterator

import msgspec
import numpy as np

from evener.artifacts.trace import Trace
from evener.run.entry import Frame
from evener.run.sink import Emit
from evener.runtime.session import Array


class Batches:
    """Frames in groups of equal size, along the first dimension of each array.

    The last batch is filled up with copies of its last frame, whose answers go nowhere. Iterate
    over it once; use it for one run.

    Args:
        frames: frames whose arrays begin with a dimension of 1.
        size: how many frames make a batch.

    Example:
        >>> seen = []
        >>> batches = Batches(((np.full((1, 2), n),) for n in range(3)), 2)
        >>> emit = batches.taken_apart(lambda number, y: seen.append((number, y[0].sum())))
        >>> for number, batch in enumerate(batches):
        ...     emit(number, (batch[0] * 10,))
        >>> [(number, int(value)) for number, value in seen], batches.frames
        ([(0, 0), (1, 20), (2, 40)], 3)
    """

    def __init__(self, frames: Iterable[Frame], size: int) -> None:
        self._frames = frames
        self._size = size
        self.frames = 0
        """How many frames were taken from the source."""

    def __iter__(self) -> Iterator[Frame]:
        """Make batch after batch."""
        held: list[Frame] = []
        for frame in self._frames:
            held.append(frame)
            self.frames += 1
            if len(held) == self._size:
                yield _stacked(held)
                held = []
        if held:
            yield _stacked([*held, *[held[-1]] * (self._size - len(held))])

    def taken_apart(self, emit: Emit) -> Emit:
        """Make an `emit` for batches that hands on each frame's answer under its own number."""

        def emit_each(number: int, answer: tuple[Array, ...]) -> None:
            first = number * self._size
            # An unfinished batch is the last, so that all frames are counted when it comes back.
            for index in range(min(self._size, self.frames - first)):
                emit(first + index, tuple([array[index : index + 1] for array in answer]))

        return emit_each

    def trace_of(self, trace: Trace, credits: int) -> Trace:
        """Count the frames where a pipeline counted batches.

        Args:
            trace: of the pipeline; its latencies stay those of batches, as do the times of its
                stages.
            credits: most batches in flight.
        """
        full = trace.frames - credits  # batches that the rate rests on
        rate_hz = self.frames / max(trace.elapsed_s, 1e-9)
        if full > 0:
            rate_hz = trace.rate_hz * (self.frames - credits * self._size) / full
        return msgspec.structs.replace(trace, frames=self.frames, rate_hz=rate_hz, batch=self._size)


def _stacked(frames: list[Frame]) -> Frame:
    return tuple([np.concatenate(arrays) for arrays in zip(*frames, strict=True)])
