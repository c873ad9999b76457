"""Frames: the arrays that one run of a network reads, drawn from a seed or read from a file."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.tensor import Tensor
from evener.errors import InvalidDataError, InvalidFileError

Array = NDArray[Any]
Frame = tuple[Array, ...]
"""One C-contiguous array per input, in graph order."""

_INTEGERS_BELOW: Final = 2  # wide integers are mostly indices, and 0 and 1 are in any table


def random_frames(inputs: Sequence[Tensor], count: int, seed: int) -> list[Frame]:
    """Draw frames; frame i is the same however many are drawn.

    Floats are standard normal; bytes and booleans take all their values; wider integers are 0
    or 1, which are valid as indices and as masks.

    Args:
        inputs: what each frame holds.
        count: how many frames.
        seed: what they are drawn from.

    Example:
        >>> x = Tensor(name="x", shape=(2,), dtype="float32")
        >>> bool((random_frames([x], 3, 0)[1][0] == random_frames([x], 2, 0)[1][0]).all())
        True
    """
    return [
        tuple(
            _draw(tensor, np.random.Philox(key=[seed, position], counter=[0, 0, 0, index]))
            for position, tensor in enumerate(inputs)
        )
        for index in range(count)
    ]


def load_frames(
    path: Path, inputs: Sequence[Tensor], *, besides: Sequence[str] = ()
) -> list[Frame]:
    """Read frames from an npz file: one array per input, its first axis counts the frames.

    Args:
        path: the file.
        inputs: what each frame holds. Numbers may stand in a type that converts without loss.
        besides: names of arrays that may stand in it and are no inputs.

    Raises:
        InvalidFileError: missing, or no npz file.
        InvalidDataError: an input is missing, an array is of another shape or type, holds NaN, or
            the arrays hold no frames or not equally many.
    """
    arrays = read_arrays(path)
    known = {tensor.name for tensor in inputs} | set(besides)
    for name in arrays:
        if name not in known:
            raise InvalidDataError(
                f"{path} holds an array '{name}', which is no input; inputs: "
                f"{', '.join(tensor.name for tensor in inputs)}",
                column=name,
            )
    ready = [_fit(path, arrays, tensor) for tensor in inputs]
    counts = {tensor.name: len(array) for tensor, array in zip(inputs, ready, strict=True)}
    if len(set(counts.values())) > 1:
        raise InvalidDataError(
            f"{path} holds unequal numbers of frames: "
            f"{', '.join(f'{count} of {name}' for name, count in counts.items())}; "
            "give each input equally many"
        )
    return [tuple(frame) for frame in zip(*ready, strict=True)]


def read_arrays(path: Path) -> dict[str, Array]:
    """Read the arrays of an npz file, by name.

    Raises:
        InvalidFileError: missing, or no npz file of plain arrays.
    """
    arrays: dict[str, Array] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                with archive.open(member) as file:
                    array = np.lib.format.read_array(file, allow_pickle=False)
                arrays[member.removesuffix(".npy")] = array
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; give an npz file of frames",
            path=str(path),
        ) from error
    except (ValueError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        # zipfile raises RuntimeError for encrypted members and for unknown compression.
        raise InvalidFileError(
            f"{path} is no npz file of plain arrays ({error}); write it with numpy.savez",
            path=str(path),
        ) from error
    return arrays


def _draw(tensor: Tensor, bits: np.random.Philox) -> Array:
    rng = np.random.Generator(bits)
    dtype = np.dtype(tensor.dtype)
    if dtype.kind == "f":
        return np.asarray(rng.standard_normal(tensor.shape, dtype=np.float32)).astype(dtype)
    if dtype.kind == "b" or dtype.itemsize > 1:
        return rng.integers(_INTEGERS_BELOW, size=tensor.shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, size=tensor.shape, dtype=dtype, endpoint=True)


def _fit(path: Path, arrays: dict[str, Array], tensor: Tensor) -> Array:
    name = tensor.name
    if name not in arrays:
        raise InvalidDataError(
            f"{path} holds no array for the input '{name}'; it holds: {', '.join(arrays)}",
            column=name,
        )
    array = arrays[name]
    if array.shape[1:] != tensor.shape or array.ndim == 0:
        raise InvalidDataError(
            f"'{name}' in {path} has the shape {array.shape}, and frames of {tensor.shape} behind "
            f"a first axis that counts them are needed: {('frames', *tensor.shape)}",
            column=name,
        )
    if not len(array):
        raise InvalidDataError(
            f"'{name}' in {path} holds no frames; give at least one", column=name
        )
    if not np.can_cast(array.dtype, tensor.dtype, "safe"):
        raise InvalidDataError(
            f"'{name}' in {path} is {array.dtype}, which does not convert to {tensor.dtype} "
            f"without loss; convert it with .astype('{tensor.dtype}')",
            column=name,
        )
    ready = np.ascontiguousarray(array, dtype=tensor.dtype)
    if ready.dtype.kind == "f" and np.isnan(ready).any():
        frame = int(np.isnan(ready).reshape(len(ready), -1).any(axis=1).argmax())
        raise InvalidDataError(
            f"'{name}' in {path} holds NaN, first in frame {frame}; replace it by a number",
            column=name,
        )
    return ready
