"""NSGA-II: parents and children together, the best fronts and their loneliest members live on.

Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II", 2002, with their rules
for limits. A child whose network was seen before adds nothing to a front and does not join.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np

from evener.errors import InputError
from evener.search.algorithm import Brood, Memory
from evener.search.bandit import FIXED, Arm
from evener.search.breeding import BAND, Band, begin_control, breed_pairs, first_brood, learned
from evener.search.fronts import ranking
from evener.search.genes import Genomes
from evener.search.judged import Judged, join
from evener.search.model import Reference
from evener.search.space import Space
from evener.search.variation import tournament

_FAR: Final = 1e9  # the most that counts of how far an objective is beyond its limit
_TINY: Final = 1e-9  # in place of a limit of 0


@dataclass(frozen=True, slots=True)
class Nsga2:
    """Settings of the algorithm.

    Attributes:
        space: what genomes mean.
        population: how many genomes live on.
        children: how many are made at a time.
        first: how many are drawn first; as many as live on if None.
        mutation: probability with which a bit is inverted; None for one bit per genome.
        band: of lambda, in which the rate of mutation keeps it; (0, 1) leaves the rate alone.
        arms: settings of the operators that a bandit learns to choose among, by the first
            objective.
        seeds: genomes to begin with.
        reference: limits on objectives, None for none; what is beyond one lives on only where too
            few keep all of them, the nearest first.
    """

    name: ClassVar[str] = "nsga2"

    space: Space[Any]
    population: int = 20
    children: int = 20
    first: int | None = None
    mutation: float | None = None
    band: Band = BAND
    arms: tuple[Arm, ...] = FIXED
    seeds: Genomes | None = None
    reference: Reference = ()

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: sizes below 1.
        """
        if min(self.population, self.children) < 1:
            raise InputError(
                f"a population of {self.population} with {self.children} children at a time: each "
                "is 1 or more"
            )

    def begin(self) -> Memory:
        """Return what is known before the first generation."""
        return Memory(begin_control(self.space, self.mutation, self.band), self.arms)

    def breed(self, memory: Memory, rng: np.random.Generator) -> Brood:
        """Return the first population, or children of the winners of tournaments of two."""
        if memory.population is None:
            first = self.first or self.population
            return first_brood(self.space, first, self.seeds, rng)
        places = np.arange(len(memory.population))  # it is kept in order
        winners = tournament(places, 2, 2 * self.children, rng).reshape(-1, 2)
        return breed_pairs(memory.population, winners, memory, rng)

    def learn(self, memory: Memory, brood: Brood, judged: Judged) -> Memory:
        """Keep the best of parents and new children."""
        both = judged
        if memory.population is not None:
            both = join([memory.population, judged.take(judged.fresh)])
        best = ranking(beyond(both, self.reference))[: self.population]
        return learned(memory, brood, judged, both.take(best))


def beyond(judged: Judged, reference: Reference) -> Judged:
    """Return genomes of which those beyond a reference count as breaking limits.

    Args:
        judged: the genomes.
        reference: limits on objectives, None for none; () for none at all.

    Example:
        >>> errors = np.array([[0.2, 9.0], [0.1, 9.0]])
        >>> judged = Judged(np.eye(2, dtype=bool), errors, np.zeros(2), np.ones(2, dtype=bool))
        >>> beyond(judged, (0.1, None)).violations.tolist()
        [1.0, 0.0]
    """
    violations = judged.violations.astype(np.float64)
    for values, limit in zip(judged.objectives.T, reference, strict=False):
        if limit is not None:
            over = np.clip(values - limit, 0.0, _FAR) / max(abs(limit), _TINY)
            violations = violations + np.minimum(over, _FAR)
    return replace(judged, violations=violations)
