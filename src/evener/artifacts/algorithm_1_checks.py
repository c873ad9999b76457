"""Check the keys of a project's [search] that only the paper's Algorithm 1 has a meaning for."""

from math import isfinite
from typing import Final

from evener.artifacts.search_section import SearchSection
from evener.errors import InvalidProjectError

_OWN: Final = ("error_threshold", "fitness_threshold", "certainty", "cycles")
_THRESHOLDS: Final = ("error_threshold", "fitness_threshold")


def check_algorithm_1(search: SearchSection) -> None:
    """Check thresholds, certainty, cycles, credit and base models.

    Raises:
        InvalidProjectError: one has no meaning for the algorithm, or is a value that no F or
            probability can be beside.
    """
    if search.credit != "best" and not search.compete:
        raise _wrong(
            "credit",
            f'"{search.credit}"',
            "judges layers that compete, and none do: write compete = true, or leave it out",
        )
    for name in _OWN:
        value = getattr(search, name)
        if value is not None and search.algorithm != "coevolution":
            raise _wrong(
                name,
                value,
                f'is of algorithm = "coevolution", which prunes connections; "{search.algorithm}" '
                "does not: leave it out, or change the algorithm",
            )
    for name in _THRESHOLDS:
        value = getattr(search, name)
        if value is not None and not (isfinite(value) and value > 0):
            raise _wrong(
                name,
                value,
                "must be a number above 0, as F of equation 3 is: write one such as 0.1, or leave "
                "it out",
            )
    if search.certainty is not None and not 0 <= search.certainty <= 1:
        raise _wrong("certainty", search.certainty, "is a probability: write one from 0 to 1")
    if search.algorithm == "coevolution" and len(search.base_models) > search.population:
        raise _wrong(
            "base_models",
            f"{len(search.base_models)} networks",
            f"are more than the population, {search.population}, each of which begins with one: "
            "name fewer, or raise search.population",
        )


def _wrong(name: str, value: object, why: str) -> InvalidProjectError:
    return InvalidProjectError(f"search.{name} = {value} {why}", key=f"search.{name}")
