"""Compare what two searches offer at equal accuracy, and say what came of it."""

from collections.abc import Mapping, Sequence
from statistics import fmean, geometric_mean
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

BOARD: Final = "khadas-vim3"
WANTED: Final = 1.15
SPAN: Final = 0.02  # of accuracy below the best that both reach, over which rates are compared
LEVELS: Final = 9
COSTS: Final = ("period_s", "size_bytes")


class Offer(msgspec.Struct, frozen=True):
    """A network of a front after it was trained again.

    Attributes:
        network: as people read it.
        validation: mean accuracy of the new trainings on the validation rows.
        test: likewise on the test rows.
        cost: the search's own.
        period_s: estimated.
        size_bytes: of its file.
        rate_hz: over simulated processors.
    """

    network: str
    validation: float
    test: float
    cost: float
    period_s: float
    size_bytes: float
    rate_hz: float


def compare(offers: Mapping[str, Sequence[Offer]]) -> dict[str, Any]:
    """Return the rates that two fronts offer at equal accuracy, and their ratio.

    Args:
        offers: the networks of a front, by the cost that it was searched by.

    Returns:
        Rates at equal accuracy on the validation rows, and under "test_ratio" what the same
        networks come to where the test rows are held equal.
    """
    ladders = {by: ladder(some) for by, some in offers.items()}
    levels = _levels([[one.validation for one in steps] for steps in ladders.values()])
    found: dict[str, Any] = {"levels": levels.tolist()}
    for by, steps in ladders.items():
        at = [one.validation for one in steps]
        rates = np.exp(np.interp(levels, at, np.log([one.rate_hz for one in steps])))
        tests = np.interp(levels, at, [one.test for one in steps])
        found[by] = {
            "rate_hz": geometric_mean(rates),
            "rates_hz": rates.tolist(),
            "test": float(tests.mean()),
            "front": msgspec.to_builtins(steps),
            "trained_again": len(offers[by]),
        }
    quick, small = (found[by] for by in COSTS)
    found["ratio"] = quick["rate_hz"] / small["rate_hz"]
    found["test_gain"] = quick["test"] - small["test"]
    found["test_ratio"] = _at_equal_test(ladders)
    return found


def _levels(accuracies: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return accuracies from the best that all reach downwards, the least first."""
    high = min(map(max, accuracies))
    return np.linspace(high - SPAN, high, LEVELS)


def _at_equal_test(ladders: Mapping[str, Sequence[Offer]]) -> float:
    """Return the ratio of the rates at equal accuracy on the test rows.

    Args:
        ladders: networks that were chosen by the validation rows.
    """
    by_test = {
        by: ladder([msgspec.structs.replace(one, validation=one.test) for one in steps])
        for by, steps in ladders.items()
    }
    at = {by: [one.validation for one in steps] for by, steps in by_test.items()}
    levels = _levels(list(at.values()))
    quick, small = (
        np.interp(levels, at[by], np.log([one.rate_hz for one in by_test[by]])) for by in COSTS
    )
    return float(np.exp((quick - small).mean()))


def ladder(offers: Sequence[Offer]) -> list[Offer]:
    """Return the networks that none beats in accuracy and cost, the least accurate first.

    Accuracy is the mean of the new trainings: what was best by luck is not so again.

    Example:
        >>> made = [Offer("", accuracy, 0, cost, 0, 0, 0) for accuracy, cost in
        ...         [(0.9, 1), (0.95, 3), (0.93, 4), (0.97, 5)]]
        >>> [one.cost for one in ladder(made)]
        [1, 3, 5]
    """
    steps: list[Offer] = []
    for one in sorted(offers, key=lambda one: (one.cost, -one.validation)):
        if not steps or one.validation > steps[-1].validation:
            steps.append(one)
    return steps


def found_so_far(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the record of some pairs of searches."""
    names = dict.fromkeys(row["case"] for row in rows)
    return {
        "board": BOARD,
        "estimate": f"cost model of {BOARD}; rates are of simulated processors",
        "span": SPAN,
        "wanted": WANTED,
        "ratio": geometric_mean(row["ratio"] for row in rows),
        "test_ratio": geometric_mean(row["test_ratio"] for row in rows),
        "ratios": {name: of_case(rows, name) for name in names},
        "test_gain": fmean(row["test_gain"] for row in rows),
        "rows": list(rows),
    }


def of_case(rows: Sequence[Mapping[str, Any]], case: str) -> dict[str, Any]:
    """Return what the pairs of a case came to."""
    ratios = [row["ratio"] for row in rows if row["case"] == case]
    by_test = [row["test_ratio"] for row in rows if row["case"] == case]
    gain = fmean(row["test_gain"] for row in rows if row["case"] == case)
    return {
        "ratio": geometric_mean(ratios),
        "each": ratios,
        "test_gain": gain,
        "test_ratio": geometric_mean(by_test),
        "test_each": by_test,
    }


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what all pairs came to."""
    if not rows:
        return []
    found = found_so_far(rows)
    lines = []
    for name, one in found["ratios"].items():
        each = ", ".join(f"{ratio:.2f}" for ratio in one["each"])
        by_test = ", ".join(f"{ratio:.2f}" for ratio in one["test_each"])
        lines += [
            f"{name}: {one['ratio']:.2f} times the rate at equal accuracy on the validation rows",
            f"  ({each}), where accuracy on the test rows is {100 * one['test_gain']:+.2f} points;",
            f"  {one['test_ratio']:.2f} times at equal accuracy on the test rows ({by_test})",
        ]
    last = f"all: {found['ratio']:.2f} times the rate, {found['test_ratio']:.2f} by the test rows"
    return [*lines, f"{last}; {WANTED} wanted"]


def told(row: Mapping[str, Any]) -> str:
    """Say in lines what a pair of searches came to."""
    low, *_, high = row["levels"]
    gain = 100 * row["test_gain"]
    ratio, trained = row["ratio"], row["trained"]
    lines = [
        f"{row['case']}, seed {row['seed']}: {ratio:.2f} times the rate; {trained} trained",
        f"  at validation accuracies of {low:.4f} to {high:.4f}, test {gain:+.2f} points",
        f"  {row['test_ratio']:.2f} times at equal accuracy on the test rows",
    ]
    for by in COSTS:
        lines.append(f"  by {by}: {row[by]['rate_hz']:.0f} /s")
        lines += [_offered(one) for one in row[by]["front"]]
    return "\n".join(lines)


def _offered(one: Mapping[str, Any]) -> str:
    return (
        f"    {one['validation']:.4f} (test {one['test']:.4f}) {one['rate_hz']:5.0f} /s "
        f"({1 / one['period_s']:.0f} estimated) {one['size_bytes'] / 1e3:6.1f} kB  {one['network']}"
    )
