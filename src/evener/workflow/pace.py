"""Fit trials and generations to the time that a search has, by the speed that was measured."""

from dataclasses import dataclass
from math import inf
from typing import Final

from evener.artifacts.search_section import SearchSection
from evener.search.algorithms import POOL

SHARE: Final = 0.75
"""Of the budget, that generations may take; training the best in full has the rest."""

_FEWEST: Final = 12  # networks that are to be tried, whatever the budget
_LEAST_ROWS: Final = 1000  # that a trial learns from, if there are as many
_FIRST: Final = 2  # times the children, at most, are what the first generation of some begins with
_FEW: Final = 2  # networks of the smallest generation
_PRICING: Final = 0.2  # of the time, that may go into what networks cost before they are trained


@dataclass(frozen=True, slots=True)
class Pace:
    """How quickly a generation went by.

    Attributes:
        done: generations that are over.
        tried: networks that were trained for the last one, those of random search included.
        took_s: for how long, in seconds.
        left_s: time for the generations to come, in seconds; None for no limit.
    """

    done: int
    tried: int
    took_s: float
    left_s: float | None


def epochs_of(
    section: SearchSection, each_s: float | None, limit_s: float, *, networks: int = _FEWEST
) -> int:
    """Return how many epochs a trial may have so that some networks can be tried at all.

    As many as were asked for, or so many that twelve networks, and as many of random search, can be
    tried one after another; together, and on several cores, they are more.

    Args:
        section: epochs that were asked for.
        each_s: how long a middling network takes for one, in seconds; None if nobody knows.
        limit_s: time for all trials, in seconds.
        networks: that are to be tried, and as many of random search.

    Example:
        >>> section = SearchSection(epochs=15)
        >>> epochs_of(section, 0.1, 450.0), epochs_of(section, 3.0, 450.0)
        (15, 6)
    """
    if not each_s:
        return section.epochs
    return max(min(section.epochs, int(limit_s / (2 * networks * each_s))), 1)


def rows_of(
    count: int, each_s: float | None, limit_s: float, *, networks: int = _FEWEST
) -> int | None:
    """Return how many rows a trial may learn from where there is no time for one epoch over all.

    Args:
        count: rows that it would learn from.
        each_s: how long a middling network takes for them, in seconds; None if nobody knows.
        limit_s: time for all trials, in seconds.
        networks: that are to be tried, and as many of random search.

    Returns:
        None for all of them.

    Example:
        >>> rows_of(48_000, 0.1, 450.0), rows_of(48_000, 12.0, 30.0)
        (None, 5000)
    """
    share = limit_s / (2 * networks * each_s) if each_s else 1.0
    rows = max(int(share * count), _LEAST_ROWS)
    return None if share >= 1 or rows >= count else rows


def first_children_of(
    section: SearchSection, each_s: float | None, epochs: int, limit_s: float
) -> int:
    """Return how many children a generation may have before any generation has told of the pace.

    So many that the first, of up to twice as many networks and as many of random search, is over in
    time if they are trained one after another, which is slower than together.

    Args:
        section: population that was asked for.
        each_s: how long a middling network takes for an epoch, in seconds; None if nobody knows.
        epochs: of a trial.
        limit_s: time for all trials, in seconds.

    Example:
        >>> section = SearchSection(population=10)
        >>> first_children_of(section, 0.1, 15, 450.0), first_children_of(section, 5.0, 1, 90.0)
        (10, 4)
    """
    if not each_s:
        return section.population
    affordable = limit_s / (2 * _FIRST * each_s * epochs)
    return max(min(section.population, int(affordable)), _FEW)


def children_of(section: SearchSection, pace: Pace) -> int:
    """Return how many networks a generation may have so that there is time for all generations.

    A search that sees what came of few networks before it breeds more finds better ones than one
    that tries as many in two or three large generations. Half of the time is random search's.

    Args:
        section: population and generations that were asked for.
        pace: of the last generation.

    Example:
        >>> section = SearchSection(population=10, generations=6)
        >>> children_of(section, Pace(done=1, tried=20, took_s=20.0, left_s=300.0))
        10
        >>> children_of(section, Pace(done=1, tried=20, took_s=20.0, left_s=40.0))
        4
    """
    to_come = section.generations - pace.done
    if pace.left_s is None or to_come < 1 or not pace.tried or pace.took_s <= 0:
        return section.population
    affordable = pace.left_s * pace.tried / pace.took_s / 2
    return max(min(section.population, int(affordable / to_come)), _FEW)


def pool_of(each_s: float, limit_s: float, *, children: int, generations: int) -> int:
    """Return among how many genomes a generation may be chosen where each takes time to price.

    What the plan of a network costs takes milliseconds to find, on boards of many cores more.

    Args:
        each_s: how long the price of a network takes, in seconds.
        limit_s: time for all generations, in seconds.
        children: of a generation; there are at least twice as many to choose among.
        generations: how many.

    Returns:
        At most 500, and less by halves, so that a little more or less speed changes nothing.

    Example:
        >>> pool_of(0.008, 450.0, children=10, generations=6)
        500
        >>> pool_of(0.25, 450.0, children=10, generations=6)
        31
    """
    affordable = _PRICING * limit_s / (generations * each_s) if each_s else inf
    pool = POOL
    while pool > affordable and pool // 2 >= 2 * children:
        pool //= 2
    return pool
