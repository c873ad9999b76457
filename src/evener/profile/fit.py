"""Fit what a cost model knows of some cores to a few networks that were timed there.

A network's time is taken as something fixed and a sum of features (`evener.network.features`), with
rates that are not negative and of least squared relative error (Lawson and Hanson, "Solving Least
Squares Problems", 1974).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A cost model of some cores.

    Attributes:
        fixed_s: seconds that any segment takes.
        seconds: per unit of each feature.
        errors: |predicted / measured - 1| of each network, predicted from the others.
    """

    fixed_s: float
    seconds: tuple[float, ...]
    errors: tuple[float, ...]

    def predicted_s(self, features: Floats) -> float:
        """Return the time of a segment with so much of each feature."""
        return self.fixed_s + float(features @ np.array(self.seconds))


def fit_rates(features: Floats, times_s: Sequence[float]) -> Fit:
    """Fit a cost model, and find out how well it predicts what it has not seen.

    Args:
        features: (networks, features), of two networks or more.
        times_s: of each network, above 0.

    Example:
        >>> fit = fit_rates(np.array([[1.0], [2.0], [4.0]]), [3.0, 5.0, 9.0])
        >>> round(fit.fixed_s, 9), [round(one, 9) for one in fit.seconds]
        (1.0, [2.0])
    """
    measured = np.array(times_s)
    fixed_s, seconds = _rates(features, measured)
    errors = []
    for left_out in range(len(measured)):
        others = np.arange(len(measured)) != left_out
        fixed, rates = _rates(features[others], measured[others])
        predicted = fixed + features[left_out] @ rates
        errors.append(abs(float(predicted / measured[left_out]) - 1))
    return Fit(fixed_s, tuple(seconds.tolist()), tuple(errors))


def _rates(features: Floats, measured: Floats) -> tuple[float, Floats]:
    from scipy.optimize import nnls  # a quarter of a second to import

    rows = np.column_stack([np.ones(len(features)), features]) / measured[:, np.newaxis]
    solved: Floats = nnls(rows, np.ones(len(rows)))[0]
    return float(solved[0]), solved[1:]
