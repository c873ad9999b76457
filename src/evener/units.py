"""Read and write quantities such as "20 ms", "2 MB" or "200 /s"; inside, everything is SI.

Times are seconds, sizes bytes, rates per second, energies joules; a bare number has no
unit, and a count only a size such as "2.4 k".
A quantity that a person meets passes through `parse` or `show`, and nowhere else.
"""

import re
from math import isfinite
from typing import Final, Literal

from evener.errors import InputError

Dimension = Literal["time", "size", "rate", "energy", "number", "count"]

SCALES: Final[dict[str, dict[str, float]]] = {
    "time": {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "size": {
        "B": 1.0,
        "kB": 1e3,
        "MB": 1e6,
        "GB": 1e9,
        "KiB": 2.0**10,
        "MiB": 2.0**20,
        "GiB": 2.0**30,
    },
    "rate": {"/s": 1.0, "/min": 1 / 60, "/h": 1 / 3600},
    "energy": {"uJ": 1e-6, "µJ": 1e-6, "mJ": 1e-3, "J": 1.0, "kJ": 1e3, "Wh": 3600.0, "kWh": 3.6e6},
    "number": {"": 1.0, "%": 0.01},
    "count": {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9},
}
_SHOWN: Final[dict[str, tuple[str, ...]]] = {
    "time": ("µs", "ms", "s"),
    "size": ("B", "kB", "MB", "GB"),
    "rate": ("/s",),
    "energy": ("µJ", "mJ", "J", "kJ"),
    "number": ("",),
    "count": ("", "k", "M", "G"),
}
_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S*)\s*")


def parse(text: str, dimension: Dimension) -> float:
    """Read a quantity and return it in SI units.

    Args:
        text: a number and a unit, with or without space between.
        dimension: what it must be.

    Raises:
        InputError: no number, one too large to hold, or a unit that does not belong to the
            dimension.

    Example:
        >>> parse("20 ms", "time"), parse("2MB", "size"), parse("97 %", "number")
        (0.02, 2000000.0, 0.97)
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise InputError(f"'{text}' is not a {dimension}: write {_examples(dimension)}")
    number, unit = match.groups()
    if unit not in SCALES[dimension]:
        given = f"has the unit '{unit}'" if unit else "has no unit"
        raise InputError(
            f"'{text.strip()}' {given}, and is no {dimension}: write {_examples(dimension)}"
        )
    value = float(number) * SCALES[dimension][unit]
    if not isfinite(value):
        raise InputError(f"'{text.strip()}' is too large to hold: write {_examples(dimension)}")
    return value


def show(value: float | None, dimension: Dimension, *, digits: int = 3) -> str:
    """Write a quantity for a person.

    Args:
        value: in SI units; None is written "-".
        dimension: what it is.
        digits: how many count; those before the point are all written.

    Example:
        >>> show(0.0213, "time"), show(2.5e6, "size"), show(81.24, "rate"), show(None, "time")
        ('21.3 ms', '2.5 MB', '81.2 /s', '-')
        >>> show(2368, "count")
        '2.37 k'
    """
    if value is None:
        return "-"
    rounded = float(f"{value:.{digits}g}")  # 999.7 ms is 1 s
    unit = _SHOWN[dimension][0]
    for candidate in _SHOWN[dimension]:
        if abs(rounded) >= SCALES[dimension][candidate]:
            unit = candidate
    scaled = value / SCALES[dimension][unit]
    whole = abs(scaled) >= 10**digits - 0.5
    number = f"{scaled:.0f}" if whole else f"{scaled:.{digits}g}"
    return f"{number} {unit}".strip()


def _examples(dimension: Dimension) -> str:
    if dimension == "number":
        return "'0.97' or '97 %'"
    units = [unit for unit in SCALES[dimension] if unit.isascii()]
    joined = ", ".join(units)
    return f"'20 {units[min(2, len(units) - 1)]}' (units: {joined})"
