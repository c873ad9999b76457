"""Islands: populations that evolve apart, and now and then send their best around a ring."""

from dataclasses import dataclass, replace

import numpy as np

from evener.errors import InputError
from evener.search.algorithm import Algorithm, Brood, Memory
from evener.search.bandit import FIXED
from evener.search.breeding import FREE, learned
from evener.search.control import Control
from evener.search.fronts import ranking
from evener.search.judged import Judged, join


@dataclass(frozen=True, slots=True)
class Islands:
    """Settings of the algorithm.

    Attributes:
        inner: what evolves on each island; one that keeps a population.
        count: how many islands.
        every: generations from one migration to the next.
        migrants: how many of the best go to the next island, in place of its worst.
    """

    inner: Algorithm
    count: int = 4
    every: int = 5
    migrants: int = 1

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: sizes below 1.
        """
        if min(self.count, self.every, self.migrants) < 1:
            raise InputError(
                f"{self.count} islands, {self.migrants} migrants every {self.every} generations: "
                "each is 1 or more"
            )

    @property
    def name(self) -> str:
        """Its own name and that of what it holds."""
        return f"island of {self.inner.name}"

    def begin(self) -> Memory:
        """Return what is known before the first generation, of each island."""
        islands = tuple(self.inner.begin() for _ in range(self.count))
        low, high = FREE
        control = Control(rate=islands[0].control.rate, low=low, high=high)
        return Memory(control, FIXED, islands=islands)

    def breed(self, memory: Memory, rng: np.random.Generator) -> Brood:
        """Return the broods of all islands, one after another."""
        broods = [
            self.inner.breed(island, stream)
            for island, stream in zip(memory.islands, rng.spawn(self.count), strict=True)
        ]
        return Brood(
            np.concatenate([brood.genomes for brood in broods]),
            np.concatenate([brood.pulled for brood in broods]),
            np.concatenate([brood.bars for brood in broods]),
            tuple(len(brood.genomes) for brood in broods),
            np.concatenate([brood.parents for brood in broods]),
            np.concatenate([brood.points for brood in broods]),
        )

    def learn(self, memory: Memory, brood: Brood, judged: Judged) -> Memory:
        """Let each island learn from its own, then let the best travel if it is time."""
        ends = np.cumsum(brood.sizes).tolist()
        own = [slice(end - size, end) for end, size in zip(ends, brood.sizes, strict=True)]
        islands = [
            self.inner.learn(
                island,
                Brood(brood.genomes[part], brood.pulled[part], brood.bars[part]),
                judged.take(part),
            )
            for island, part in zip(memory.islands, own, strict=True)
        ]
        after = learned(memory, Brood(brood.genomes), judged, None)
        if after.generation % self.every == 0:
            islands = self._migrate(islands)
        return replace(after, islands=tuple(islands))

    def _migrate(self, islands: list[Memory]) -> list[Memory]:
        """Let the best of each island take the place of the worst of the next."""
        populations = [island.population for island in islands]
        moved = []
        for place, island in enumerate(islands):
            home, before = populations[place], populations[place - 1]
            if home is None or before is None:
                moved.append(island)  # an algorithm that keeps no population sends nobody
                continue
            count = min(self.migrants, len(home), len(before))
            staying = np.sort(ranking(home)[: len(home) - count])
            best = before.take(ranking(before)[:count])
            moved.append(replace(island, population=join([home.take(staying), best])))
        return moved
