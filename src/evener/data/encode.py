"""Make features of a table's columns, by an encoding that training rows taught."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.encoding import (
    CategoryColumn,
    DateColumn,
    EncodedColumn,
    Encoding,
    NumberColumn,
    TextColumns,
)
from evener.data.bins import fill_bins
from evener.data.cells import Column, as_numbers, as_texts, first_text
from evener.data.dates import part_of, read_date
from evener.data.learn_encoding import joined
from evener.data.raw import RawTable
from evener.data.table import missing_column
from evener.data.words import weigh_words
from evener.errors import InvalidDataError
from evener.units import count


def encode(encoding: Encoding, table: RawTable) -> NDArray[np.float32]:
    """Return the features, (rows, features), of the rows of a table.

    What is missing stands at the median, or has a feature of its own; a text that training rows had
    not is "other", where they had such, and else none of those that they had.

    Args:
        encoding: what each column becomes.
        table: other columns than those of the encoding do not matter.

    Raises:
        InvalidDataError: a column is missing, or holds a text where a number or a date is due.
        MissingExtraError: texts need scikit-learn.

    Example:
        >>> table = RawTable({"a": ["1", ""]}, where="a.csv", row_name=str)
        >>> encode(Encoding(columns=(NumberColumn(column="a", median=3.0, flag=True),)), table)
        array([[1., 0.],
               [3., 1.]], dtype=float32)
    """
    features = np.zeros((table.rows, len(encoding.feature_names)), np.float32)
    first = 0
    for one in encoding.columns:
        last = first + len(one.names)
        _write(one, table, features[:, first:last])
        first = last
    return features


def told_far(encoding: Encoding, table: RawTable) -> tuple[str, ...]:
    """Say for people which numbers are brought to a limit, since they lie far beyond it.

    Args:
        encoding: what each column becomes.
        table: rows that it encodes.

    Example:
        >>> table = RawTable({"a": ["1", "9e9"]}, where="a.csv", row_name=str)
        >>> far = NumberColumn(column="a", median=1.0, limits=(-999.0, 1002.0))
        >>> told_far(Encoding(columns=(far,)), table)
        ("'a' lies far beyond the training rows in 1 row, and counts as -999 or 1002 there",)
    """
    notes = []
    for one in encoding.columns:
        if not isinstance(one, NumberColumn) or one.limits is None:
            continue
        numbers = as_numbers(_column(table, one.column))
        low, high = one.limits
        far = 0 if numbers is None else int(((numbers < low) | (numbers > high)).sum())
        if far:
            notes.append(
                f"'{one.column}' lies far beyond the training rows in {count(far, 'row')}, and "
                f"counts as {low:.6g} or {high:.6g} there"
            )
    return tuple(notes)


def _write(one: EncodedColumn, table: RawTable, into: NDArray[np.float32]) -> None:
    match one:
        case NumberColumn():
            _write_number(one, table, into)
        case CategoryColumn():
            _write_category(one, as_texts(_column(table, one.column)), into)
        case DateColumn():
            _write_date(one, table, into)
        case TextColumns():
            for name in one.columns:
                _column(table, name)
            weigh_words(one, joined(table, one.columns), into)


def _write_number(one: NumberColumn, table: RawTable, into: NDArray[np.float32]) -> None:
    column = _column(table, one.column)
    numbers = as_numbers(column)
    if numbers is None:
        texts = as_texts(column)
        _, first = first_text(texts)
        raise _refused(table, first, one.column, f"holds '{texts[first]}', which is no number")
    missing = np.isnan(numbers)
    numbers = np.where(missing, one.median, numbers)
    if one.limits is not None:
        known = np.abs(numbers) <= np.finfo(np.float32).max  # others are refused with their place
        numbers = np.where(known, np.clip(numbers, *one.limits), numbers)
    with np.errstate(over="ignore"):  # becomes infinite, which is refused likewise
        into[:, 0] = numbers
    if one.flag:
        into[:, 1] = missing
    if one.edges:
        fill_bins(one.edges, numbers, into[:, 1 + one.flag :])


def _write_category(
    one: CategoryColumn, texts: Sequence[str | None], into: NDArray[np.float32]
) -> None:
    place = {level: index for index, level in enumerate(one.levels)}
    other = len(one.levels) if one.other else -1
    nothing = into.shape[1] - 1 if one.missing else -1
    places = np.array([nothing if text is None else place.get(text, other) for text in texts])
    rows = np.flatnonzero(places >= 0)
    into[rows, places[rows]] = 1


def _write_date(one: DateColumn, table: RawTable, into: NDArray[np.float32]) -> None:
    for row, text in enumerate(as_texts(_column(table, one.column))):
        date = None if text is None else read_date(text, one.form)
        if text is not None and date is None:
            form = "2024-01-31" if one.form == "iso" else one.form
            raise _refused(table, row, one.column, f"holds '{text}', no date such as {form}")
        values = one.medians if date is None else [part_of(date, part) for part in one.parts]
        into[row, : len(one.parts)] = values
        if one.flag:
            into[row, -1] = date is None


def _column(table: RawTable, name: str) -> Column:
    if name not in table.columns:
        raise missing_column(name, table.columns, table.where, "the network reads it")
    return table.columns[name]


def _refused(table: RawTable, row: int, column: str, what: str) -> InvalidDataError:
    return InvalidDataError(
        f"{table.row_name(row)} of {table.where}: column '{column}' {what}; write one, or leave it "
        "empty",
        column=column,
    )
