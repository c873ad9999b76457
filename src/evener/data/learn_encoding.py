"""Learn from training rows how the columns of a table become numbers.

Medians, categories, words and what varies are those of training rows alone, so that nothing of the
rows to choose by and to test on is seen.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.encoding import (
    CategoryColumn,
    DateColumn,
    EncodedColumn,
    Encoding,
    NumberColumn,
)
from evener.data.bins import find_edges
from evener.data.cells import Column, as_numbers, as_texts, first_text
from evener.data.dates import PARTS, find_form, part_of, read_date
from evener.data.raw import RawTable
from evener.data.table import missing_column
from evener.data.words import learn_words
from evener.errors import InvalidDataError
from evener.units import count

MOST_CATEGORIES: Final = 64
_SHOWN: Final = 5  # columns that a note lists
_RARE: Final = 1e-3  # share of the training rows below which a category is "other"
_NAMES: Final = 0.5  # share of different texts from which on they are names, not categories
_SLIP: Final = 0.05  # share of texts among numbers up to which they are slips of the pen
_FAR: Final = 1000.0  # ranges of the training rows beyond them, to which numbers are passed on


def learn_encoding(
    table: RawTable,
    train: NDArray[np.int64],
    *,
    text: tuple[str, ...] = (),
    text_features: int = 5000,
    text_run: int = 1,
    bins: int = 0,
    targets: NDArray[np.float32] | None = None,
) -> tuple[Encoding, tuple[str, ...]]:
    """Say what each column becomes.

    Args:
        table: every column is a feature.
        train: the training rows.
        text: columns whose words are features.
        text_features: most words, or runs of words.
        text_run: most words of a run.
        bins: of each column of numbers; 0 for none.
        targets: (rows, classes or labels) of all rows, which words are chosen by; None where
            numbers are predicted.

    Returns:
        The encoding, and for people what was missing or left out.

    Raises:
        InvalidDataError: nothing is left to learn from, a column of `text` is not there, or a few
            texts stand among numbers.
        MissingExtraError: texts need scikit-learn.
    """
    found: list[EncodedColumn] = []
    notes: list[str] = []
    constant: list[str] = []
    for name, column in table.columns.items():
        if name in text:
            continue
        one, note = _learn(name, column, train, table, bins)
        if one is not None:
            found.append(one)
        elif not note:
            constant.append(name)
        notes += [note] if note else []
    if constant:
        notes.append(f"left out, the same in every training row: {_list(constant)}")
    if text:
        texts = joined(table, text)
        found.append(
            learn_words(
                text,
                [texts[row] for row in train.tolist()],
                None if targets is None else targets[train],
                most=text_features,
                run=text_run,
                where=table.where,
            )
        )
    if not found:
        left = f": {'; '.join(notes)}" if notes else ""
        raise InvalidDataError(
            f"{table.where} has no column besides the target to predict it from{left}; add columns"
        )
    return Encoding(columns=tuple(found)), tuple(notes)


def joined(table: RawTable, names: Sequence[str]) -> list[str]:
    """Return some columns of a table as one text a row; nothing is "".

    Raises:
        InvalidDataError: a column is not there.
    """
    columns = []
    for name in names:
        if name not in table.columns:
            raise missing_column(name, table.columns, table.where, "data.text names it")
        columns.append(as_texts(table.columns[name]))
    return [" ".join(filter(None, row)) for row in zip(*columns, strict=True)]


def _learn(
    name: str, column: Column, train: NDArray[np.int64], table: RawTable, bins: int
) -> tuple[EncodedColumn | None, str]:
    """Return what a column becomes, and what is to be said of it; neither where it is constant."""
    learned = column[train] if isinstance(column, np.ndarray) else [column[row] for row in train]
    numbers = as_numbers(learned)
    if numbers is not None:
        return _learn_number(name, numbers, bins)
    _check_no_slips(name, learned, train, table)
    seen = as_texts(learned)
    there = [text for text in seen if text is not None]
    if not there:
        return None, f"column '{name}' left out: no training row has a value of it"
    form = find_form(there, as_texts(column))
    if form is not None:
        return _learn_date(name, form, seen)
    return _learn_category(name, seen, there)


def _learn_number(
    name: str, seen: NDArray[np.float64], bins: int
) -> tuple[EncodedColumn | None, str]:
    there = seen[~np.isnan(seen)]
    if not len(there):
        return None, f"column '{name}' left out: no training row has a value of it"
    missing = len(seen) - len(there)
    if there.min() == there.max() and not missing:
        return None, ""
    note = (
        f"'{name}' has no value in {missing:,} of {count(len(seen), 'training row')}: the median "
        "stands there, and a feature says so"
    )
    median = float(np.median(there))
    encoded = NumberColumn(
        column=name,
        median=median,
        flag=missing > 0,
        limits=_limits(there),
        edges=find_edges(there[np.isfinite(there)], bins) if bins else (),
    )
    return encoded, note if missing else ""


def _limits(there: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return how far numbers are passed on: of farther ones answers could be no finite numbers."""
    low, high = float(there.min()), float(there.max())
    reach = _FAR * (high - low)
    limits = low - reach, high + reach
    written = max(map(abs, limits)) <= float(np.finfo(np.float32).max)
    return limits if low < high and written else None


def _learn_date(
    name: str, form: str, seen: Sequence[str | None]
) -> tuple[EncodedColumn | None, str]:
    dates = [date for text in seen if text and (date := read_date(text, form)) is not None]
    values = {part: [part_of(date, part) for date in dates] for part in PARTS}
    parts = tuple(part for part in PARTS if len(set(values[part])) > 1)
    missing = len(seen) - len(dates)
    if not parts and not missing:
        return None, ""
    medians = tuple(float(np.median(values[part])) for part in parts)
    encoded = DateColumn(column=name, form=form, parts=parts, medians=medians, flag=missing > 0)
    note = f"'{name}' has no date in {missing:,} of {count(len(seen), 'training row')}"
    return encoded, note if missing else ""


def _learn_category(
    name: str, seen: Sequence[str | None], there: Sequence[str]
) -> tuple[EncodedColumn | None, str]:
    counts = Counter(there)
    missing = len(seen) - len(there)
    if len(counts) == 1 and not missing:
        return None, ""
    if len(counts) > MOST_CATEGORIES and len(counts) > _NAMES * len(there):
        return None, (
            f"column '{name}' left out: {len(counts):,} different texts in {len(there):,} training "
            "rows are no categories; name it as data.text if its words matter"
        )
    common = [
        level for level, rows in counts.most_common(MOST_CATEGORIES) if rows >= _RARE * len(seen)
    ]
    rare = len(counts) - len(common)
    encoded = CategoryColumn(
        column=name, levels=tuple(sorted(common)), other=rare > 0, missing=missing > 0
    )
    notes = []
    if missing:
        notes.append(f"no value in {missing:,} of {count(len(seen), 'training row')}")
    if rare:
        notes.append(f"{count(rare, 'rare text')} taken together as 'other'")
    return encoded, f"'{name}' has {' and '.join(notes)}" if notes else ""


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _check_no_slips(name: str, column: Column, train: NDArray[np.int64], table: RawTable) -> None:
    if isinstance(column, np.ndarray):
        return
    there = sum(text is not None for text in as_texts(column))
    wrong, first = first_text(column)
    if wrong <= _SLIP * there:
        raise InvalidDataError(
            f"{table.where}: column '{name}' holds numbers, but text in {wrong} of "
            f"{count(len(train), 'training row')}, first '{column[first]}' in "
            f"{table.row_name(int(train[first]))}; make every value a "
            "number or leave it empty, or name the column in data.drop",
            column=name,
        )
