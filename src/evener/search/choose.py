"""Choose among rated networks: which to train in full, and which one to keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_SURE: Final = 2.0  # standard errors above a limit, which 98 of 100 other splits are to hold


@dataclass(frozen=True, slots=True)
class Rated:
    """A network and how good it seems.

    Attributes:
        id: of the network.
        costs: what is to be small; of several the first counts, the others where it is the same.
        quality: more is better.
        error: one standard error of the quality.
    """

    id: str
    costs: tuple[float, ...]
    quality: float
    error: float


def choose(rated: Sequence[Rated], required_quality: float | None) -> Rated:
    """Pick the cheapest network that is good enough.

    Good enough is: the requirement plus two standard errors, since the validation split flatters
    the one that is picked by it, and other rows are to hold the limit too. Without a requirement it
    is the best quality less one standard error of the best (the rule of Breiman et al.,
    Classification and Regression Trees, 1984).

    Args:
        rated: one or more.
        required_quality: the limit on the quality, if there is one.

    Returns:
        The cheapest that is good enough; where none is, the best.

    Example:
        >>> small, large = Rated("small", (1,), 0.95, 0.01), Rated("large", (8,), 0.97, 0.01)
        >>> choose([small, large], 0.92).id, choose([small, large], 0.95).id
        ('small', 'large')
    """
    ordered = _cheapest_first(rated)
    best = max(ordered, key=lambda one: one.quality)  # the cheapest of equally good ones
    if required_quality is None:
        good = [one for one in ordered if one.quality >= best.quality - best.error]
    else:
        good = [one for one in ordered if one.quality - _SURE * one.error >= required_quality]
    return good[0] if good else best


def finalists(
    rated: Sequence[Rated], required_quality: float | None, count: int
) -> tuple[Rated, ...]:
    """Pick the networks of a front that are worth training in full: the choice and its neighbours.

    Args:
        rated: the front, one network or more.
        required_quality: the limit on the quality, if there is one.
        count: how many at most.

    Returns:
        The one that `choose` picks, then those that cost more, the nearest first, then those that
        cost less. Of several costs only the first is looked at: those that another beats in quality
        and in this cost come last.

    Example:
        >>> front = [Rated(name, (cost,), cost / 10, 0.0) for cost, name in enumerate("abcde")]
        >>> [one.id for one in finalists(front, 0.2, 4)]
        ['c', 'd', 'e', 'b']
    """
    every = _cheapest_first(rated)
    chosen = choose(rated, required_quality)
    ordered = [one for one in every if one is chosen or not _beaten(one, every)]
    rest = [one for one in every if one not in ordered]
    place = ordered.index(chosen)
    return (*ordered[place:], *reversed(ordered[:place]), *rest)[:count]


def _beaten(one: Rated, others: Sequence[Rated]) -> bool:
    """Return whether another is no worse in quality and first cost, and better in either."""
    return any(
        other.costs[0] <= one.costs[0]
        and other.quality >= one.quality
        and (other.costs[0], -other.quality) != (one.costs[0], -one.quality)
        for other in others
    )


def _cheapest_first(rated: Sequence[Rated]) -> list[Rated]:
    return sorted(rated, key=lambda one: (one.costs, -one.quality, one.id))
