"""Write the answers of a run as they come, into a file that is there whole or not at all.

`.npz` and `.jsonl` hold all of every answer; the tables of `answer_tables.py` hold a row a frame.
"""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
import numpy as np

from evener.artifacts.files import whole_file
from evener.artifacts.tensor import Tensor
from evener.data.answer_tables import csv_answers, parquet_answers
from evener.data.prediction import Predictor
from evener.data.source import Sourced
from evener.errors import InputError
from evener.network.frames import Array

Write = Callable[[int, Sourced, Sequence[Array]], None]
"""Takes the number of a frame, the frame and its answer; called in the order of the frames."""
SUFFIXES: Final = (".npz", ".jsonl", ".csv", ".parquet")


@contextmanager
def answers_to(
    path: Path,
    outputs: Sequence[Tensor],
    *,
    labels: Sequence[str],
    ids: bool,
    apart: bool = False,
) -> Iterator[Write]:
    """Open a file for answers; its suffix says what kind.

    Args:
        path: the file, of one of `SUFFIXES`.
        outputs: what an answer holds.
        labels: names of the classes, for tables; none to number them.
        ids: whether frames have ids, which then are a column of a table.
        apart: whether each number has a column of its own; see `Predictor`.

    Yields:
        What takes each answer. The file gets its name when the block ends.

    Raises:
        InputError: another suffix, or outputs that a table cannot hold.
        InvalidFileError: the file cannot be written.
        MissingExtraError: Parquet is to be written, and PyArrow is not installed.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"'{path}' does not end in {', '.join(SUFFIXES)}: write answers.npz")
    predictor = Predictor(outputs, labels, apart) if suffix in {".csv", ".parquet"} else None
    with ExitStack() as stack:
        file = stack.enter_context(whole_file(path))
        if predictor is None:
            kind = _npz_answers if suffix == ".npz" else _line_answers
            write = stack.enter_context(kind(file, outputs))
        else:
            table = csv_answers if suffix == ".csv" else parquet_answers
            write = stack.enter_context(table(file, predictor, ids=ids))
        yield write


def check_writable(path: Path) -> None:
    """Find out before the run, not after it, that the answers cannot be written.

    Raises:
        InputError: they cannot.
    """
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
        raise InputError(f"cannot write {path}; choose a file in a folder you may write to")


@contextmanager
def _npz_answers(file: BinaryIO, outputs: Sequence[Tensor]) -> Iterator[Write]:
    """Stack the arrays of each output along a first axis; they wait on the disk, not in memory."""
    count = 0
    with ExitStack() as stack:
        parts = [stack.enter_context(tempfile.TemporaryFile()) for _ in outputs]

        def write(_number: int, _frame: Sourced, answer: Sequence[Array]) -> None:
            nonlocal count
            for part, tensor, array in zip(parts, outputs, answer, strict=True):
                part.write(np.ascontiguousarray(array, tensor.dtype).tobytes())
            count += 1

        yield write
        with zipfile.ZipFile(file, "w") as archive:
            for part, tensor in zip(parts, outputs, strict=True):
                part.seek(0)
                # ZipInfo without a date: the same answers make the same file.
                member = zipfile.ZipInfo(f"{tensor.name}.npy")
                with archive.open(member, "w", force_zip64=True) as into:
                    header = {
                        "descr": np.lib.format.dtype_to_descr(np.dtype(tensor.dtype)),
                        "fortran_order": False,
                        "shape": (count, *tensor.shape),
                    }
                    np.lib.format.write_array_header_1_0(into, header)
                    shutil.copyfileobj(part, into)


@contextmanager
def _line_answers(file: BinaryIO, outputs: Sequence[Tensor]) -> Iterator[Write]:
    """Write one JSON object a line: number and id of the frame, then each output by name."""
    encode = msgspec.json.Encoder().encode

    def write(number: int, frame: Sourced, answer: Sequence[Array]) -> None:
        record: dict[str, object] = {"frame": number}
        if frame.id is not None:
            record["id"] = frame.id
        record["outputs"] = {
            tensor.name: array.tolist() for tensor, array in zip(outputs, answer, strict=True)
        }
        file.write(encode(record) + b"\n")

    yield write
