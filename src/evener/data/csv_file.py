"""Read a CSV table: numbers stay numbers, a column of words becomes one column per word."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from evener.data.table import Table, missing_target
from evener.errors import InvalidDataError, InvalidFileError
from evener.units import count

if TYPE_CHECKING:
    from _csv import Reader

MOST_CATEGORIES: Final = 64
_DELIMITERS: Final = ",;\t"


def read_csv(path: Path, target: str) -> Table:
    """Read a table with a header row.

    The delimiter is the one of comma, semicolon and tab that the header has most of. A column in
    which nothing is a number holds categories and becomes one 0/1 column for each, sorted.

    Args:
        path: the file, UTF-8.
        target: header of the column to predict.

    Raises:
        InvalidFileError: missing, not text, or no rows.
        InvalidDataError: no such target, ragged rows, repeated headers, missing values, text among
            numbers, or a column of too many categories.
    """
    header, rows, lines = _read_rows(path)
    check_header(header, path)
    if target not in header:
        raise missing_target(target, header, str(path), "column")
    blocks: list[NDArray[np.float32]] = []
    names: list[str] = []
    for index, name in enumerate(header):
        values = [row[index].strip() for row in rows]
        _check_nothing_missing(values, name, lines, path)
        if name != target:
            block, block_names = _encode(values, name, lines, path)
            blocks.append(block)
            names.extend(block_names)
    if not blocks:
        raise InvalidDataError(
            f"{path} has no column besides the target '{target}'; add columns to predict it from",
            column=target,
        )
    place = header.index(target)
    return Table(
        features=np.concatenate(blocks, axis=1),
        feature_names=tuple(names),
        target=tuple(row[place].strip() for row in rows),
        target_name=target,
        where=str(path),
        row_name=lambda row: f"line {lines[row]}",
    )


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
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            reader = csv.reader(file, delimiter=max(_DELIMITERS, key=first.count), strict=True)
            yield [name.strip() for name in next(reader, [])], reader
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; check the path (data.source of a "
            "project is relative to it)",
            path=str(path),
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidFileError(
            f"{path} is not a CSV table in UTF-8: {error}; save it as UTF-8 text", path=str(path)
        ) from error


def _read_rows(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    rows, lines = [], []
    with open_table(path) as (header, reader):
        for row in reader:
            if row:
                if len(row) != len(header):
                    raise ragged(path, reader.line_num, len(row), len(header))
                rows.append(row)
                lines.append(reader.line_num)
    if not rows:
        raise InvalidFileError(
            f"{path} holds {'a header but no rows' if header else 'nothing'}; it needs a header "
            "row and a row for each example",
            path=str(path),
        )
    return header, rows, lines


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


def _check_nothing_missing(
    values: Sequence[str], name: str, lines: Sequence[int], path: Path
) -> None:
    missing = [line for value, line in zip(values, lines, strict=True) if not value]
    if missing:
        raise InvalidDataError(
            f"{path}: column '{name}' has no value in {len(missing)} of {len(values)} rows, first "
            f"in line {missing[0]}; fill them in or remove these rows",
            column=name,
        )


def _encode(
    values: Sequence[str], name: str, lines: Sequence[int], path: Path
) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    numbers = [_number(value) for value in values]
    words = [index for index, number in enumerate(numbers) if number is None]
    if not words:
        with np.errstate(over="ignore"):  # becomes infinite, which is refused with its place
            return np.array(numbers, np.float64).astype(np.float32)[:, None], (name,)
    if len(words) < len(values):
        raise InvalidDataError(
            f"{path}: column '{name}' holds numbers, but text in {len(words)} of {len(values)} "
            f"rows, first '{values[words[0]]}' in line {lines[words[0]]}; make every value a "
            "number, or every value a word",
            column=name,
        )
    categories = sorted(set(values))
    if len(categories) > MOST_CATEGORIES:
        raise InvalidDataError(
            f"{path}: column '{name}' holds {len(categories)} different texts, more than the "
            f"{MOST_CATEGORIES} that are taken as categories; remove the column or group its "
            "values",
            column=name,
        )
    one_hot = np.array(values)[:, None] == np.array(categories)[None, :]
    return one_hot.astype(np.float32), tuple(f"{name}={category}" for category in categories)


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None
