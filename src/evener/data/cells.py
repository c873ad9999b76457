"""What a column of a table says: numbers, texts, or nothing in some rows."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Column = Sequence[str | None] | NDArray[np.float64]
"""Texts, None where there is nothing; or numbers, NaN where there is none."""

# What pandas takes for nothing, and the question mark of the UCI repository.
MISSING: Final = frozenset(
    ("", "?", "#n/a", "#na", "n/a", "na", "nan", "-nan", "null", "none", "<na>")
)


def is_missing(text: str | None) -> bool:
    """Whether a cell says that there is nothing.

    Example:
        >>> is_missing("NaN"), is_missing(None), is_missing("0")
        (True, True, False)
    """
    return text is None or text.strip().casefold() in MISSING


def as_numbers(column: Column) -> NDArray[np.float64] | None:
    """Return a column as numbers, NaN where there is none; None if it holds texts.

    Example:
        >>> as_numbers(["1", "?", "2.5"])
        array([1. , nan, 2.5])
        >>> as_numbers(["1", "two"]) is None
        True
    """
    if isinstance(column, np.ndarray):
        return column
    try:
        return np.array([np.nan if is_missing(text) else float(text or "") for text in column])
    except ValueError:
        return None


def first_text(column: Sequence[str | None]) -> tuple[int, int]:
    """Return how many cells hold a text that is no number, and the place of the first.

    Example:
        >>> first_text(["1", "two", "", "three"])
        (2, 1)
    """
    places = [place for place, text in enumerate(column) if not _is_number(text)]
    return len(places), places[0]


def as_texts(column: Column) -> list[str | None]:
    """Return a column as texts, None where there is none; whole numbers without a point.

    Example:
        >>> as_texts(np.array([3.0, 0.5, np.nan])), as_texts([" a ", "NA"])
        (['3', '0.5', None], ['a', None])
    """
    if isinstance(column, np.ndarray):
        return [None if np.isnan(one) else number_text(one) for one in column.tolist()]
    return [None if is_missing(text) else (text or "").strip() for text in column]


def number_text(number: float) -> str:
    """Write a number as a table would.

    Example:
        >>> number_text(3.0), number_text(0.25)
        ('3', '0.25')
    """
    return str(int(number)) if number.is_integer() else repr(number)


def _is_number(text: str | None) -> bool:
    if is_missing(text):
        return True
    try:
        float(text or "")
    except ValueError:
        return False
    return True
