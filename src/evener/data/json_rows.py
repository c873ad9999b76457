"""Read JSON lines, compressed by gzip or not, one object after another."""

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import msgspec

from evener.data.unreadable import DAMAGED, damaged, unreadable
from evener.errors import InvalidFileError

LINES: Final = (".jsonl", ".ndjson")


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
    except DAMAGED as error:
        raise damaged(path, error) from error
    except OSError as error:
        raise unreadable(path, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidFileError(
            f"{path} line {number} is no JSON object: {error}; write one a line",
            path=str(path),
        ) from error


def holds_rows(path: Path, inputs: Mapping[str, int]) -> bool:
    """Return whether lines are rows of a table, and no frames, by the first of them.

    A row is an object without arrays in it; one number by the name of an input that takes one may
    be either, and is taken for a frame. What is no file, such as a pipe, can be read once only, and
    holds frames.

    Args:
        path: the file.
        inputs: how many numbers each input of the network takes, by its name.

    Raises:
        InvalidFileError: missing, damaged, or no object.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     lines = Path(folder, "rows.jsonl")
        ...     _ = lines.write_text('{"age": 42, "city": null}')
        ...     holds_rows(lines, {"age": 7}), holds_rows(lines, {"age": 1})
        (True, False)
    """
    if path.exists() and not path.is_file():
        return False
    _, record = next(read_records(path), (0, dict[str, Any]()))
    nested = any(isinstance(one, list | dict) for one in record.values())
    frame = any(inputs.get(name) == 1 for name in record)
    return bool(record) and not nested and not frame
