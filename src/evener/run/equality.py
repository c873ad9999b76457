"""Hold a pipeline's answers against those of the unsplit network, frame by frame."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from evener.artifacts.tensor import Tensor
from evener.errors import FrameFailedError, InputError, RuntimeFailedError
from evener.network.state import State
from evener.run.entry import Frame
from evener.runtime.pinning import pinned
from evener.runtime.session import Array, Optimisation, Runtime, empty

Answer = Sequence[Array]
"""One array per output, in graph order."""


class Answers:
    """What the unsplit network answers to some frames, and how far a pipeline was from it.

    Args:
        expected: the unsplit network's answer to each frame of the pool; of a network with states
            to every frame of the run.

    Attributes:
        frames: how many answers were compared.
        equal: whether every one was the same, to the bit.
        max_error: largest difference of an output over the largest value of that output for any
            frame of the pool; 0 if equal, infinite where only one of the two is finite.
        agreeing: how many had the same top answer; None where they have none, see `top_of`.
    """

    def __init__(self, expected: Sequence[Sequence[Array]]) -> None:
        self._expected = expected
        self.frames = 0
        self.equal = True
        self.max_error = 0.0
        self._largest = largest_of(expected)
        self._tops = [top_of(answer) for answer in expected]
        self.agreeing = None if None in self._tops else 0

    def compare(self, frame_id: int, answer: Sequence[Array]) -> None:
        """Take note of a pipeline's answer; frame i is the pool's frame `i % len(pool)`."""
        number = frame_id % len(self._expected)
        same, error = difference(self._expected[number], answer, self._largest)
        self.frames += 1
        if self.agreeing is not None:
            self.agreeing += same or top_of(answer) == self._tops[number]
        self.equal = self.equal and same
        self.max_error = max(self.max_error, error)


@dataclass(frozen=True, slots=True)
class Unsplit:
    """What the unsplit network answers to some frames, and how long it takes.

    Attributes:
        answers: one per frame.
        median_s: median time of a frame, the first left out if there are more, in seconds.
    """

    answers: list[tuple[Array, ...]]
    median_s: float

    @property
    def not_finite(self) -> tuple[int, ...]:
        """Numbers of the frames whose answers hold NaN or infinity."""
        return tuple(
            number
            for number, answer in enumerate(self.answers)
            if not all(np.isfinite(array).all() for array in answer if array.dtype.kind == "f")
        )


def run_unsplit(
    network: bytes,
    frames: Sequence[Frame],
    *,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    runtime: Runtime,
    core: int,
    states: Sequence[State] = (),
    precision: str = "f32",
    optimisation: Optimisation = "all",
    clock: Callable[[], float] = time.perf_counter,
) -> Unsplit:
    """Answer frames with the unsplit network in one session on one core.

    Args:
        network: the unsplit network, serialised.
        frames: the frames, each of C-contiguous arrays.
        inputs: what a frame holds, in order.
        outputs: what an answer is to hold, in order.
        runtime: what runs it.
        core: the logical CPU.
        states: what goes from frame to frame; zero before the first.
        precision: what the network computes in.
        optimisation: how far it is optimised; the pipeline's own for a fair comparison.
        clock: the time, in seconds.

    Raises:
        InputError: the core is not this process's, or the network reads or writes other tensors.
        RuntimeFailedError: the runtime refuses the network.
        FrameFailedError: the network cannot answer a frame, which is named.
    """
    with pinned((core,)):
        session = runtime.open(
            network, cores=(core,), precision=precision, optimisation=optimisation
        )
        try:
            reads = _places(session.inputs, (*inputs, *(one.input for one in states)), "reads")
            writes = _places(outputs, session.outputs, "does not write")
            renewed = _places([one.output for one in states], session.outputs, "does not write")
            kept = [np.zeros(one.input.shape, one.input.dtype) for one in states]
            answers, times_s = [], []
            for number, frame in enumerate(frames):
                answer = [empty(tensor) for tensor in session.outputs]
                begun_s = clock()
                try:
                    session.run([(*frame, *kept)[place] for place in reads], answer)
                except RuntimeFailedError as error:
                    raise FrameFailedError(str(error), frame_id=number) from error
                times_s.append(clock() - begun_s)
                kept = [answer[place] for place in renewed]
                answers.append(tuple([answer[place] for place in writes]))
        finally:
            session.close()
    return Unsplit(answers, median(times_s[1:] or times_s))


def largest_of(answers: Sequence[Answer]) -> tuple[float, ...]:
    """Return the largest absolute value of each output over all answers, as a scale for errors.

    A single frame gives none: a detector answers a picture of nothing by zeros, beside which any
    difference is infinite.

    Args:
        answers: to at least one frame. What is not finite, and texts, count as 0.

    Example:
        >>> largest_of([[np.array([0.0, 0.0])], [np.array([0.5, -2.0])]])
        (2.0,)
    """
    return tuple(max(_largest(array) for array in arrays) for arrays in zip(*answers, strict=True))


def difference(expected: Answer, answer: Answer, largest: Sequence[float]) -> tuple[bool, float]:
    """Compare two answers to one frame.

    Args:
        expected: arrays of the one.
        answer: arrays of the other, in the same order and of the same shapes and types.
        largest: what a difference of each output is held against, see `largest_of`.

    Returns:
        Whether they are the same to the bit; and the largest difference as a share of the largest
        value, each output by itself: infinite where only one of two numbers is finite, or where
        outputs differ of which the largest value is 0.

    Example:
        >>> one = np.array([1.0, -2.0], np.float32)
        >>> difference([one], [one], [4.0]), difference([one], [one + 1], [4.0])
        ((True, 0.0), (False, 0.25))
    """
    if all(_same_bits(one, other) for one, other in zip(expected, answer, strict=True)):
        return True, 0.0
    return False, max(
        _relative_error(one, other, scale)
        for one, other, scale in zip(expected, answer, largest, strict=True)
    )


def top_of(answer: Answer) -> int | None:
    """Return the class that an answer names: of its first output, the greatest number's place.

    Args:
        answer: its arrays.

    Returns:
        The class; None where the first output is neither one number for each class nor one class.

    Example:
        >>> top_of([np.array([[0.1, 0.7, 0.2]])]), top_of([np.array([4])]), top_of([np.eye(2)])
        (1, 4, None)
    """
    first = answer[0]
    if first.dtype.kind in "iu":
        return int(first.reshape(-1)[0]) if first.size == 1 else None
    one_vector = first.ndim > 0 and first.size == first.shape[-1] > 1
    return int(first.argmax()) if first.dtype.kind == "f" and one_vector else None


def _places(wanted: Sequence[Tensor], given: Sequence[Tensor], does: str) -> list[int]:
    names = [tensor.name for tensor in given]
    for tensor in wanted:
        if tensor.name not in names:
            raise InputError(
                f"the unsplit network {does} '{tensor.name}', unlike the pipeline; compare a "
                "pipeline with the network that it was planned for"
            )
    return [names.index(tensor.name) for tensor in wanted]


def _same_bits(one: Array, other: Array) -> bool:
    if one.dtype == object:
        return bool(np.array_equal(one, other))
    return one.tobytes() == other.tobytes()


def _largest(array: Array) -> float:
    if array.dtype.kind not in "fiub":
        return 0.0
    wide = array.astype(np.float64)
    return float(np.abs(wide[np.isfinite(wide)]).max(initial=0.0))


def _relative_error(one: Array, other: Array, largest: float) -> float:
    if one.dtype.kind not in "fiub":
        return 0.0 if np.array_equal(one, other) else float("inf")
    wide, found = one.astype(np.float64), other.astype(np.float64)
    alike = (wide == found) | (np.isnan(wide) & np.isnan(found))
    if alike.all():
        return 0.0
    error = float(np.abs(wide[~alike] - found[~alike]).max())
    if not np.isfinite(error) or largest == 0.0:
        return float("inf")
    return error / largest
