"""Convert a network to fewer bits with the converters that come with ONNX Runtime."""

import logging
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import onnx

from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.runtime.session import Array
from evener.runtime.weight_bits import weight_bits

QUANTISED: Final = (
    "AveragePool",
    "Clip",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Gemm",
    "GlobalAveragePool",
    "LeakyRelu",
    "MatMul",
    "MaxPool",
    "Pad",
    "Relu",
    "Reshape",
    "Resize",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
)
"""Operators that are quantised: products with weights, and what only moves, pools or bounds what
they make. Sums, products and sigmoids of activations round once more and save next to nothing: with
them, answers of a text detector were off twice as far, and none of five networks was quicker.
"""
_BYTE: Final = 8  # bits
_PRODUCTS: Final = ("Gemm", "MatMul")  # can answer in f32 what they compute in 8 bits
SETTINGS: Final[dict[str, object]] = {
    "operators": QUANTISED,
    "activations": "uint8",
    "weights": "int8, one scale a channel",
    "bits of a weight": weight_bits(),
    "ranges": "least and greatest value",
    "answer in f32": _PRODUCTS,
}
"""How `quantise` quantises, for whoever keeps what it makes."""


def quantise(
    model: bytes,
    frames: Sequence[Sequence[Array]],
    *,
    inputs: Sequence[Tensor],
    plain: Collection[str] = (),
) -> bytes:
    """Quantise a network to 8 bits: weights by their own values, the rest by what frames make.

    Each quantised tensor is followed by QuantizeLinear and DequantizeLinear, and runtimes compute
    what lies between in 8 bits. Batch normalisations are multiplied into the weights first.

    Args:
        model: a serialised ONNX model of opset 13 or later, with static shapes.
        frames: what the ranges of values are taken from: frames like those to come.
        inputs: what a frame holds, in order.
        plain: names of nodes that stay in f32.

    Returns:
        The quantised model; its inputs and outputs are f32 still.

    Raises:
        RuntimeFailedError: the converter cannot do it.
    """
    # The ranges are the least and greatest values. Percentiles were no nearer for MobileNet-V2, and
    # their histograms grow without bound: a text detector's took 22 GB. Entropy, which comes with
    # 128 bins for 128 levels, has next to no choice and was no nearer either.
    with _own_folder_on_the_path():
        from onnxruntime import quantization  # noqa: TID251 - a converter, of this package
        from onnxruntime.quantization.shape_inference import (  # noqa: TID251 - as above
            quant_pre_process,
        )

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc] # is of unknown type
        """Hands the frames over, one by one."""

        def __init__(self) -> None:
            names = [tensor.name for tensor in inputs]
            self._feeds = (dict(zip(names, frame, strict=True)) for frame in frames)

        def get_next(self) -> dict[str, Array] | None:
            return next(self._feeds, None)

    with tempfile.TemporaryDirectory(prefix="evener-") as folder, _translated("8 bits"):
        given, ready, done = (Path(folder) / name for name in ("f32.onnx", "ready.onnx", "i8.onnx"))
        given.write_bytes(model)
        quant_pre_process(given, ready, skip_symbolic_shape=True)
        quantization.quantize_static(
            ready,
            done,
            Reader(),
            quant_format=quantization.QuantFormat.QDQ,
            op_types_to_quantize=list(QUANTISED),
            per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            nodes_to_exclude=list(plain),
            calibrate_method=quantization.CalibrationMethod.MinMax,
            reduce_range=weight_bits() < _BYTE,
            calibration_providers=["CPUExecutionProvider"],
            extra_options={"OpTypesToExcludeOutputQuantization": list(_PRODUCTS)},
        )
        return done.read_bytes()


def halve(model: bytes) -> bytes:
    """Convert a network to 16-bit floats; its inputs and outputs stay f32.

    Values beyond the range of 16 bits become the largest that fit.

    Args:
        model: a serialised ONNX model with static shapes.

    Raises:
        RuntimeFailedError: the converter cannot do it.
    """
    with _own_folder_on_the_path():
        from onnxruntime.transformers import float16  # noqa: TID251 - a converter, of this package
    with _translated("16 bits"):
        proto: Any = float16.convert_float_to_float16(
            onnx.ModelProto.FromString(model), keep_io_types=True, disable_shape_infer=True
        )
        content: bytes = proto.SerializeToString()
    return content


@contextmanager
def _own_folder_on_the_path() -> Iterator[None]:
    """Let converters import the modules beside them by their bare names, and nobody else.

    Their package appends its folder when it is imported, which is once, and for whoever comes.
    """
    import onnxruntime  # noqa: TID251 - where its converters lie

    before = list(sys.path)
    sys.path.append(str(Path(onnxruntime.__file__).parent / "transformers"))
    try:
        yield
    finally:
        sys.path[:] = before


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """Turn what a converter raises into our error, and keep it from setting up logging."""
    root = logging.getLogger()
    handler = logging.NullHandler()  # without any, the first message would add one for good
    root.addHandler(handler)
    try:
        yield
    except Exception as error:
        raise RuntimeFailedError(
            f"onnxruntime cannot convert the network to {what}: {error}", runtime="onnxruntime"
        ) from error
    finally:
        root.removeHandler(handler)
