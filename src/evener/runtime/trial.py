"""Hold a runtime's answers to one frame against ONNX Runtime's, before it is used.

What turns a network into a form of another runtime may leave an operator out, or misread it, and
say nothing.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from evener.errors import RuntimeFailedError
from evener.network.frames import Frame
from evener.runtime import pinning
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.session import Array, Session, empty

TOLERANCE: Final = 1e-4
"""How far f32 answers may be from ONNX Runtime's, relative to the largest of the output."""


def reference(model: bytes, frame: Frame) -> list[Array]:
    """Return what ONNX Runtime answers to a frame, on one core of the calling thread.

    Raises:
        RuntimeFailedError: ONNX Runtime refuses the model.
    """
    core = (min(pinning.thread_cores()),)
    with pinning.pinned(core):
        session = OnnxRuntime().open(model, cores=core)
        try:
            return _answers(session, frame)
        finally:
            session.close()


def check(
    session: Session,
    frame: Frame,
    expected: Sequence[Array],
    *,
    runtime: str,
    tolerance: float = TOLERANCE,
) -> None:
    """Check that a session answers a frame as expected.

    Args:
        session: what is tried.
        frame: what it is given.
        expected: what ONNX Runtime answers.
        runtime: name of the session's runtime, for messages.
        tolerance: how far numbers may be off, relative to the largest of the output; whole numbers
            and truth values have to be equal.

    Raises:
        RuntimeFailedError: an output is further off, or the session fails.
    """
    for tensor, found, right in zip(
        session.outputs, _answers(session, frame), expected, strict=True
    ):
        allowed = tolerance if right.dtype.kind == "f" else 0.0
        off = _off(found.astype(np.float64), right.astype(np.float64))
        if off > allowed:
            raise RuntimeFailedError(
                f"{runtime} cannot be used for the network: '{tensor.name}' is {off:.1g} of the "
                f"largest value off what ONNX Runtime answers, and {allowed:g} is allowed; run "
                "this part with another runtime",
                runtime=runtime,
            )


def _answers(session: Session, frame: Frame) -> list[Array]:
    outputs = [empty(tensor) for tensor in session.outputs]
    session.run(frame, outputs)
    return outputs


def _off(found: Array, right: Array) -> float:
    """Return the largest error, relative to the largest finite value; infinite where NaN differ."""
    same = (found == right) | (np.isnan(found) & np.isnan(right))
    with np.errstate(invalid="ignore"):
        errors = np.where(same, 0.0, np.abs(found - right))
    largest = float(np.abs(right, where=np.isfinite(right), out=np.zeros_like(right)).max())
    return float(np.where(np.isnan(errors), np.inf, errors).max()) / (largest or 1.0)
