"""A genetic algorithm that breeds many and has few judged: a model says which look promising.

The model is a Gaussian process over the choices that genomes make: two networks are alike as far as
they choose alike. Half of those that are judged are the most promising, by mean and uncertainty;
the other half is drawn from the rest, so that a wrong model cannot lead the search astray for long.
Duplicates are weeded out before.
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import Any, ClassVar, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError
from evener.search.algorithm import Brood, Memory
from evener.search.breeding import FREE, begin_control, breed_pairs, first_brood, learned
from evener.search.genes import Genomes, Levels
from evener.search.judged import Judged, best_first, join
from evener.search.space import Space
from evener.search.variation import truncate

_REACH: Final = 2.0  # two genomes that differ in every choice correlate by exp(-2)
_NOISE: Final = 0.05  # variance that the model leaves to chance, the whole being 1
_CURIOSITY: Final = 0.5  # standard deviations that count as promise
_TRIES: Final = 20  # rounds of breeding until the pool is full
_STEP: Final = 0.25  # by how much each round mutates more
_DIGITS: Final = 9  # of a promise; beyond, it depends on how a library adds up


@dataclass(frozen=True, slots=True)
class Screened:
    """Settings of the algorithm; it looks at the first objective.

    Attributes:
        space: what genomes mean.
        first: how many genomes are judged before there is a model.
        parents: how many of the best breed.
        pool: how many different new children are bred.
        children: how many of them are judged.
        share: part of those that the model chooses.
        archive: how many of the best are remembered.
        mutation: probability with which a bit is inverted; None for one bit per genome.
        seeds: genomes to begin with.
    """

    name: ClassVar[str] = "screened"

    space: Space[Any]
    first: int = 20
    parents: int = 8
    pool: int = 100
    children: int = 10
    share: float = 0.5
    archive: int = 500
    mutation: float | None = None
    seeds: Genomes | None = None

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: sizes below 1, or a share beyond 0 to 1.
        """
        if min(self.first, self.parents, self.pool, self.children, self.archive) < 1:
            raise InputError(
                f"{self.first} first genomes, {self.parents} parents, a pool of {self.pool}, "
                f"{self.children} children and an archive of {self.archive}: each is 1 or more"
            )
        if not 0 <= self.share <= 1:
            raise InputError(f"a share of {self.share}: give 0 to 1")

    def begin(self) -> Memory:
        """Return what is known before the first generation."""
        return Memory(begin_control(self.space, self.mutation, FREE))

    def breed(self, memory: Memory, rng: np.random.Generator) -> Brood:
        """Return the first genomes, or children of the best: some promising, some by chance."""
        if memory.population is None:
            return first_brood(self.space, self.first, self.seeds, rng)
        pool = self._breed_pool(memory, memory.population, rng)
        chosen = ceil(self.share * self.children)
        order = np.argsort(-self._promise(memory.population, pool), kind="stable")
        rest = rng.permutation(order[chosen:])[: self.children - chosen]
        return Brood(pool[np.concatenate([order[:chosen], rest])])

    def learn(self, memory: Memory, brood: Brood, judged: Judged) -> Memory:
        """Add what is new to the archive."""
        archive = judged.take(judged.fresh)
        if memory.population is not None:
            archive = join([memory.population, archive])
        kept = np.sort(best_first(archive)[: self.archive])
        return learned(memory, brood, judged, archive.take(kept))

    def _breed_pool(self, memory: Memory, archive: Judged, rng: np.random.Generator) -> Genomes:
        """Return children that differ from one another and from all that is known."""
        best = truncate(archive, self.parents)
        known = {row.tobytes() for row in self.space.loci(archive.genomes)}
        pool: list[NDArray[np.bool_]] = []
        rate = memory.control.rate
        for round_ in range(1, _TRIES + 1):
            pairs = rng.integers(0, len(best), (self.pool, 2))
            bolder = breed_pairs(best, pairs, _with_rate(memory, rate * (1 + _STEP * round_)), rng)
            for genome, row in zip(bolder.genomes, self.space.loci(bolder.genomes), strict=True):
                if row.tobytes() not in known:
                    known.add(row.tobytes())
                    pool.append(genome)
            if len(pool) >= self.pool:
                break
        if not pool:  # everything near is known
            return self.space.draw(self.pool, rng)
        return np.array(pool[: self.pool])

    def _promise(self, archive: Judged, pool: Genomes) -> NDArray[np.float64]:
        """Return mean and uncertainty of how good each of a pool is; more is better."""
        judged = archive.take(archive.violations == 0)
        if len(judged) < 2:
            return np.zeros(len(pool))
        target = _standing(judged.objectives[:, 0])
        known, new = self.space.loci(judged.genomes), self.space.loci(pool)
        covariance = _likeness(known, known) + _NOISE * np.eye(len(known))
        across = _likeness(new, known)
        factor = np.linalg.cholesky(covariance)
        mean = across @ np.linalg.solve(factor.T, np.linalg.solve(factor, target))
        explained = (np.linalg.solve(factor, across.T) ** 2).sum(axis=0)
        deviation = np.sqrt(np.maximum(1 + _NOISE - explained, 0))
        promise: NDArray[np.float64] = np.round(mean + _CURIOSITY * deviation, _DIGITS)
        return promise


def _with_rate(memory: Memory, rate: float) -> Memory:
    return replace(memory, control=msgspec.structs.replace(memory.control, rate=rate))


def _likeness(some: Levels, others: Levels) -> NDArray[np.float64]:
    """Return the correlation of each with each, by the share of choices that differ."""
    differ = np.array([(one != others).mean(axis=1) for one in some])
    return np.exp(-_REACH * differ)


def _standing(objective: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how well each did, standardised; the logarithm tells the best apart."""
    behind = objective - objective.min()
    log = -np.log(behind + 0.1 * np.median(behind) + 1e-9)
    deviation = log.std()
    standing: NDArray[np.float64] = (log - log.mean()) / (deviation if deviation > 0 else 1.0)
    return standing
