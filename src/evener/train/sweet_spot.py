"""Say which of some networks is the cheapest that is as good as the best, as far as seeds tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final

from scipy.stats import t

from evener.artifacts.swept import Interval, Swept
from evener.units import show

CONFIDENCE: Final = 0.95
NEAR_ACCURACY: Final = 0.01
NEAR_LOSS: Final = 0.05  # of the best one's


@dataclass(frozen=True, slots=True)
class Advice:
    """Which network to take.

    Attributes:
        best: index of the one with the best mean on rows that were not learned from.
        recommended: index of the one to take.
        reason: why, in a sentence.
    """

    best: int
    recommended: int
    reason: str


def interval(values: Sequence[float]) -> Interval:
    """Return the mean and its interval by Student's t.

    Example:
        >>> interval([1.0, 2.0, 3.0])
        Interval(mean=2.0, half_width=2.484...)
    """
    if len(values) < 2:
        return Interval(fmean(values), None)
    quantile = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    return Interval(fmean(values), quantile * stdev(values) / len(values) ** 0.5)


def advise(points: Sequence[Swept]) -> Advice:
    """Recommend the network with fewest bytes whose interval reaches the best one's mean.

    Of equally many bytes, that with fewest weights. The interval is what chance of the seeds may
    do; that of the test rows, which are the same for all, is not in it. A wide interval alone makes
    no network good: the mean is at most 0.01 lower in accuracy than the best, or 5 % of the loss.

    Args:
        points: one or more.
    """
    best = max(range(len(points)), key=lambda one: points[one].merit.mean)
    top = points[best]
    as_good = [
        one
        for one, point in enumerate(points)
        if one == best or (point.merit.high >= top.merit.mean and _near(point, top))
    ]
    least = min(as_good, key=lambda one: (points[one].bytes_per_row, points[one].weights))
    return Advice(best, least, _reason(points[least], top))


def _near(point: Swept, best: Swept) -> bool:
    """Whether a mean is near the best one, whatever its interval."""
    least = NEAR_ACCURACY if best.test_accuracy is not None else NEAR_LOSS * best.test_loss.mean
    return best.merit.mean - point.merit.mean <= least


def _reason(chosen: Swept, best: Swept) -> str:
    """Say why one is chosen, with its figures beside those of the best."""
    measure = "accuracy" if best.test_accuracy is not None else "loss"
    figures = f"{_figure(chosen)} against {_figure(best)}"
    if chosen.bytes_per_row and best.bytes_per_row:
        saved = f"{best.bytes_per_row / chosen.bytes_per_row:,.1f} times fewer bytes"
    else:
        saved = f"no bytes instead of {show(best.bytes_per_row, 'size')}"
    if chosen is best:
        said = (
            f"{name(chosen)} is best, with a test {measure} of {_figure(chosen)}, and none with "
            "fewer bytes reaches it"
        )
    elif chosen.bytes_per_row == best.bytes_per_row:
        said = (
            f"{name(chosen)} reaches the best, {name(best)}, within its interval (test {measure} "
            f"{figures}), with {chosen.weights / best.weights:.0%} of its weights"
        )
    else:
        said = (
            f"{name(chosen)} reaches the best, {name(best)}, within its interval (test {measure} "
            f"{figures}), with {saved} for a row and {chosen.weights / best.weights:.0%} of its "
            "weights"
        )
    if best.seeds < 2:
        said += "; one seed says nothing of chance: give several"
    return said


def name(point: Swept) -> str:
    """Name a network by what tells it from others of its sweep."""
    if point.equal_weights:
        return f"{point.topology}, {'-'.join(map(str, point.widths))}"
    return str(point.topology)


def _figure(point: Swept) -> str:
    if point.test_accuracy is None:
        return str(point.test_loss)
    half = point.test_accuracy.half_width
    spread = "" if half is None else f" ± {100 * half:.2f}"
    return f"{100 * point.test_accuracy.mean:.2f}{spread} %"
