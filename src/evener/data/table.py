"""What every source reads before it is encoded: named columns of equal length."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from evener.errors import InvalidDataError


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Features and the target as numbers, before checks of their values.

    Attributes:
        features: float32 (rows, features); values may still be NaN or infinite.
        feature_names: names of its columns.
        target: the target's value in each row, as text.
        target_name: what the file calls the target.
        where: the file, or the name of the built-in set.
        row_name: says where a row, counted from 0, stands, such as "line 7".
    """

    features: NDArray[np.float32]
    feature_names: tuple[str, ...]
    target: tuple[str, ...]
    target_name: str
    where: str
    row_name: Callable[[int], str]


def missing_target(target: str, names: Iterable[str], where: str, what: str) -> InvalidDataError:
    """Say that the target is not there, and which name was probably meant.

    Args:
        target: the name asked for.
        names: the names there are.
        where: the file.
        what: what a name stands for, such as "column".
    """
    known = list(names)
    lower = {name.lower(): name for name in known}
    near = get_close_matches(target.lower(), lower, n=1)
    hint = f"did you mean '{lower[near[0]]}'? " if near else ""
    shown = ", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    return InvalidDataError(
        f"{where} has no {what} '{target}' to predict; {hint}{what}s: {shown}. Choose one of them.",
        column=target,
    )
