"""Read frames from JSON lines: one object a line, with an array for each input."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
import numpy as np

from evener.artifacts.tensor import Tensor
from evener.data.json_rows import open_lines
from evener.data.source import Source, Sourced
from evener.data.unreadable import DAMAGED, damaged
from evener.errors import InvalidDataError, InvalidFileError
from evener.network.frames import Array

STDIN: Final = "-"
_ID: Final = "id"


def read_lines(path: Path, inputs: Sequence[Tensor]) -> Source:
    """Take each line of a file as a frame: `{"id": "a", "x": [[0.5, 1.0]]}`.

    Args:
        path: the file, compressed or not, or `-` for standard input, whose lines are taken as they
            come.
        inputs: what a frame holds: nested lists by name, of the input's shape, with or without
            its first 1. What "id" says, if it is no input, goes with the answer.

    Raises:
        InvalidFileError: the file cannot be read.
    """
    if str(path) == STDIN:
        name = "standard input"
        return Source(_frames(sys.stdin.buffer, name, inputs), name=name, live=True)
    try:
        file = open_lines(path)
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; give a file of JSON lines",
            path=str(path),
        ) from error
    return Source(_all_of(file, str(path), inputs), name=str(path))


def _all_of(file: BinaryIO, name: str, inputs: Sequence[Tensor]) -> Iterator[Sourced]:
    try:
        with file:
            yield from _frames(file, name, inputs)
    except DAMAGED as error:
        raise damaged(Path(name), error) from error


def _frames(lines: Iterable[bytes], name: str, inputs: Sequence[Tensor]) -> Iterator[Sourced]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"line {number}"
        record = _decode(line, f"{where} of {name}")
        known = {tensor.name for tensor in inputs}
        id_ = record.pop(_ID, None) if _ID not in known else None
        unknown = sorted(record.keys() - known)
        if unknown:
            raise InvalidDataError(
                f"{where} of {name} gives '{unknown[0]}', which is no input; inputs: "
                f"{', '.join(tensor.name for tensor in inputs)}",
                column=unknown[0],
            )
        frame = tuple(_array(record, tensor, f"{where} of {name}") for tensor in inputs)
        yield Sourced(frame, where=where, id=None if id_ is None else str(id_))


def _decode(line: bytes, where: str) -> dict[str, object]:
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidDataError(
            f"{where} is not JSON ({error}); write one object a line, with an array for each input"
        ) from error
    if not isinstance(record, dict):
        raise InvalidDataError(
            f"{where} holds no JSON object; write one a line, with an array for each input"
        )
    return record


def _array(record: dict[str, object], tensor: Tensor, where: str) -> Array:
    if tensor.name not in record:
        raise InvalidDataError(
            f"{where} gives no array for the input '{tensor.name}'; add it", column=tensor.name
        )
    dtype = np.dtype(tensor.dtype)
    try:
        found = np.array(record[tensor.name])
    except ValueError:
        found = np.array(None)  # lists of unequal lengths
    wanted = "biuf" if dtype.kind == "f" else "biu"
    if found.dtype.kind not in wanted:
        raise InvalidDataError(
            f"{where}: '{tensor.name}' is no array of numbers that are {tensor.dtype}; write "
            f"nested lists of {list(tensor.shape)}",
            column=tensor.name,
        )
    if found.shape not in {tensor.shape, tensor.shape[1:] if tensor.shape[:1] == (1,) else None}:
        raise InvalidDataError(
            f"{where}: '{tensor.name}' has the shape {list(found.shape)}, and "
            f"{list(tensor.shape)} is needed",
            column=tensor.name,
        )
    with np.errstate(over="ignore"):  # becomes infinite, which is refused
        ready = found.reshape(tensor.shape).astype(dtype)
    same = (
        np.isfinite(ready).all()
        if dtype.kind == "f"
        else np.array_equal(ready, found.reshape(tensor.shape))
    )
    if not same:
        raise InvalidDataError(
            f"{where}: '{tensor.name}' holds a number beyond {tensor.dtype}; give smaller ones",
            column=tensor.name,
        )
    return np.ascontiguousarray(ready)
