"""Breed many, have few judged: a model says which of an algorithm's children look promising.

A part of those that are judged are the most promising of a pool; the others are drawn from the rest
of it, so that a wrong model cannot lead the search astray for long. Duplicates are weeded out
before, so that nothing is left for an algorithm's own control of lambda: leave its band at (0, 1).

With several objectives the pool also holds neighbours of the best, and those objectives that are
known without an evaluation are not guessed: a model that has only the error to guess finds a front
with far fewer evaluations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError
from evener.search.algorithm import (
    Algorithm,
    Brood,
    Memory,
    no_arms,
    no_bars,
    no_parents,
    no_points,
)
from evener.search.bandit import FIXED, NO_ARM
from evener.search.breeding import learned
from evener.search.fronts import ranking
from evener.search.genes import Genomes, Levels
from evener.search.islands import Islands
from evener.search.judged import Judged, join
from evener.search.model import Reference, most_promising, most_widening
from evener.search.space import Costs, Space

_ROUNDS: Final = 50  # of breeding, until the pool is full
_BEST: Final = 40  # whose neighbours are looked at
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
        costs: the last objectives, as far as they are known before an evaluation; None for none.
        near: how many genomes that differ in one bit from one of the best join the pool.
        reference: with several objectives, what is worse in any of them is of no use; see
            `most_widening`.
    """

    space: Space[Any]
    inner: Algorithm
    pool: int = 100
    share: float = 0.5
    archive: int = 500
    costs: Costs | None = None
    near: int = 0
    reference: Reference = ()

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
            chosen = self._choose(known, brood.genomes, loci, ceil(self.share * wanted))
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

    def _choose(
        self, known: Judged, genomes: Genomes, loci: Levels, count: int
    ) -> NDArray[np.int64]:
        """Return which of a pool the model would have judged."""
        choices = self.space.loci(known.genomes)
        if known.objectives.shape[1] == 1:
            return np.array(most_promising(choices, known.objectives, loci, count), np.int64)
        costs = np.empty((len(genomes), 0)) if self.costs is None else self.costs(genomes)
        chosen = most_widening(choices, known.objectives, loci, costs, count, self.reference)
        return np.array(chosen, np.int64)

    def _breed_pool(
        self, inner: Memory, archive: Judged, rng: np.random.Generator
    ) -> tuple[Brood, Levels, int]:
        """Return children that differ from one another and from all that is known.

        Returns:
            The children, their loci, and how many of them the inner algorithm would have judged.
            Should everything near be known, those of the last round come back.
        """
        known = {row.tobytes() for row in self.space.loci(archive.genomes)}
        near, rows = self._new(self._neighbours(archive, rng), known)
        broods, loci = [near], [rows]
        enough = self.pool + len(rows)
        for round_ in range(_ROUNDS):
            rate = min(inner.control.rate * (1 + _STEP * round_), 0.5)
            bolder = replace(inner, control=msgspec.structs.replace(inner.control, rate=rate))
            brood = self.inner.breed(bolder, rng)
            wanted = len(brood.genomes)
            new, rows = self._new(brood, known)
            broods.append(new)
            loci.append(rows)
            if sum(map(len, loci)) >= enough:
                break
        if not any(map(len, loci)):
            return brood, self.space.loci(brood.genomes), wanted
        return _joined(broods), np.concatenate(loci), min(wanted, sum(map(len, loci)))

    def _new(self, brood: Brood, known: set[bytes]) -> tuple[Brood, Levels]:
        """Return those of a brood that are not known yet, and their loci; both are known then."""
        loci = self.space.loci(brood.genomes)
        new = []
        for place, row in enumerate(loci):
            if row.tobytes() not in known:
                known.add(row.tobytes())
                new.append(place)
        return _part(brood, np.array(new, np.int64)), loci[new]

    def _neighbours(self, archive: Judged, rng: np.random.Generator) -> Brood:
        """Return some of the best with one bit inverted, each bit and member as likely.

        More than the front, so that a search whose front is all of one kind finds out of it.
        """
        best = archive.take(ranking(archive)[:_BEST] if self.near else slice(0))
        places = rng.permutation(best.genomes.size)[: self.near]
        member, bit = np.divmod(places, best.genomes.shape[1])
        parents = best.genomes[member]
        genomes = parents.copy()
        genomes[np.arange(len(places)), bit] ^= True
        no_arm, no_bar = np.full(len(places), NO_ARM), np.full(len(places), -np.inf)
        bred = np.stack([parents, parents], axis=1)
        points = np.full(len(places), genomes.shape[1])
        return Brood(genomes, no_arm, no_bar, parents=bred, points=points)


def _joined(broods: Sequence[Brood]) -> Brood:
    """Return all children; of the first nothing is learned, and of the others if they pulled."""
    bred = broods[1:]
    learns = any(len(one.pulled) for one in bred)
    parts = broods if learns else []
    known = all(len(one.parents) == len(one.genomes) for one in broods)
    with_parents = [one for one in broods if len(one.genomes)] if known else []
    return Brood(
        np.concatenate([one.genomes for one in broods]),
        np.concatenate([*(one.pulled for one in parts), no_arms()]),
        np.concatenate([*(one.bars for one in parts), no_bars()]),
        parents=np.concatenate([one.parents for one in with_parents])
        if with_parents
        else no_parents(),
        points=np.concatenate([*(one.points for one in with_parents), no_points()]),
    )


def _part(brood: Brood, which: NDArray[np.int64]) -> Brood:
    """Return some children; what is to be learned of arms goes along, if anything is."""
    learns = len(brood.pulled) > 0
    return Brood(
        brood.genomes[which],
        brood.pulled[which] if learns else brood.pulled,
        brood.bars[which] if learns else brood.bars,
        parents=brood.parents[which] if len(brood.parents) else brood.parents,
        points=brood.points[which] if len(brood.points) else brood.points,
    )
