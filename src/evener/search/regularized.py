"""Regularized evolution: the best of a random sample has a mutated child, the oldest dies.

Real et al., "Regularized evolution for image classifier architecture search", AAAI 2019. Ageing
forgets a genome that was lucky once, however well it was judged.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evener.errors import InputError
from evener.search.algorithm import Brood, Memory
from evener.search.bandit import Arm
from evener.search.breeding import FREE, Band, begin_control, breed_pairs, first_brood, learned
from evener.search.genes import Genomes
from evener.search.judged import Judged, best_first, join
from evener.search.space import Space
from evener.search.variation import tournament

_MUTATION_ONLY = (Arm(crossover=0.0),)


@dataclass(frozen=True, slots=True)
class Regularized:
    """Settings of the algorithm; it looks at the first objective.

    Attributes:
        space: what genomes mean.
        population: how many genomes live at a time.
        sample: how many of them compete to have a child.
        children: how many are made at a time; 1 is the algorithm as published.
        mutation: probability with which a bit is inverted; None for one bit per genome.
        band: of lambda, in which the rate of mutation keeps it; (0, 1) leaves the rate alone.
        seeds: genomes to begin with.
    """

    name: ClassVar[str] = "regularized"

    space: Space[Any]
    population: int = 20
    sample: int = 5
    children: int = 1
    mutation: float | None = None
    band: Band = FREE
    seeds: Genomes | None = None

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: sizes below 1.
        """
        if min(self.population, self.sample, self.children) < 1:
            raise InputError(
                f"a population of {self.population}, samples of {self.sample} and {self.children} "
                "children at a time: each is 1 or more"
            )

    def begin(self) -> Memory:
        """Return what is known before the first generation."""
        return Memory(begin_control(self.space, self.mutation, self.band), _MUTATION_ONLY)

    def breed(self, memory: Memory, rng: np.random.Generator) -> Brood:
        """Return the first population, or mutated children of the winners of tournaments."""
        if memory.population is None:
            return first_brood(self.space, self.population, self.seeds, rng)
        places = best_first(memory.population).argsort()
        winners = tournament(places, self.sample, self.children, rng)
        return breed_pairs(memory.population, np.stack([winners, winners], axis=1), memory, rng)

    def learn(self, memory: Memory, brood: Brood, judged: Judged) -> Memory:
        """Let the children in and the oldest out."""
        population = judged
        if memory.population is not None:
            both = join([memory.population, judged])
            # No more than joined, and none until there are as many as are to live.
            out = min(len(judged), max(len(both) - self.population, 0))
            population = both.take(slice(out, None))
        return learned(memory, brood, judged, population)
