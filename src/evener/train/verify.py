"""Run a written network over rows, by the runtime that will run it later, and compare."""

from typing import Final

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray
from onnx import load_from_string

from evener.data.dataset import Dataset
from evener.errors import EvenerError
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.pinning import PROCESS_CORES, pinned
from evener.runtime.session import empty
from evener.train.fit import Trained
from evener.train.loop import one_thread
from evener.train.model import predict

_TOGETHER: Final = 1000  # rows that a file answers at a time
TOLERANCE: Final = 1e-5
"""Largest difference allowed between an answer of the file and of the trainer."""


def verify_export(content: bytes, trained: Trained, dataset: Dataset) -> float:
    """Return the largest difference between the file's and the trainer's answers on the test rows.

    Args:
        content: what `export_onnx` wrote.
        trained: what it wrote it from.
        dataset: whose test split is answered.

    Raises:
        EvenerError: it is above `TOLERANCE`.
        RuntimeFailedError: the runtime cannot run the file.
    """
    features, _ = dataset.examples("test")
    with one_thread():
        expected = predict(trained.model, features)
    return largest_error(
        str(trained.architecture), content, features, expected, tolerance=TOLERANCE
    )


def answers(content: bytes, features: NDArray[np.float32], outputs: int) -> NDArray[np.float32]:
    """Return the answers (rows, outputs) that an ONNX file of `clean_bytes` gives.

    Args:
        content: the file.
        features: (rows, F); those of a picture have many values, so some go in at a time.
        outputs: how many it has.

    Raises:
        RuntimeFailedError: the runtime cannot run it.
    """
    model = ir.from_proto(load_from_string(content))
    batch = min(len(features), _TOGETHER)
    model.graph.inputs[0].shape = ir.Shape((batch, features.shape[1]))
    model.graph.outputs[0].shape = ir.Shape((batch, outputs))
    fixed = ir.to_proto(model).SerializeToString()
    core = (min(PROCESS_CORES),)
    with pinned(core):
        session = OnnxRuntime().open(fixed, cores=core)
        try:
            found = np.empty((len(features), outputs), np.float32)
            output = empty(session.outputs[0])
            for start in range(0, len(features), batch):
                first = min(start, len(features) - batch)  # the last batch is a whole one too
                rows = np.ascontiguousarray(features[first : first + batch])
                session.run((rows,), (output,))
                found[first : first + batch] = output
        finally:
            session.close()
    return found


def largest_error(
    what: str,
    content: bytes,
    features: NDArray[np.float32],
    expected: NDArray[np.floating],
    *,
    tolerance: float,
) -> float:
    """Return the largest difference between a file's answers and its trainer's.

    Probabilities differ by what they differ; numbers beyond 1 relative to the largest of them.

    Args:
        what: name of the model, for the error.
        content: the ONNX file.
        features: (rows, F).
        expected: (rows, outputs), what the trainer answers.
        tolerance: the largest difference allowed.

    Raises:
        EvenerError: the difference is larger.
    """
    found = answers(content, features, expected.shape[1])
    difference = np.abs(found - expected) / max(1.0, float(np.abs(expected).max()))
    error = float(difference.max())
    if not error <= tolerance:  # also where it is no number
        row = int(np.argmax(difference.max(axis=1)))
        raise EvenerError(
            f"the ONNX file of {what} answers otherwise than its trainer: they differ by "
            f"{error:.3g} in row {row} of {len(features)}, more than {tolerance:g}. Update torch, "
            "skl2onnx and onnxruntime, and report it with the dataset if it stays."
        )
    return error
