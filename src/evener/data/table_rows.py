"""Read the rows of a table one after another, from a CSV or a Parquet file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evener.data.csv_file import check_header, open_table, ragged
from evener.errors import InvalidFileError, MissingExtraError

if TYPE_CHECKING:
    from _csv import Reader

SUFFIXES: Final = (".csv", ".tsv", ".parquet")
PARQUET: Final = ".parquet"
_ROWS_AT_ONCE: Final = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of a table, to be read once.

    Attributes:
        header: names of the columns.
        rows: where each row stands, such as "line 7", and its values in the header's order: text
            of a CSV file, and what Parquet holds, None where there is no value.
    """

    header: Sequence[str]
    rows: Iterator[tuple[str, Sequence[Any]]]


@contextmanager
def open_rows(path: Path) -> Iterator[Rows]:
    """Open a table; its rows are read while the block lasts, a few at a time.

    Raises:
        InvalidFileError: missing, or no table.
        InvalidDataError: a column without a name, two of one name, or a row of another length.
        MissingExtraError: it is Parquet, and PyArrow is not installed.
    """
    if path.suffix.lower() == PARQUET:
        with open_parquet(path) as file:
            header = file.schema_arrow.names
            check_header(header, path)
            yield Rows(header, _batches(path, file))
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
    if path.suffix.lower() != PARQUET:
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
