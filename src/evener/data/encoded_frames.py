"""Make frames from the raw rows of a table, by the encoding that a network was trained with."""

from collections.abc import Iterator, Sequence
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from evener.artifacts.encoding import Encoding
from evener.artifacts.tensor import Tensor
from evener.data.encode import encode
from evener.data.raw import RawTable, cell
from evener.data.source import Sourced
from evener.data.table import missing_column
from evener.data.table_rows import Rows, open_rows
from evener.errors import InvalidDataError

_ROWS_AT_ONCE: Final = 256


def encoded_rows(
    path: Path, inputs: Sequence[Tensor], encoding: Encoding, *, id_column: str | None
) -> Iterator[Sourced]:
    """Take each row of a table as a frame, some at a time.

    Args:
        path: the table, CSV, Parquet or JSON lines; it may have other columns too, such as the
            target.
        inputs: what a frame holds.
        encoding: what each column becomes.
        id_column: what tells the rows apart in the answers, if a column does.

    Raises:
        InvalidFileError: missing, or no table.
        InvalidDataError: a column is missing, a value cannot be taken, or the network reads not
            what the encoding makes.
        MissingExtraError: texts need scikit-learn, Parquet PyArrow.
    """
    width = len(encoding.feature_names)
    if len(inputs) != 1 or prod(inputs[0].shape) != width:
        shapes = ", ".join(f"'{one.name}' {list(one.shape)}" for one in inputs)
        raise InvalidDataError(
            f"the columns of {path} become {width} numbers a row, as in training, and the network "
            f"reads {shapes}; name the columns that it reads, in its order: --columns A,B"
        )
    (tensor,) = inputs
    with open_rows(path) as table:
        if id_column is not None and id_column not in table.header:
            raise missing_column(id_column, table.header, str(path), "--id names it")
        for name in encoding.reads:
            if name not in table.header:
                raise missing_column(name, table.header, str(path), "the network reads it")
        while some := list(islice(table.rows, _ROWS_AT_ONCE)):
            raw = _columns(table, some, encoding, path)
            features = encode(encoding, raw)
            _check_finite(features, encoding, raw)
            for (where, row), numbers in zip(some, features, strict=True):
                id_ = None if id_column is None else str(row[table.header.index(id_column)])
                frame = numbers.astype(np.dtype(tensor.dtype)).reshape(tensor.shape)
                yield Sourced((frame,), where=where, id=id_)


def _columns(
    table: Rows, some: Sequence[tuple[str, Sequence[Any]]], encoding: Encoding, path: Path
) -> RawTable:
    wanted = set(encoding.reads)
    return RawTable(
        columns={
            name: [cell(row[place]) for _, row in some]
            for place, name in enumerate(table.header)
            if name in wanted
        },
        where=str(path),
        row_name=lambda row: some[row][0],
    )


def _check_finite(features: "np.ndarray[Any, Any]", encoding: Encoding, raw: RawTable) -> None:
    wrong = np.argwhere(~np.isfinite(features))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise InvalidDataError(
            f"{raw.row_name(row)} of {raw.where}: column '{encoding.feature_names[column]}' "
            "holds a number too large for float32; write a smaller one",
            column=encoding.feature_names[column],
        )
