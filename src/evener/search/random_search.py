"""Random search: the measure of every other algorithm."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evener.errors import InputError
from evener.search.algorithm import Brood, Memory
from evener.search.breeding import FREE, begin_control, first_brood, learned
from evener.search.genes import Genomes
from evener.search.judged import Judged
from evener.search.space import Space


@dataclass(frozen=True, slots=True)
class RandomSearch:
    """Settings of the algorithm.

    Attributes:
        space: what genomes mean.
        children: how many are drawn at a time.
        seeds: genomes to begin with.
    """

    name: ClassVar[str] = "random"

    space: Space[Any]
    children: int = 10
    seeds: Genomes | None = None

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: nothing is drawn.
        """
        if self.children < 1:
            raise InputError(f"{self.children} children at a time: give 1 or more")

    def begin(self) -> Memory:
        """Return what is known before the first generation."""
        return Memory(begin_control(self.space, None, FREE))

    def breed(self, memory: Memory, rng: np.random.Generator) -> Brood:
        """Return drawn genomes."""
        return first_brood(
            self.space, self.children, self.seeds if memory.generation == 0 else None, rng
        )

    def learn(self, memory: Memory, brood: Brood, judged: Judged) -> Memory:
        """Remember nothing but how many were new."""
        return learned(memory, brood, judged, None)
