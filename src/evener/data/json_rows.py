"""Read JSON lines, compressed by gzip or not, one object after another."""

import gzip
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import msgspec

from evener.errors import InvalidFileError

LINES: Final = (".jsonl", ".ndjson")
DAMAGED: Final = (OSError, EOFError, zlib.error)
"""What reading a compressed file raises where it was cut off or changed."""


def open_lines(path: Path) -> BinaryIO:
    """Open a file of lines, which a name that ends in ".gz" says are compressed.

    Raises:
        OSError: it cannot be opened.
    """
    if path.suffix.lower() == ".gz":
        return cast("BinaryIO", gzip.open(path))
    return path.open("rb")


def read_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line that is not empty, from 1, and the object that it holds.

    Raises:
        InvalidFileError: missing, damaged, or a line that is no object.
    """
    number = 0
    try:
        with open_lines(path) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, msgspec.json.decode(line, type=dict[str, Any])
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; check the path (data.source of a "
            "project is relative to it)",
            path=str(path),
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, EOFError, zlib.error, RecursionError) as error:
        raise InvalidFileError(
            f"{path} line {number} is no JSON object: {error}; write one a line",
            path=str(path),
        ) from error


def holds_rows(path: Path, *, besides: Collection[str] = ()) -> bool:
    """Return whether lines are rows of a table, by the first: an object without arrays in it.

    Args:
        path: the file.
        besides: names that no column has: an object with one of them is no row.

    Raises:
        InvalidFileError: missing, damaged, or no object.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     lines = Path(folder, "rows.jsonl")
        ...     _ = lines.write_text('{"age": 42, "city": null}')
        ...     holds_rows(lines), holds_rows(lines, besides=["age"])
        (True, False)
    """
    _, record = next(read_records(path), (0, dict[str, Any]()))
    nested = any(isinstance(one, list | dict) for one in record.values())
    return bool(record) and not nested and record.keys().isdisjoint(besides)
