"""Open a CSV table, compressed or not, and check its header."""

import csv
import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from evener.data.unreadable import DAMAGED, damaged, unreadable
from evener.errors import InvalidDataError, InvalidFileError
from evener.units import count

if TYPE_CHECKING:
    from _csv import Reader

_DELIMITERS: Final = ",;\t"


def read_header(path: Path) -> list[str]:
    """Read the names of a table's columns, and none of its rows.

    Args:
        path: the file, UTF-8.

    Raises:
        InvalidFileError: missing or not text.
        InvalidDataError: a column without a name, two of one name, or fewer than two columns.
    """
    with open_table(path) as (header, _):
        check_header(header, path)
    if len(header) < 2:
        raise InvalidDataError(
            f"{path} has {count(len(header), 'column')} in its first line; a table needs two at "
            "least, one of them to predict"
        )
    return header


@contextmanager
def open_table(path: Path) -> Iterator[tuple[list[str], "Reader"]]:
    """Open a table and read its header; what goes wrong in the body too is told of the file.

    Args:
        path: the file, UTF-8.

    Yields:
        The names of the columns, and a reader of the rows below them.

    Raises:
        InvalidFileError: missing or not text.
    """
    try:
        with _opened(path) as file:
            first = file.readline()
            file.seek(0)
            reader = csv.reader(file, delimiter=max(_DELIMITERS, key=first.count), strict=True)
            yield [name.strip() for name in next(reader, [])], reader
    except DAMAGED as error:
        raise damaged(path, error) from error
    except OSError as error:
        raise unreadable(path, error) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidFileError(
            f"{path} is not a CSV table in UTF-8: {error}; save it as UTF-8 text", path=str(path)
        ) from error


def _opened(path: Path) -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def ragged(path: Path, line: int, got: int, expected: int) -> InvalidDataError:
    """Say that a row has not as many values as there are columns."""
    return InvalidDataError(
        f"{path} line {line} has {count(got, 'value')}, the header has {expected}; give every row "
        "one value per column (quote values that hold the delimiter)"
    )


def check_header(header: Sequence[str], path: Path) -> None:
    """Refuse a header that leaves a column without a name of its own.

    Raises:
        InvalidDataError: no name, or one twice.
    """
    if "" in header:
        raise InvalidDataError(
            f"{path}: column {header.index('') + 1} of {len(header)} has no name; name every "
            "column in the first line"
        )
    for index, name in enumerate(header):
        if name in header[:index]:
            raise InvalidDataError(
                f"{path}: two columns are called '{name}' (columns {header.index(name) + 1} and "
                f"{index + 1}); rename one",
                column=name,
            )
