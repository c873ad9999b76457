"""Breed many, have few judged: a model says which of an algorithm's children look promising.

A part of those that are judged are the most promising of a pool; the others are drawn from the rest
of it, so that a wrong model cannot lead the search astray for long. Duplicates are weeded out
before, so that nothing is left for an algorithm's own control of lambda: leave its band at (0, 1).
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError
from evener.search.algorithm import Algorithm, Brood, Memory
from evener.search.bandit import FIXED
from evener.search.breeding import learned
from evener.search.fronts import ranking
from evener.search.islands import Islands
from evener.search.judged import Judged, join
from evener.search.model import most_promising
from evener.search.space import Space

_ROUNDS: Final = 50  # of breeding, until the pool is full
_STEP: Final = 0.1  # by how much each mutates more than the one before


@dataclass(frozen=True, slots=True)
class Screened:
    """Settings of the algorithm.

    Attributes:
        space: what genomes mean.
        inner: breeds; it decides how many are judged at a time.
        pool: how many different new children are bred to choose from.
        share: part of those judged that the model chooses.
        archive: how many of the best the model learns from.
        reference: with several objectives, what is worse in any of them is of no use; None for a
            little beyond the worst of the front.
    """

    space: Space[Any]
    inner: Algorithm
    pool: int = 100
    share: float = 0.5
    archive: int = 500
    reference: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: sizes below 1, a share beyond 0 to 1, or islands to be screened at once.
        """
        if min(self.pool, self.archive) < 1 or not 0 <= self.share <= 1:
            raise InputError(
                f"a pool of {self.pool}, an archive of {self.archive} and a share of {self.share}: "
                "the first two are 1 or more, the share is 0 to 1"
            )
        if isinstance(self.inner, Islands):
            raise InputError("islands are screened one by one: give Islands a Screened inside")

    @property
    def name(self) -> str:
        """Its own name and that of what it holds."""
        return f"screened {self.inner.name}"

    def begin(self) -> Memory:
        """Return what is known before the first generation."""
        inner = self.inner.begin()
        return Memory(inner.control, FIXED, islands=(inner,))

    def breed(self, memory: Memory, rng: np.random.Generator) -> Brood:
        """Return the inner algorithm's first genomes; later some promising, some by chance."""
        [inner] = memory.islands
        archive = memory.population
        if archive is None:
            return self.inner.breed(inner, rng)
        brood, loci, wanted = self._breed_pool(inner, archive, rng)
        known = archive.take(archive.violations == 0)
        chosen = np.empty(0, np.int64)
        if len(known) > 1:
            count = ceil(self.share * wanted)
            chosen = most_promising(
                self.space.loci(known.genomes), known.objectives, loci, count, self.reference
            )
        rest = np.setdiff1d(np.arange(len(loci)), chosen)
        drawn = rng.permutation(rest)[: wanted - len(chosen)]
        return _part(brood, np.concatenate([chosen, drawn]))

    def learn(self, memory: Memory, brood: Brood, judged: Judged) -> Memory:
        """Let the inner algorithm learn, and add what is new to the archive."""
        [inner] = memory.islands
        archive = judged
        if memory.population is not None:
            archive = join([memory.population, judged.take(judged.fresh)])
        if len(archive) > self.archive:
            archive = archive.take(np.sort(ranking(archive)[: self.archive]))
        after = learned(memory, Brood(brood.genomes), judged, archive)
        return replace(after, islands=(self.inner.learn(inner, brood, judged),))

    def _breed_pool(
        self, inner: Memory, archive: Judged, rng: np.random.Generator
    ) -> tuple[Brood, NDArray[np.int64], int]:
        """Return children that differ from one another and from all that is known.

        Returns:
            The children, their loci, and how many of them the inner algorithm would have judged.
            Should everything near be known, those of the last round come back.
        """
        known = {row.tobytes() for row in self.space.loci(archive.genomes)}
        broods: list[Brood] = []
        rows: list[NDArray[np.int64]] = []
        for round_ in range(_ROUNDS):
            rate = min(inner.control.rate * (1 + _STEP * round_), 0.5)
            bolder = replace(inner, control=msgspec.structs.replace(inner.control, rate=rate))
            brood = self.inner.breed(bolder, rng)
            loci = self.space.loci(brood.genomes)
            new = []
            for place, row in enumerate(loci):
                if row.tobytes() not in known:
                    known.add(row.tobytes())
                    new.append(place)
            broods.append(_part(brood, np.array(new, np.int64)))
            rows.append(loci[new])
            if sum(map(len, rows)) >= self.pool:
                break
        if not any(map(len, rows)):
            return brood, loci, len(loci)
        together = Brood(
            np.concatenate([one.genomes for one in broods]),
            np.concatenate([one.pulled for one in broods]),
            np.concatenate([one.bars for one in broods]),
        )
        return together, np.concatenate(rows), min(len(loci), sum(map(len, rows)))


def _part(brood: Brood, which: NDArray[np.int64]) -> Brood:
    """Return some children; what is to be learned of arms goes along, if anything is."""
    learns = len(brood.pulled) > 0
    return Brood(
        brood.genomes[which],
        brood.pulled[which] if learns else brood.pulled,
        brood.bars[which] if learns else brood.bars,
    )
