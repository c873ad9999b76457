"""Split rows for training, choosing and testing: class by class, at random, or as they came."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.errors import InvalidDataError
from evener.units import count

FEWEST_ROWS: Final = 3  # of a class: one for each part
TRAIN, VALIDATION, TEST = 0, 1, 2
"""Where a row belongs that came with its split."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Which rows are for what; every row is in one part, ascending within it.

    Attributes:
        train: int64 indices of the rows to learn from.
        validation: of the rows to choose by.
        test: of the rows that nothing but the final figure sees.
    """

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def split_rows(
    labels: NDArray[np.int64],
    classes: Sequence[str],
    *,
    validation_share: float,
    test_share: float,
    seed: int,
    where: str = "the data",
) -> Split:
    """Draw a split in which every class has its share of each part, and at least one row.

    A class of two rows has none in validation, and one of a single row is for training alone.

    Args:
        labels: (rows,), indices into `classes`.
        classes: names of the classes, for the error.
        validation_share: share of the rows of each class, in (0, 1).
        test_share: the same; the two leave something to train on.
        seed: what the split is drawn from.
        where: whose rows they are, for the error.

    Raises:
        InvalidDataError: fewer than two classes have as many rows as there are parts.

    Example:
        >>> labels = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
        >>> split = split_rows(labels, ("no", "yes"), validation_share=0.2, test_share=0.2, seed=0)
        >>> len(split.train), len(split.validation), len(split.test)
        (6, 2, 2)
        >>> sorted(labels[split.test].tolist())
        [0, 1]
    """
    _check_classes_can_be_split(labels, classes, where)
    rng = np.random.default_rng(seed)
    parts: tuple[list[NDArray[np.int64]], ...] = ([], [], [])
    for index in range(len(classes)):
        drawn = rng.permutation(np.flatnonzero(labels == index))
        for part, chosen in zip(parts, _cut(drawn, validation_share, test_share), strict=True):
            part.append(chosen)
    test_rows, validation_rows, train_rows = (np.sort(np.concatenate(part)) for part in parts)
    return Split(train=train_rows, validation=validation_rows, test=test_rows)


def split_at_random(
    rows: int, *, validation_share: float, test_share: float, seed: int, where: str = "the data"
) -> Split:
    """Draw a split of rows that have no classes.

    Args:
        rows: how many.
        validation_share: share of the rows, in (0, 1); one row at least.
        test_share: the same; the two leave something to train on.
        seed: what the split is drawn from.
        where: whose rows they are, for the error.

    Raises:
        InvalidDataError: fewer rows than there are parts.

    Example:
        >>> split = split_at_random(10, validation_share=0.2, test_share=0.3, seed=0)
        >>> len(split.train), len(split.validation), len(split.test)
        (5, 2, 3)
    """
    if rows < FEWEST_ROWS:
        raise InvalidDataError(
            f"{where}: {count(rows, 'row')}; training, validation and test need one each. Add rows."
        )
    drawn = np.random.default_rng(seed).permutation(rows)
    test, validation, train = map(np.sort, _cut(drawn, validation_share, test_share))
    return Split(train=train, validation=validation, test=test)


def split_as_given(
    parts: NDArray[np.int64],
    labels: NDArray[np.int64] | None,
    *,
    validation_share: float,
    seed: int,
    where: str = "the data",
) -> Split:
    """Keep the split that rows came with; draw rows to choose by where it names none.

    Args:
        parts: (rows,), `TRAIN`, `VALIDATION` or `TEST`.
        labels: (rows,), class numbers, each of which then has its share; None without classes.
        validation_share: share of the training rows that becomes validation.
        seed: what those are drawn from.
        where: whose rows they are, for the error.

    Raises:
        InvalidDataError: no rows for testing, too few for training or choosing, or training rows
            of one class only.

    Example:
        >>> parts = np.array([TRAIN] * 8 + [TEST] * 2)
        >>> split = split_as_given(parts, None, validation_share=0.25, seed=0)
        >>> len(split.train), len(split.validation), split.test.tolist()
        (6, 2, [8, 9])
    """
    train, validation, test = (np.flatnonzero(parts == part) for part in (TRAIN, VALIDATION, TEST))
    few = not len(train) or len(train) + len(validation) < 2
    if few or not len(test):
        raise InvalidDataError(
            f"{where}: its split has {count(len(train), 'row')} to train on and {len(test)} to "
            "test on; give rows of both, two or more to train on"
        )
    if not len(validation):
        rng = np.random.default_rng(seed)
        groups = [train] if labels is None else _by_class(train, labels)
        chosen = []
        for group in groups:
            drawn = rng.permutation(group)
            most = len(drawn) - 1
            chosen.append(drawn[: min(max(round(len(drawn) * validation_share), 1), most)])
        validation = np.sort(np.concatenate(chosen))
        train = np.setdiff1d(train, validation)
    if not len(validation):
        raise InvalidDataError(
            f"{where}: no class has a training row to spare that networks could be chosen by; give "
            "two or more of each, or name some rows validation"
        )
    if labels is not None and len(np.unique(labels[train])) < 2:
        raise InvalidDataError(
            f"{where}: all {count(len(train), 'row')} to train on are of one class; give training "
            "rows of two classes or more"
        )
    return Split(train=train, validation=validation, test=test)


def _by_class(rows: NDArray[np.int64], labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [rows[labels[rows] == label] for label in np.unique(labels[rows])]


def _cut(
    drawn: NDArray[np.int64], validation_share: float, test_share: float
) -> list[NDArray[np.int64]]:
    """Cut rows into those for test, validation and training, one each where there are enough."""
    rows = len(drawn)
    test = min(max(round(rows * test_share), 1), rows - 2) if rows > 2 else rows - 1
    validation = min(max(round(rows * validation_share), 1), rows - test - 1)
    return np.split(drawn, [test, test + validation])


def _check_classes_can_be_split(
    labels: NDArray[np.int64], classes: Sequence[str], where: str
) -> None:
    counts = np.bincount(labels, minlength=len(classes))
    enough = int((counts >= FEWEST_ROWS).sum())
    if enough < 2:
        shown = ", ".join(
            f"'{name}' ({rows})" for name, rows in zip(classes[:5], counts, strict=False)
        )
        more = f" and {len(classes) - 5} more" if len(classes) > 5 else ""
        raise InvalidDataError(
            f"{where}: {enough} of {len(classes)} classes {'has' if enough == 1 else 'have'} "
            f"{FEWEST_ROWS} rows or more: {shown}{more}; training, validation and test need one "
            'each of two classes at least. Add rows, merge classes, or say task = "numbers" if '
            "these are measured."
        )
