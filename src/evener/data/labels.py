"""Turn the target's values into class numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evener.errors import InvalidDataError


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
        InvalidDataError: only one class.

    Example:
        >>> encode_labels(["10", "9", "10"], target="label", where="a.csv")
        (array([1, 0, 1]), ('9', '10'))
    """
    whole = _whole_numbers(values)
    found: list[int] | list[str] = sorted(set(values)) if whole is None else sorted(set(whole))
    index = {value: number for number, value in enumerate(found)}
    labels = np.array([index[value] for value in (whole or values)], np.int64)
    classes = tuple(map(str, found))
    if len(classes) == 1:
        raise InvalidDataError(
            f"{where}: the target '{target}' is '{classes[0]}' in all {len(values)} rows; nothing "
            "can be learned from one class. Choose another target or add rows of other classes.",
            column=target,
        )
    return labels, classes


def _whole_numbers(values: Sequence[str]) -> list[int] | None:
    """Return the values as integers, unless one is none."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return None
    return [int(one) for one in numbers] if all(map(float.is_integer, numbers)) else None
