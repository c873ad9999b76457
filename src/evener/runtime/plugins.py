"""Find runtimes that other packages bring: entry points of the group `evener.runtimes`.

Each names something that makes a `Runtime` when called without arguments, mostly its class. What
cannot be used is said aloud, with the package it came from, and left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from evener.runtime.session import Runtime

GROUP: Final = "evener.runtimes"


@dataclass(frozen=True, slots=True)
class Plugins:
    """What other packages bring.

    Attributes:
        runtimes: those that can be used, by name.
        faults: why one cannot be used, by the name of its entry point.
    """

    runtimes: Mapping[str, Runtime]
    faults: Mapping[str, str]


def load_plugins(taken: Iterable[str], points: Iterable[EntryPoint] | None = None) -> Plugins:
    """Load the runtimes of other packages.

    Args:
        taken: names that no plug-in may have.
        points: the entry points; those of the installed packages if None.
    """
    found = entry_points(group=GROUP) if points is None else points
    runtimes: dict[str, Runtime] = {}
    faults: dict[str, str] = {}
    used = set(taken)
    for point in sorted(found, key=lambda one: (one.name, _package(one))):
        if point.name in used:
            faults.setdefault(
                point.name, f"{_package(point)} brings a runtime of a name that is taken; remove it"
            )
            continue
        used.add(point.name)
        try:
            runtime = point.load()()
            fault = _fault(point, runtime)
        except Exception as error:  # noqa: BLE001 - a stranger's code may raise anything
            fault = f"{type(error).__name__}: {error}"
        if fault:
            faults[point.name] = (
                f"{_package(point)} brings it, but it cannot be used: {fault}; repair or remove "
                "that package"
            )
        else:
            runtimes[point.name] = runtime
    return Plugins(runtimes, faults)


def _fault(point: EntryPoint, runtime: object) -> str:
    if not isinstance(runtime, Runtime):
        return f"{point.value} makes a {type(runtime).__name__}, which is no evener Runtime"
    if runtime.name != point.name:
        return f"it calls itself '{runtime.name}', its entry point '{point.name}'"
    return ""


def _package(point: EntryPoint) -> str:
    """Name the package of an entry point, and its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "a package without a name"
