"""Refuse rows so far beyond those to learn from that networks could not answer with numbers."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.data.split import Split
from evener.errors import InvalidDataError
from evener.units import count

FARTHEST: Final = 1e30
"""Distance from the training rows, in units of their range, from which sums leave float32."""

_ROWS: Final = 4096  # that are looked at at a time: a copy of all would fill memory


def check_far(
    features: NDArray[np.float32],
    split: Split,
    names: Sequence[str],
    *,
    where: str,
    row_name: Callable[[int], str],
) -> None:
    """Check that no validation or test row lies far beyond the training rows.

    A network multiplies a number by one over the range of its feature, so that such a row leaves
    float32 behind the first layers. Numbers of tables are brought to a limit, and are never there.

    Args:
        features: (rows, features), finite.
        split: of the rows.
        names: of the features.
        where: the source, for the error.
        row_name: names a row of `features`, likewise.

    Raises:
        InvalidDataError: some do.

    Example:
        >>> rows = np.array([[0.0], [1.0], [0.5], [2.0]], np.float32)
        >>> split = Split(np.array([0, 1]), np.array([2]), np.array([3]))
        >>> check_far(rows, split, ["x"], where="a.npz", row_name=str)
    """
    low, high = _range(features, split.train)
    spread = high - low
    spread[spread <= np.finfo(np.float32).tiny] = 1.0  # no number is divided by so little
    for part, rows in (("validation", split.validation), ("test", split.test)):
        below, above = _range(features, rows)
        beyond = np.maximum(above - high, low - below) / spread
        place = int(np.argmax(beyond))
        if beyond[place] <= FARTHEST:
            continue
        values = features[rows, place].astype(np.float64)
        away = np.maximum(values - high[place], low[place] - values)
        far = np.flatnonzero(away > FARTHEST * spread[place])
        raise InvalidDataError(
            f"{where}: {len(far)} of {count(len(rows), f'{part} row')} so far beyond the training "
            f"rows that no network answers with finite numbers; in {row_name(int(rows[far[0]]))} "
            f"'{names[place]}' is {values[far[0]]:g}, and in training rows {low[place]:g} to "
            f"{high[place]:g}: leave such rows out, or bring the number nearer",
            column=names[place],
        )


def _range(
    features: NDArray[np.float32], rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest number of each feature in some rows, one row or more."""
    low = high = features[rows[0]]
    for first in range(0, len(rows), _ROWS):
        some = features[rows[first : first + _ROWS]]
        low = np.minimum(low, some.min(axis=0))
        high = np.maximum(high, some.max(axis=0))
    return low.astype(np.float64), high.astype(np.float64)
