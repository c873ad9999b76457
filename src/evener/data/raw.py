"""Read the columns of a table as they stand in a file: CSV, Parquet or JSON lines."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evener.data.cells import Column, as_texts
from evener.data.csv_file import check_header, open_table, ragged
from evener.data.json_rows import LINES, read_records
from evener.data.table_rows import PARQUET, kind_of, open_parquet
from evener.errors import InvalidDataError, InvalidFileError

_CSV: Final = (".csv", ".tsv")
SUFFIXES: Final = (*_CSV, PARQUET, *LINES)


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """Columns of equal length, before anything was made of them.

    Attributes:
        columns: by name, in the file's order.
        where: the file.
        row_name: says where a row, counted from 0, stands, such as "line 7".
    """

    columns: Mapping[str, Column]
    where: str
    row_name: Callable[[int], str]

    @property
    def rows(self) -> int:
        """How many."""
        return len(next(iter(self.columns.values())))

    def take(self, rows: NDArray[np.int64]) -> "RawTable":
        """Return some of the rows, which keep their names."""
        places = rows.tolist()
        return RawTable(
            columns={name: _take(column, places) for name, column in self.columns.items()},
            where=self.where,
            row_name=lambda row: self.row_name(places[row]),
        )

    def without(self, names: Iterable[str]) -> "RawTable":
        """Return a table that has not these columns."""
        gone = set(names)
        kept = {name: column for name, column in self.columns.items() if name not in gone}
        return RawTable(columns=kept, where=self.where, row_name=self.row_name)


def read_raw(path: Path) -> RawTable:
    """Read a table, every column of it.

    Args:
        path: a file of one of `SUFFIXES`, or one of those but Parquet behind which stands ".gz".

    Raises:
        InvalidFileError: missing, damaged, or no rows.
        InvalidDataError: ragged rows, a column without a name or two of one name.
        MissingExtraError: it is Parquet, and PyArrow is not installed.
    """
    kind = kind_of(path)
    if kind == PARQUET:
        table = _read_parquet(path)
    elif kind in LINES:
        table = _read_lines(path)
    else:
        table = _read_csv(path)
    if not table.columns or not table.rows:
        what = "a header but no rows" if table.columns else "nothing"
        raise InvalidFileError(
            f"{path} holds {what}; it needs a header row and a row for each example",
            path=str(path),
        )
    return table


def stack(first: RawTable, second: RawTable) -> RawTable:
    """Put the rows of a table behind those of another.

    Raises:
        InvalidDataError: they have not the same columns.
    """
    missing = set(first.columns) ^ set(second.columns)
    if missing:
        name = min(missing)
        has, has_not = (first, second) if name in first.columns else (second, first)
        raise InvalidDataError(
            f"{has.where} has a column '{name}', and {has_not.where} has none; give both files the "
            "same columns",
            column=name,
        )
    border = first.rows
    return RawTable(
        columns={
            name: _join(column, second.columns[name]) for name, column in first.columns.items()
        },
        where=first.where,
        row_name=lambda row: (
            first.row_name(row)
            if row < border
            else f"{second.row_name(row - border)} of {second.where}"
        ),
    )


def _take(column: Column, places: list[int]) -> Column:
    if isinstance(column, np.ndarray):
        return column[places]
    return [column[place] for place in places]


def _join(one: Column, other: Column) -> Column:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.concatenate([one, other])
    return [*_plain(one), *_plain(other)]


def _plain(column: Column) -> Sequence[str | None]:
    if isinstance(column, np.ndarray):
        return as_texts(column)
    return column


def _read_csv(path: Path) -> RawTable:
    rows, lines = [], []
    with open_table(path) as (header, reader):
        check_header(header, path)
        for row in reader:
            if row:
                if len(row) != len(header):
                    raise ragged(path, reader.line_num, len(row), len(header))
                rows.append(row)
                lines.append(reader.line_num)
    cells = zip(*rows, strict=True) if rows else [()] * len(header)
    return RawTable(
        columns={
            name: [cell.strip() for cell in column]
            for name, column in zip(header, cells, strict=True)
        },
        where=str(path),
        row_name=lambda row: f"line {lines[row]}",
    )


def _read_parquet(path: Path) -> RawTable:
    with open_parquet(path) as file:
        table = file.read()
    check_header(table.column_names, path)
    return RawTable(
        columns={name: _arrow(table.column(name)) for name in table.column_names},
        where=str(path),
        row_name=lambda row: f"row {row}",
    )


def _arrow(column: Any) -> Column:  # noqa: ANN401 - PyArrow ships no types
    import pyarrow as pa

    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
        return numbers
    return [cell(value) for value in column.to_pylist()]


def _read_lines(path: Path) -> RawTable:
    records, lines = [], []
    for number, record in read_records(path):
        records.append(record)
        lines.append(number)
    names = list(dict.fromkeys(name for record in records for name in record))
    check_header(names, path)
    return RawTable(
        columns={name: [cell(record.get(name)) for record in records] for name in names},
        where=str(path),
        row_name=lambda row: f"line {lines[row]}",
    )


def cell(value: object) -> str | None:
    """Return a value as a table would say it; None stays.

    Example:
        >>> cell(" a "), cell(3), cell(None)
        ('a', '3', None)
    """
    if value is None:
        return None
    isoformat = getattr(value, "isoformat", None)  # of dates
    return str(isoformat()) if isoformat else str(value).strip()
