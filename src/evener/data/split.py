"""Split rows for training, choosing and testing: class by class, at random, or as they came."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evener.errors import InvalidDataError
from evener.units import count

FEWEST_ROWS = 3  # of a class: one for each part


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

    Args:
        labels: (rows,), indices into `classes`.
        classes: names of the classes, for the error.
        validation_share: share of the rows of each class, in (0, 1).
        test_share: the same; the two leave something to train on.
        seed: what the split is drawn from.
        where: whose rows they are, for the error.

    Raises:
        InvalidDataError: a class has fewer rows than there are parts.

    Example:
        >>> labels = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
        >>> split = split_rows(labels, ("no", "yes"), validation_share=0.2, test_share=0.2, seed=0)
        >>> len(split.train), len(split.validation), len(split.test)
        (6, 2, 2)
        >>> sorted(labels[split.test].tolist())
        [0, 1]
    """
    _check_every_class_can_be_split(labels, classes, where)
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


def _cut(
    drawn: NDArray[np.int64], validation_share: float, test_share: float
) -> list[NDArray[np.int64]]:
    """Cut rows into those for test, validation and training, one each at least."""
    rows = len(drawn)
    test = min(max(round(rows * test_share), 1), rows - 2)
    validation = min(max(round(rows * validation_share), 1), rows - test - 1)
    return np.split(drawn, [test, test + validation])


def _check_every_class_can_be_split(
    labels: NDArray[np.int64], classes: Sequence[str], where: str
) -> None:
    counts = np.bincount(labels, minlength=len(classes))
    rare = [index for index, rows in enumerate(counts) if rows < FEWEST_ROWS]
    if rare:
        shown = ", ".join(f"'{classes[index]}' ({counts[index]})" for index in rare[:5])
        more = f" and {len(rare) - 5} more" if len(rare) > 5 else ""
        raise InvalidDataError(
            f"{where}: {len(rare)} of {len(classes)} classes have fewer than {FEWEST_ROWS} rows: "
            f"{shown}{more}; training, validation and test need one each. "
            "Add rows of these classes, or remove or merge the classes."
        )
