"""What every source of numbers reads before the target is encoded."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.data.cells import Column
from evener.errors import InvalidDataError
from evener.hints import did_you_mean

_SHOWN: Final = 20  # names that an error lists


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Features as numbers, and the target, before checks of their values.

    Attributes:
        features: float32 (rows, features); values may still be NaN or infinite.
        feature_names: names of its columns.
        targets: the columns to predict, by what the file calls them.
        where: the file, or the name of the built-in set.
        row_name: says where a row, counted from 0, stands, such as "line 7".
        picture: channels, height and width where a row is a picture.
        parts: (rows,) `TRAIN`, `VALIDATION` or `TEST` of `split.py`; None to draw a split.
    """

    features: NDArray[np.float32]
    feature_names: tuple[str, ...]
    targets: Mapping[str, Column]
    where: str
    row_name: Callable[[int], str]
    picture: tuple[int, int, int] | None = None
    parts: NDArray[np.int64] | None = None


def missing_target(target: str, names: Iterable[str], where: str, what: str) -> InvalidDataError:
    """Say that the target is not there, and which name was probably meant.

    Args:
        target: the name asked for.
        names: the names there are.
        where: the file.
        what: what a name stands for, such as "column".
    """
    known = list(names)
    hint = did_you_mean(target, known)
    shown = ", ".join(known[:_SHOWN])
    shown += f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return InvalidDataError(
        f"{where} has no {what} '{target}' to predict; {hint}{what}s: {shown}. Choose one of them.",
        column=target,
    )


def missing_column(name: str, columns: Iterable[str], where: str, why: str) -> InvalidDataError:
    """Say that a column is not there, and which was probably meant.

    Args:
        name: of the column.
        columns: names of those that are there.
        where: the file.
        why: who needs it, such as "the network reads it".
    """
    known = list(columns)
    hint = did_you_mean(name, known)
    shown = ", ".join(known[:_SHOWN]) + ", …" * (len(known) > _SHOWN)
    return InvalidDataError(
        f"{where} has no column '{name}', and {why}; {hint}columns: {shown}", column=name
    )
