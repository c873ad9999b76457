"""Write answers as tables, a row a frame: its number, its id, and what was predicted."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Final

from evener.data.prediction import Predictor, Value
from evener.data.source import Sourced
from evener.errors import MissingExtraError
from evener.network.frames import Array

FRAME: Final = "frame"
_ID: Final = "id"
_ROWS_AT_ONCE: Final = 1024
Write = Callable[[int, Sourced, Sequence[Array]], None]


@contextmanager
def csv_answers(file: BinaryIO, predictor: Predictor, *, ids: bool) -> Iterator[Write]:
    """Write a CSV table, its header first.

    Args:
        file: where to.
        predictor: says what was predicted.
        ids: whether there is a column of ids.
    """
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([FRAME, *([_ID] if ids else []), *predictor.kinds])

    def write(number: int, frame: Sourced, answer: Sequence[Array]) -> None:
        rows.writerow(_row(number, frame, answer, predictor, ids=ids))

    yield write
    text.detach()


@contextmanager
def parquet_answers(file: BinaryIO, predictor: Predictor, *, ids: bool) -> Iterator[Write]:
    """Write a Parquet table, some rows at a time; see `csv_answers`.

    Raises:
        MissingExtraError: PyArrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("writing Parquet", extra="parquet") from error
    types = {"U": pa.string(), "i": pa.int64(), "f": pa.float64(), "b": pa.bool_()}
    schema = pa.schema(
        [
            (FRAME, pa.int64()),
            *([(_ID, pa.string())] if ids else []),
            *((name, types[kind]) for name, kind in predictor.kinds.items()),
        ]
    )
    held: list[list[Value | None]] = []

    def flush() -> None:
        columns = list(zip(*held, strict=True)) or [()] * len(schema)
        arrays = [pa.array(one, field.type) for one, field in zip(columns, schema, strict=True)]
        writer.write_batch(pa.record_batch(arrays, schema=schema))
        held.clear()

    def write(number: int, frame: Sourced, answer: Sequence[Array]) -> None:
        held.append(_row(number, frame, answer, predictor, ids=ids))
        if len(held) == _ROWS_AT_ONCE:
            flush()

    with parquet.ParquetWriter(file, schema) as writer:
        yield write
        if held:
            flush()


def _row(
    number: int, frame: Sourced, answer: Sequence[Array], predictor: Predictor, *, ids: bool
) -> list[Value | None]:
    return [number, *([frame.id] if ids else []), *predictor.values(answer).values()]
