"""Tensors as the Open Inference Protocol writes them: as JSON numbers, or as bytes.

Both carry every value exactly: JSON as the shortest decimal that reads back as the same number,
bytes in little-endian order. JSON knows neither NaN nor infinity: such tensors go as bytes only.

Source: the REST specification of the protocol (github.com/kserve/open-inference-protocol) for the
datatypes and the row-major order; Triton's "binary tensor data" extension for the bytes.
"""

from functools import cache
from math import prod
from typing import Annotated, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.artifacts.tensor import Tensor
from evener.errors import InputError

Array = NDArray[Any]
_DATATYPES: Final = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
}


def datatype(tensor: Tensor) -> str:
    """Return the protocol's name of a tensor's element type.

    Example:
        >>> datatype(Tensor(name="x", shape=(1, 4), dtype="float32"))
        'FP32'
    """
    return _DATATYPES[tensor.dtype]


def from_json(data: msgspec.Raw, tensor: Tensor) -> Array:
    """Read a tensor from JSON, flat or nested as its shape.

    Args:
        data: a JSON array, in row-major order.
        tensor: what it is to be.

    Raises:
        InputError: no such array, another number of elements, or an element that the type cannot
            hold.

    Example:
        >>> from_json(msgspec.Raw(b"[[1, 2.5]]"), Tensor(name="x", shape=(1, 2), dtype="float32"))
        array([[1. , 2.5]], dtype=float32)
    """
    text = bytes(data)
    depth = _depth(text)
    if depth not in (1, len(tensor.shape)):
        raise InputError(
            f"the data of '{tensor.name}' is nested {depth} deep; give one array of its elements, "
            f"or arrays nested {len(tensor.shape)} deep, as its shape {list(tensor.shape)}"
        )
    try:
        with np.errstate(over="ignore"):  # told below
            array = np.array(_decoder(tensor.dtype, depth).decode(text), tensor.dtype)
    except msgspec.MsgspecError as error:
        raise InputError(
            f"the data of '{tensor.name}' is no {datatype(tensor)}: {error}"
        ) from error
    except OverflowError as error:
        raise InputError(_cannot_hold(tensor)) from error
    except ValueError as error:  # how numpy calls ragged rows
        raise InputError(
            f"the data of '{tensor.name}' has rows of unequal length; its shape is "
            f"{list(tensor.shape)}"
        ) from error
    if array.size != prod(tensor.shape) or (depth > 1 and array.shape != tensor.shape):
        raise InputError(
            f"the data of '{tensor.name}' holds {array.size} elements as {list(array.shape)}; "
            f"{list(tensor.shape)} are needed"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(_cannot_hold(tensor))
    return array.reshape(tensor.shape)


def from_bytes(data: memoryview, tensor: Tensor) -> Array:
    """Read a tensor from its elements' bytes; the array is a copy.

    Raises:
        InputError: another number of bytes, or a BOOL that is neither 0 nor 1.
    """
    if len(data) != tensor.size_bytes:
        raise InputError(
            f"'{tensor.name}' has {len(data)} bytes of binary data; {datatype(tensor)} "
            f"{list(tensor.shape)} takes {tensor.size_bytes}"
        )
    little = np.dtype(tensor.dtype).newbyteorder("<")
    if tensor.dtype == "bool" and (np.frombuffer(data, np.uint8) > 1).any():
        raise InputError(f"'{tensor.name}' is BOOL, and a byte of it is neither 0 nor 1")
    return np.frombuffer(data, little).astype(tensor.dtype).reshape(tensor.shape)


def to_json(array: Array, tensor: Tensor) -> list[Any]:
    """Return the elements of a tensor, in row-major order, for JSON.

    Raises:
        InputError: one is NaN or infinite, which JSON cannot say.
    """
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(
            f"the answer '{tensor.name}' holds NaN or infinity, which JSON cannot say; ask for it "
            'with the parameter "binary_data": true'
        )
    elements: list[Any] = array.ravel().tolist()
    return elements


def to_bytes(array: Array) -> bytes:
    """Return the elements of a tensor as bytes."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def _depth(text: bytes) -> int:
    """Return how many arrays begin before the first element."""
    depth = 0
    for character in text:
        if character == ord("["):
            depth += 1
        elif character not in b" \t\r\n":
            break
    return depth


@cache
def _decoder(dtype: str, depth: int) -> msgspec.json.Decoder[Any]:
    of: Any = {"b": bool, "f": float}.get(np.dtype(dtype).kind) or _integer(dtype)
    for _ in range(depth):
        of = list[of]
    return msgspec.json.Decoder(of)


def _integer(dtype: str) -> object:
    """Return the type of the integers that a type of elements holds."""
    limits = np.iinfo(dtype)
    if limits.bits == 64:
        return int  # msgspec knows no such limits; numpy raises OverflowError
    return Annotated[int, msgspec.Meta(ge=int(limits.min), le=int(limits.max))]


def _cannot_hold(tensor: Tensor) -> str:
    return f"the data of '{tensor.name}' holds a number that {datatype(tensor)} cannot"
