"""Write a trained network as one ONNX file, preprocessing inside."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch

from evener.train.clean import INPUT, clean_bytes
from evener.train.fit import Trained
from evener.train.head import output_name
from evener.train.loop import one_thread

OPSET: Final = 20  # the first with Gelu as one operator


def export_onnx(trained: Trained) -> bytes:
    """Return the ONNX file of a network: "features" (batch, F) in, answers (batch, O) out.

    The output is called "probabilities", or "values" where numbers are predicted.

    The batch is a symbolic dimension named "batch". The same weights give the same bytes on any
    machine.
    """
    rows = torch.zeros(2, trained.model.mean.shape[0])
    with one_thread(), _quiet():
        program = torch.onnx.export(
            trained.model,
            (rows,),
            input_names=[INPUT],
            output_names=[output_name(trained.model.head.task)],
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            opset_version=OPSET,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    if program is None:  # only in its older way of exporting
        raise RuntimeError("torch.onnx.export(dynamo=True) returned no program")
    return clean_bytes(program.model)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep torch's exporter from telling users about its own future and missing torchvision."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        logger.setLevel(level)
