"""Turn the target's values into class numbers."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.data.split import FEWEST_ROWS
from evener.errors import InvalidDataError

MOST_SPARSE_CLASSES: Final = 20  # of numbers that hardly repeat; more of them look measured


def encode_labels(
    values: Sequence[str], *, target: str, where: str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Number the classes: integers by size, everything else by spelling.

    Args:
        values: the target's value in each row; "1" and "1.0" are one class.
        target: name of the target, for errors.
        where: the file, for errors.

    Returns:
        (rows,) indices, and the classes that they point into.

    Raises:
        InvalidDataError: only one class, or a target that is measured rather than named.

    Example:
        >>> encode_labels(["10", "9", "10"], target="label", where="a.csv")
        (array([1, 0, 1]), ('9', '10'))
    """
    numbers = _numbers(values)
    if numbers is not None:
        _check_not_continuous(numbers, values, target, where)
        whole = [int(number) for number in numbers]
        found: Sequence[int | str] = sorted(set(whole))
        index: dict[int | str, int] = {value: number for number, value in enumerate(found)}
        labels = np.array([index[value] for value in whole], np.int64)
    else:
        found = sorted(set(values))
        index = {value: number for number, value in enumerate(found)}
        labels = np.array([index[value] for value in values], np.int64)
    classes = tuple(map(str, found))
    if len(classes) == 1:
        raise InvalidDataError(
            f"{where}: the target '{target}' is '{classes[0]}' in all {len(values)} rows; nothing "
            "can be learned from one class. Choose another target or add rows of other classes.",
            column=target,
        )
    return labels, classes


def _numbers(values: Sequence[str]) -> list[float] | None:
    try:
        return [float(value) for value in values]
    except ValueError:
        return None


def _check_not_continuous(
    numbers: Sequence[float], values: Sequence[str], target: str, where: str
) -> None:
    for number, value in zip(numbers, values, strict=True):
        if not number.is_integer():
            raise InvalidDataError(
                f"{where}: the target '{target}' has values such as {value}, which are measured, "
                "not classes; regression is not supported yet. Choose a target of classes, or put "
                "the values into a few ranges.",
                column=target,
            )
    distinct = len(set(numbers))
    if distinct > MOST_SPARSE_CLASSES and distinct > len(numbers) / FEWEST_ROWS:
        raise InvalidDataError(
            f"{where}: the target '{target}' has {distinct} different numbers in {len(numbers)} "
            "rows, too many to be classes; regression is not supported yet. Choose a target of "
            "classes, or put the values into a few ranges.",
            column=target,
        )
