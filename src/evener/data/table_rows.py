"""Read the rows of a table one after another, from a file of CSV, Parquet or JSON lines."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evener.data.csv_file import check_header, open_table, ragged
from evener.data.json_rows import LINES, read_records
from evener.errors import InvalidFileError, MissingExtraError

if TYPE_CHECKING:
    from _csv import Reader

SUFFIXES: Final = (".csv", ".tsv", ".parquet")  # but for JSON lines, which may be frames too
PARQUET: Final = ".parquet"
_ROWS_AT_ONCE: Final = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of a table, to be read once.

    Attributes:
        header: names of the columns.
        rows: where each row stands, such as "line 7", and its values in the header's order: text
            of a CSV file, and what Parquet or JSON holds, None where there is no value.
    """

    header: Sequence[str]
    rows: Iterator[tuple[str, Sequence[Any]]]


def kind_of(path: Path) -> str:
    """Return the suffix that says what a file holds, whether it is compressed or not.

    Example:
        >>> kind_of(Path("a.CSV.gz")), kind_of(Path("b.parquet"))
        ('.csv', '.parquet')
    """
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


@contextmanager
def open_rows(path: Path) -> Iterator[Rows]:
    """Open a table; its rows are read while the block lasts, a few at a time.

    Columns of JSON lines are whatever any of them names, so that the file is read twice.

    Raises:
        InvalidFileError: missing, or no table.
        InvalidDataError: a column without a name, two of one name, or a row of another length.
        MissingExtraError: it is Parquet, and PyArrow is not installed.
    """
    kind = kind_of(path)
    if kind == PARQUET:
        with open_parquet(path) as file:
            header = file.schema_arrow.names
            check_header(header, path)
            yield Rows(header, _batches(path, file))
        return
    if kind in LINES:
        names = list(dict.fromkeys(name for _, record in read_records(path) for name in record))
        check_header(names, path)
        yield Rows(names, _records(path, names))
        return
    with open_table(path) as (header, reader):
        check_header(header, path)
        yield Rows(header, _lines(path, reader, len(header)))


def count_rows(path: Path) -> int | None:
    """Return how many rows a table has, or None where only reading them tells.

    Raises:
        InvalidFileError: missing, or no table.
        MissingExtraError: it is Parquet, and PyArrow is not installed.
    """
    if kind_of(path) != PARQUET:
        return None
    with open_parquet(path) as file:
        rows: int = file.metadata.num_rows
    return rows


def _lines(path: Path, reader: "Reader", width: int) -> Iterator[tuple[str, Sequence[str]]]:
    for row in reader:
        if row:
            if len(row) != width:
                raise ragged(path, reader.line_num, len(row), width)
            yield f"line {reader.line_num}", row


def _records(path: Path, names: Sequence[str]) -> Iterator[tuple[str, Sequence[Any]]]:
    for number, record in read_records(path):
        yield f"line {number}", [record.get(name) for name in names]


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a file as PyArrow's `ParquetFile`.

    Raises:
        InvalidFileError: missing, or no such file.
        MissingExtraError: PyArrow is not installed.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise MissingExtraError("reading Parquet", extra="parquet") from error
    try:
        file = parquet.ParquetFile(path)
    except (OSError, ArrowException) as error:
        raise InvalidFileError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}; give a Parquet file",
            path=str(path),
        ) from error
    with file:
        yield file


def _batches(path: Path, file: Any) -> Iterator[tuple[str, Sequence[Any]]]:  # noqa: ANN401 - PyArrow ships no types
    from pyarrow import ArrowException

    numbers = count()
    batches = file.iter_batches(batch_size=_ROWS_AT_ONCE)
    while True:
        try:
            batch = next(batches, None)
        except (OSError, ArrowException) as error:
            raise InvalidFileError(
                f"cannot read {path} from row {next(numbers)} on: {error}; write it again",
                path=str(path),
            ) from error
        if batch is None:
            return
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            yield f"row {next(numbers)}", row
