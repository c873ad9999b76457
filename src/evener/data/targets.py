"""Find what is to be predicted: which task it is, and what each row is to be answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.dataset import Task
from evener.data.cells import Column, as_numbers, number_text
from evener.data.labels import encode_labels
from evener.errors import InvalidDataError
from evener.units import count

MOST_SPARSE_CLASSES: Final = 20  # whole numbers; more of them look measured
_ROWS_EACH: Final = 10  # of a run of whole numbers without gaps, which are classes all the same


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """What rows are to be answered.

    Attributes:
        task: what is predicted.
        answers: int64 (rows,) indices into `classes`, or float32 (rows, outputs).
        classes: names of the outputs.
        rows: int64, the rows of the file that have a target, ascending.
        notes: what was left out, for people.
    """

    task: Task
    answers: NDArray[Any]
    classes: tuple[str, ...]
    rows: NDArray[np.int64]
    notes: tuple[str, ...] = ()


def find_targets(
    columns: Mapping[str, Column], *, task: Task | None, separator: str | None, where: str
) -> Targets:
    """Say what each row is to be answered.

    Without a task, several columns that are 0 or 1 in all rows are labels, other ones numbers. One
    column of texts holds classes; of whole numbers too, where there are 20 of them at most, or a
    run of them without gaps of which each comes 10 times or more on average; of other numbers
    numbers. A separator makes labels of one column, or, with the task "classes", classes of the
    rows that have one label.

    Args:
        columns: the target's columns by name, one at least.
        task: what the project says that it is.
        separator: what stands between the labels of one column.
        where: the file, for errors.

    Raises:
        InvalidDataError: the columns do not hold what the task needs.

    Example:
        >>> prices = {"price": ["1.5", "", "2.5"]}
        >>> found = find_targets(prices, task=None, separator=None, where="a.csv")
        >>> found.task, found.answers.tolist(), found.rows.tolist()
        ('numbers', [[1.5], [2.5]], [0, 2])
    """
    if separator is not None:
        return _separated(columns, task, separator, where)
    if len(columns) > 1 or task in ("numbers", "labels"):
        return _of_columns(columns, task, where)
    ((name, column),) = columns.items()
    numbers = as_numbers(column)
    if task is None and numbers is not None and _looks_measured(numbers[~np.isnan(numbers)]):
        return _of_columns(columns, "numbers", where)
    return _classes(name, column, where)


def _classes(name: str, column: Column, where: str) -> Targets:
    if isinstance(column, np.ndarray):
        texts = ["" if np.isnan(one) else number_text(one) for one in column.tolist()]
    else:
        texts = [(one or "").strip() for one in column]
    rows = np.array([place for place, text in enumerate(texts) if text], np.int64)
    _check_any(rows, [name], where)
    labels, classes = encode_labels([texts[row] for row in rows], target=name, where=where)
    return Targets("classes", labels, classes, rows, _left_out(len(texts), rows))


def _of_columns(columns: Mapping[str, Column], task: Task | None, where: str) -> Targets:
    values = []
    for name, column in columns.items():
        numbers = as_numbers(column)
        if numbers is None:
            raise InvalidDataError(
                f"{where}: the target '{name}' holds texts, and the task "
                f"{task or 'of several targets'} needs numbers; choose another target, or "
                'task = "classes" with one target',
                column=name,
            )
        values.append(numbers)
    targets = np.stack(values, axis=1)
    rows = np.flatnonzero(~np.isnan(targets).any(axis=1))
    notes = _left_out(len(targets), rows)
    _check_any(rows, list(columns), where)
    targets = targets[rows]
    marks = np.isin(targets, (0, 1))
    if task is None:
        task = "labels" if marks.all() else "numbers"
    if task == "labels" and not marks.all():
        row, output = np.argwhere(~marks)[0]
        raise InvalidDataError(
            f"{where}: the target '{list(columns)[output]}' is {targets[row, output]:g} in some "
            'rows, and a label is 1 where a row has it, else 0; write such, or task = "numbers"',
            column=list(columns)[output],
        )
    for output, name in enumerate(columns):
        if not np.isfinite(targets[:, output]).all():
            raise InvalidDataError(
                f"{where}: the target '{name}' is infinite in some rows; remove these rows",
                column=name,
            )
        if np.ptp(targets[:, output]) == 0:
            raise InvalidDataError(
                f"{where}: the target '{name}' is {targets[0, output]:g} in all {len(rows)} rows; "
                "there is nothing to learn. Choose another target.",
                column=name,
            )
    return Targets(task, targets.astype(np.float32), tuple(columns), rows, notes)


def _separated(
    columns: Mapping[str, Column], task: Task | None, separator: str, where: str
) -> Targets:
    if len(columns) > 1 or task == "numbers":
        raise InvalidDataError(
            f"{where}: data.separator divides the labels of one target; name one, whose task is "
            "labels or classes"
        )
    ((name, column),) = columns.items()
    texts = [] if isinstance(column, np.ndarray) else column
    sets = [
        tuple(filter(None, (one.strip() for one in (text or "").split(separator))))
        for text in texts
    ]
    if task == "classes":
        rows = np.array([row for row, labels in enumerate(sets) if len(labels) == 1], np.int64)
        _check_any(rows, [name], where)
        labels, classes = encode_labels([sets[row][0] for row in rows], target=name, where=where)
        gone = len(sets) - len(rows)
        note = (f"{count(gone, 'row')} without exactly one '{name}' left out",) if gone else ()
        return Targets("classes", labels, classes, rows, note)
    rows = np.array([row for row, labels in enumerate(sets) if labels], np.int64)
    _check_any(rows, [name], where)
    found = sorted({label for labels in sets for label in labels})
    index = {label: place for place, label in enumerate(found)}
    marks = np.zeros((len(rows), len(found)), np.float32)
    for place, row in enumerate(rows):
        marks[place, [index[label] for label in sets[row]]] = 1
    return Targets("labels", marks, tuple(found), rows, _left_out(len(sets), rows))


def _looks_measured(numbers: NDArray[np.float64]) -> bool:
    """Whether numbers are measured, rather than names of classes."""
    distinct = np.unique(numbers)
    if not np.isfinite(distinct).all() or (distinct != np.floor(distinct)).any():
        return True
    if len(distinct) <= MOST_SPARSE_CLASSES:
        return False
    without_gaps = distinct[-1] - distinct[0] + 1 == len(distinct)
    return not (without_gaps and len(numbers) >= _ROWS_EACH * len(distinct))


def _left_out(rows: int, kept: NDArray[np.int64]) -> tuple[str, ...]:
    gone = rows - len(kept)
    return (f"{count(gone, 'row')} without a target left out",) if gone else ()


def _check_any(rows: NDArray[np.int64], names: Sequence[str], where: str) -> None:
    if not len(rows):
        raise InvalidDataError(
            f"{where}: no row has a value of the target '{names[0]}'; choose another target",
            column=names[0],
        )
