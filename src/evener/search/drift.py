"""Warn where chance decides as much as selection about what a population keeps.

A link that makes networks a fifth fitter, and that half of them have, should seldom be lost; where
it often is, what a search ends with is largely an accident. The Markov chain of a link says how
often that is, the links that mutation brings back taken into account.
"""

from collections.abc import Iterator
from math import ceil
from typing import Final

import numpy as np

from evener.search.markov import transitions
from evener.search.truncation import truncated

MOST_LOST: Final = 0.05  # what a population may lose of links that make networks fitter
ADVANTAGE: Final = 1.2  # f₁ / f₀ of such a link
LASTING: Final = 100  # generations, after which a small population has settled

_LARGE: Final = 200  # networks; more lose less still, but hardly, and take long to compute
_MANY: Final = 50  # parents
_BREED: Final = 0.4  # of the networks, where more are advised: 4 of 10, as in the paper


def lost_by_chance(
    population: int,
    parents: int | None = None,
    *,
    elite: int = 0,
    mutation: float = 0.0,
    generations: int = LASTING,
    advantage: float = ADVANTAGE,
) -> float:
    """Return the probability that no network has a link in the end which half of them had.

    Args:
        population: N; beyond 200 it is computed as if there were 200.
        parents: how many of the best breed; None for all, in proportion to fitness.
        elite: how many of the best live on as they are, where the best breed.
        mutation: the probability that a child's bit is turned over.
        generations: of children.
        advantage: f₁ / f₀; 1 is chance alone.

    Raises:
        InputError: a number is out of range.

    Example:
        >>> round(lost_by_chance(10), 2), round(lost_by_chance(10, parents=4), 2)
        (0.14, 0.36)
    """
    size = min(population, _LARGE)
    if parents is None:
        matrix = transitions(size, advantage, mutation)
    else:
        # Of more parents than that, as many in proportion, which lose little more.
        best = min(parents, max(round(parents * size / population), _MANY))
        matrix = truncated(size, best, advantage, mutation, elite=min(elite, size // 2))
    return float(np.linalg.matrix_power(matrix, generations)[size // 2, 0])


def drift_warning(
    population: int,
    parents: int | None = None,
    *,
    elite: int = 0,
    mutation: float = 0.0,
    generations: int = LASTING,
    advantage: float = ADVANTAGE,
) -> str | None:
    """Say so if chance decides about links as much as selection does.

    Args:
        population: N.
        parents: how many of the best breed; None for all, in proportion to fitness.
        elite: how many of the best live on as they are, where the best breed.
        mutation: the probability that a child's bit is turned over.
        generations: of children.
        advantage: f₁ / f₀ of a link that half of the population has.

    Raises:
        InputError: a number is out of range.

    Returns:
        The warning; None if such a link is lost with a probability of at most `MOST_LOST`.

    Example:
        >>> drift_warning(10)
        'a population of 10 loses a link that makes networks 20 % fitter, and that half of them had, within 100 generations with probability 0.14; by chance alone it would with 0.50. Take at least 18 networks.'
        >>> drift_warning(18)
    """  # noqa: E501 - an example stands on one line

    def lost(size: int, best: int | None, merit: float = advantage) -> float:
        return lost_by_chance(
            size,
            best,
            elite=elite,
            mutation=mutation,
            generations=generations,
            advantage=merit,
        )

    found = lost(population, parents)
    if found <= MOST_LOST:
        return None
    bred = "" if parents is None else f", of which the best {parents} breed,"
    enough = next((one for one in _larger(population, parents) if lost(*one) <= MOST_LOST), None)
    return (
        f"a population of {population}{bred} loses a link that makes networks "
        f"{100 * (advantage - 1):.0f} % fitter, and that half of them had, within {generations} "
        f"generations with probability {found:.2f}; by chance alone it would with "
        f"{lost(population, parents, 1.0):.2f}. {_advice(enough)}"
    )


def _larger(population: int, parents: int | None) -> Iterator[tuple[int, int | None]]:
    """Return sizes that lose less and less: networks, and how many of the best breed."""
    if parents is None:
        for size in range(population + population % 2, _LARGE + 1, 2):
            yield size, None
        return
    for best in range(1, int(_LARGE * _BREED) + 1):
        size = ceil(best / _BREED)
        yield max(population, size + size % 2), best


def _advice(enough: tuple[int, int | None] | None) -> str:
    if enough is None:
        return f"Not even {_LARGE} networks would keep it."
    size, best = enough
    if best is None:
        return f"Take at least {size} networks."
    return f"Let the best {best} of {size} breed: parents = {best}, population = {size}."
