"""Read the rows of a table that a project asks for, and where its split says that each belongs."""

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.project import DataSection
from evener.data.cells import as_texts
from evener.data.npz_file import read_npz_columns
from evener.data.raw import RawTable, read_raw, stack
from evener.data.split import TEST, TRAIN, VALIDATION
from evener.data.table import missing_column
from evener.data.table_rows import kind_of
from evener.errors import InvalidDataError
from evener.units import count

_WORDS: Final = {
    "train": TRAIN,
    "training": TRAIN,
    "validation": VALIDATION,
    "valid": VALIDATION,
    "val": VALIDATION,
    "dev": VALIDATION,
    "test": TEST,
    "testing": TEST,
}


def read_selected(
    section: DataSection, folder: Path
) -> tuple[RawTable, NDArray[np.int64] | None, tuple[str, ...]]:
    """Read a table without the columns that are dropped and the rows that are not asked for.

    Args:
        section: what the project says about its data.
        folder: the project, which file names are relative to.

    Returns:
        The table; of each row `TRAIN`, `VALIDATION` or `TEST`, None where no split is given; and
        for people what was left out.

    Raises:
        InvalidFileError: a file cannot be read.
        InvalidDataError: a column that the project names is not there, or no row is left.
        MissingExtraError: PyArrow is not installed.
    """
    table = _read(folder / section.source)
    parts = None
    if section.test_source is not None:
        test = _read(folder / section.test_source)
        parts = np.repeat([TRAIN, TEST], [table.rows, test.rows])
        table = stack(table, test)
    notes: list[str] = []
    kept = np.ones(table.rows, bool)
    wanted_of = [one.partition("=")[::2] for one in section.only]
    for name, wanted in wanted_of:
        kept &= np.array(as_texts(_column(table, name, "data.only"))) == wanted
    if section.split_column is not None:
        words = as_texts(_column(table, section.split_column, "data.split_column"))
        parts = np.array([_WORDS.get((word or "").casefold(), -1) for word in words])
        kept &= parts >= 0
    if not kept.all():
        gone = count(int((~kept).sum()), "row")
        notes.append(f"{gone} left out by data.only or data.split_column")
    if not kept.any():
        raise InvalidDataError(
            f"{table.where}: data.only and data.split_column leave no row; check what they say "
            "against the file (a split is told by train, validation and test)"
        )
    for name in section.drop:
        _column(table, name, "data.drop")
    used = (*(name for name, _ in wanted_of), *filter(None, (section.split_column,)), *section.drop)
    gone_columns = [name for name in used if name not in (*section.targets, *section.texts)]
    rows = np.flatnonzero(kept)
    return (
        table.without(gone_columns).take(rows),
        None if parts is None else parts[rows],
        tuple(notes),
    )


def _read(path: Path) -> RawTable:
    return read_npz_columns(path) if kind_of(path) == ".npz" else read_raw(path)


def _column(table: RawTable, name: str, key: str) -> "list[str | None] | NDArray[np.float64]":
    if name not in table.columns:
        raise missing_column(name, table.columns, table.where, f"{key} names it")
    column = table.columns[name]
    return column if isinstance(column, np.ndarray) else list(column)
