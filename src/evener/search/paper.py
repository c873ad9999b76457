"""The paper's genetic algorithm: the best few breed, their children replace everyone.

Ravishankar et al., Table I: elitism, one-point crossover, binary inversion, unconditional
replacement. The words contradict each other: by replacing everyone the best is lost. `elite=0` is
the literal reading; the default keeps the best one.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evener.errors import InputError
from evener.search.algorithm import Brood, Memory
from evener.search.bandit import FIXED, Arm
from evener.search.breeding import BAND, Band, begin_control, breed_pairs, first_brood, learned
from evener.search.genes import Genomes
from evener.search.judged import Judged, join
from evener.search.space import Space
from evener.search.variation import truncate


@dataclass(frozen=True, slots=True)
class Paper:
    """Settings of the algorithm; it looks at the first objective.

    Attributes:
        space: what genomes mean.
        population: how many genomes live at a time.
        parents: how many of the best breed.
        elite: how many of the best live on; the others are replaced.
        mutation: probability with which a bit is inverted; None for one bit per genome.
        band: of lambda, in which the rate of mutation keeps it; (0, 1) leaves the rate alone.
        arms: settings of the operators that a bandit learns to choose among.
        seeds: genomes to begin with.
    """

    name: ClassVar[str] = "paper"

    space: Space[Any]
    population: int = 10
    parents: int = 4
    elite: int = 1
    mutation: float | None = None
    band: Band = BAND
    arms: tuple[Arm, ...] = FIXED
    seeds: Genomes | None = None

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: sizes that leave no parent or no child.
        """
        if not (0 <= self.elite < self.population and self.parents >= 1):
            raise InputError(
                f"a population of {self.population} with {self.parents} parents and an elite of "
                f"{self.elite}: give 1 parent or more, and a smaller elite than the population"
            )

    def begin(self) -> Memory:
        """Return what is known before the first generation."""
        return Memory(begin_control(self.space, self.mutation, self.band), self.arms)

    def breed(self, memory: Memory, rng: np.random.Generator) -> Brood:
        """Return the first population, or children of the best."""
        if memory.population is None:
            return first_brood(self.space, self.population, self.seeds, rng)
        best = truncate(memory.population, self.parents)
        pairs = rng.integers(0, len(best), (self.population - self.elite, 2))
        return breed_pairs(best, pairs, memory, rng)

    def learn(self, memory: Memory, brood: Brood, judged: Judged) -> Memory:
        """Replace everyone by the children, but for the elite."""
        population = judged
        if memory.population is not None:
            population = join([truncate(memory.population, self.elite), judged])
        return learned(memory, brood, judged, population)
