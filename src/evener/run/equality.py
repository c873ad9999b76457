"""Compare a pipeline's answers with those of the unsplit network, frame by frame."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

import msgspec
import numpy as np

from evener.artifacts.tensor import Tensor
from evener.errors import InputError
from evener.run.entry import Frame
from evener.run.pipeline import Pipeline
from evener.runtime.pinning import pinned
from evener.runtime.session import Array, Optimisation, Runtime, empty

_AT_ONCE: Final = 16


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """How a pipeline's answers compare with the unsplit network's.

    Attributes:
        frames: how many answers were compared.
        equal: whether every one is the same, to the bit.
        max_error: largest difference of an output over the largest value of that output for the
            same frame; 0 if equal, infinite where only one of the two is finite.
        worst_frame: number of the frame with that error.
    """

    frames: int
    equal: bool
    max_error: float
    worst_frame: int


def compare_outputs(
    pipeline: Pipeline,
    network: bytes,
    frames: Iterable[Frame],
    *,
    runtime: Runtime,
    core: int,
    optimisation: Optimisation = "all",
) -> Comparison:
    """Run frames through an open pipeline and the unsplit network, and compare the answers.

    The two take turns, a few frames at a time, so that memory stays bounded however many frames
    there are. The unsplit network runs in the calling thread, pinned to one core.

    Args:
        pipeline: an open pipeline.
        network: the unsplit network, serialised.
        frames: the frames, each of C-contiguous arrays.
        runtime: what runs the unsplit network.
        core: where it runs.
        optimisation: how far it is optimised; the pipeline's own for a fair comparison.

    Raises:
        InputError: there is no frame, or the core is not this process's.
        RuntimeFailedError: the runtime refuses the unsplit network.
        StageFailedError: the pipeline failed.
    """
    source = iter(frames)
    count, equal, worst, worst_frame = 0, True, 0.0, 0
    with pinned((core,)):
        session = runtime.open(network, cores=(core,), optimisation=optimisation)
        try:
            reads = _places(session.inputs, pipeline.inputs, "reads")
            writes = _places(pipeline.outputs, session.outputs, "does not write")
            expected = [empty(tensor) for tensor in session.outputs]
            while some := list(islice(source, _AT_ONCE)):
                for frame, answer in zip(some, _answers(pipeline, some), strict=True):
                    session.run([frame[place] for place in reads], expected)
                    same, error = difference([expected[place] for place in writes], answer)
                    equal = equal and same
                    if error > worst:
                        worst, worst_frame = error, count
                    count += 1
        finally:
            session.close()
    if count == 0:
        raise InputError("there is no frame to compare with; give at least one")
    return Comparison(frames=count, equal=equal, max_error=worst, worst_frame=worst_frame)


def difference(expected: Sequence[Array], answer: Sequence[Array]) -> tuple[bool, float]:
    """Compare two answers to one frame.

    Args:
        expected: arrays of the one.
        answer: arrays of the other, in the same order and of the same shapes and types.

    Returns:
        Whether they are the same to the bit; and the largest difference over the largest absolute
        value expected, each output by itself.

    Example:
        >>> one = np.array([1.0, -4.0], np.float32)
        >>> difference([one], [one]), difference([one], [one + 1])
        ((True, 0.0), (False, 0.25))
    """
    if all(_same_bits(one, other) for one, other in zip(expected, answer, strict=True)):
        return True, 0.0
    return False, max(
        _relative_error(one, other) for one, other in zip(expected, answer, strict=True)
    )


def _answers(pipeline: Pipeline, frames: Sequence[Frame]) -> list[tuple[Array, ...]]:
    answers: list[tuple[Array, ...]] = []

    def keep(_: int, answer: tuple[Array, ...]) -> None:
        answers.append(tuple([array.copy() for array in answer]))

    pipeline.run(frames, keep)
    return answers


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


def _relative_error(one: Array, other: Array) -> float:
    if one.dtype.kind not in "fiub":
        return 0.0 if np.array_equal(one, other) else float("inf")
    wide, found = one.astype(np.float64), other.astype(np.float64)
    alike = (wide == found) | (np.isnan(wide) & np.isnan(found))
    if alike.all():
        return 0.0
    error = float(np.abs(wide[~alike] - found[~alike]).max())
    largest = float(np.abs(wide[np.isfinite(wide)]).max(initial=0.0))
    if not np.isfinite(error) or largest == 0.0:
        return float("inf")
    return error / largest
