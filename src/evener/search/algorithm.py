"""The seam of the algorithms: pure functions that breed offspring and learn how they fared.

`Evolution` asks, tells, keeps what was seen and goes on after a restart; an algorithm only says
which genomes come next and what is remembered. Everything it remembers is a `Memory`.
"""

from dataclasses import dataclass, field
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.search.bandit import FIXED, Arm
from evener.search.control import Control
from evener.search.genes import Genomes
from evener.search.judged import Judged, Plain, genomes_of, judged_of, texts_of


@dataclass(frozen=True, slots=True)
class Memory:
    """What an algorithm knows between two generations.

    Attributes:
        control: of the rate of mutation.
        arms: settings of the operators and how they fared.
        generation: number of the next, from 0.
        population: what the next generation is bred from; None before the first.
        islands: a memory for each island.
    """

    control: Control
    arms: tuple[Arm, ...] = FIXED
    generation: int = 0
    population: Judged | None = None
    islands: tuple["Memory", ...] = ()

    def plain(self) -> Plain:
        """Return it as what JSON can hold."""
        return {
            "control": msgspec.to_builtins(self.control),
            "arms": msgspec.to_builtins(self.arms),
            "generation": self.generation,
            "population": self.population.plain() if self.population is not None else None,
            "islands": [island.plain() for island in self.islands],
        }


def memory_of(plain: Plain) -> Memory:
    """Return what `Memory.plain` was made of."""
    population = plain["population"]
    return Memory(
        control=msgspec.convert(plain["control"], Control),
        arms=msgspec.convert(plain["arms"], tuple[Arm, ...]),
        generation=plain["generation"],
        population=None if population is None else judged_of(population),
        islands=tuple(memory_of(one) for one in plain["islands"]),
    )


def no_arms() -> NDArray[np.int64]:
    """Return the arms of a brood that pulled none."""
    return np.empty(0, np.int64)


def no_points() -> NDArray[np.int64]:
    """Return the points of crossover of a brood that was drawn."""
    return np.empty(0, np.int64)


def no_bars() -> NDArray[np.float64]:
    """Return the bars of a brood that pulled no arms."""
    return np.empty(0, np.float64)


def no_parents() -> NDArray[np.bool_]:
    """Return the parents of a brood that was drawn."""
    return np.empty((0, 2, 0), bool)


@dataclass(frozen=True, slots=True)
class Brood:
    """Genomes to be judged, and what is to be learned from them.

    Attributes:
        genomes: (children, bits).
        pulled: the arm of each child, or empty: then nothing is learned of arms.
        bars: the first objective of each child's better parent, likewise.
        sizes: how many children each island has; empty without islands.
        parents: genomes of two parents of each child, (children, 2, bits), twice the same where
            one alone bred it; empty where all were drawn.
        points: the first bit of each child that its second parent gave, before bits were inverted,
            and the number of bits where the first gave all; empty where `parents` is.
    """

    genomes: Genomes
    pulled: NDArray[np.int64] = field(default_factory=no_arms)
    bars: NDArray[np.float64] = field(default_factory=no_bars)
    sizes: tuple[int, ...] = ()
    parents: NDArray[np.bool_] = field(default_factory=no_parents)
    points: NDArray[np.int64] = field(default_factory=no_points)

    def plain(self) -> Plain:
        """Return it as what JSON can hold."""
        return {
            "genomes": texts_of(self.genomes),
            "parents": [texts_of(pair) for pair in self.parents],
            "points": self.points.tolist(),
            "pulled": self.pulled.tolist(),
            "bars": [None if np.isinf(one) else one for one in self.bars.tolist()],
            "sizes": list(self.sizes),
        }


def brood_of(plain: Plain) -> Brood:
    """Return what `Brood.plain` was made of."""
    bars = [np.inf if one is None else one for one in plain["bars"]]
    return Brood(
        genomes=genomes_of(plain["genomes"]),
        pulled=np.array(plain["pulled"], np.int64),
        bars=np.array(bars, np.float64),
        sizes=tuple(plain["sizes"]),
        parents=np.array([genomes_of(pair) for pair in plain["parents"]], bool)
        if plain["parents"]
        else no_parents(),
        points=np.array(plain["points"], np.int64),
    )


class Algorithm(Protocol):
    """How a search goes on; its settings, and no state."""

    @property
    def name(self) -> str:
        """One word; a search goes on after a restart only by the algorithm of that name."""
        ...

    def begin(self) -> Memory:
        """Return what is known before the first generation."""
        ...

    def breed(self, memory: Memory, rng: np.random.Generator) -> Brood:
        """Return the next genomes, seen before or not.

        Args:
            memory: what is known.
            rng: the only source of chance; it is made anew for each generation.
        """
        ...

    def learn(self, memory: Memory, brood: Brood, judged: Judged) -> Memory:
        """Return what is known after a generation.

        Args:
            memory: what was known.
            brood: what `breed` returned.
            judged: the brood's genomes in order, judged.
        """
        ...
