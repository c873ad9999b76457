"""Genomes with what is known of them: objectives, broken limits, and whether they were new."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evener.search.genes import Genomes

Objectives = NDArray[np.float64]  # (genomes, objectives), less is better
Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """Genomes and what an evaluation, or a check before it, found.

    Attributes:
        genomes: (genomes, bits).
        objectives: (genomes, objectives), less is better; infinite where there are none.
        violations: by how much limits are broken, 0 for not at all; infinite for an evaluation
            that failed, so that it comes behind everything.
        fresh: whether no genome before had the same network.
    """

    genomes: Genomes
    objectives: Objectives
    violations: NDArray[np.float64]
    fresh: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.genomes)

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64] | slice) -> "Judged":
        """Return some of them, in the order of the indices or as marked."""
        return Judged(
            self.genomes[which], self.objectives[which], self.violations[which], self.fresh[which]
        )

    def plain(self) -> Plain:
        """Return it as what JSON can hold."""
        return {
            "genomes": texts_of(self.genomes),
            "objectives": [[_finite(one) for one in row] for row in self.objectives.tolist()],
            "violations": [_finite(one) for one in self.violations.tolist()],
            "fresh": self.fresh.tolist(),
        }


def judged_of(plain: Plain) -> Judged:
    """Return what `plain` was made of, to the bit.

    Example:
        >>> judged = Judged(np.eye(2, dtype=bool), np.ones((2, 1)), np.array([0, inf]), np.ones(2))
        >>> judged_of(judged.plain()).violations.tolist()
        [0.0, inf]
    """
    rows = [[_number(one) for one in row] for row in plain["objectives"]]
    return Judged(
        genomes=genomes_of(plain["genomes"]),
        objectives=np.array(rows, np.float64),
        violations=np.array([_number(one) for one in plain["violations"]], np.float64),
        fresh=np.array(plain["fresh"], bool),
    )


def texts_of(genomes: Genomes) -> list[str]:
    """Return genomes as texts of zeros and ones.

    Example:
        >>> texts_of(np.eye(2, dtype=bool))
        ['10', '01']
    """
    return [(row + ord("0")).tobytes().decode() for row in genomes.astype(np.uint8)]


def genomes_of(texts: Sequence[str]) -> Genomes:
    """Return genomes written as zeros and ones."""
    return np.array([[bit == "1" for bit in text] for text in texts], bool)


def join(parts: Sequence[Judged]) -> Judged:
    """Return all of them, one after another."""
    return Judged(
        np.concatenate([part.genomes for part in parts]),
        np.concatenate([part.objectives for part in parts]),
        np.concatenate([part.violations for part in parts]),
        np.concatenate([part.fresh for part in parts]),
    )


def best_first(judged: Judged) -> NDArray[np.int64]:
    """Return the indices in order of the first objective, by Deb's rules.

    What keeps the limits comes before what breaks them, and what breaks them less before what
    breaks them more (Deb, "An efficient constraint handling method for genetic algorithms", 2000).
    Equals stay in order.
    """
    return np.lexsort((judged.objectives[:, 0], judged.violations))


def _finite(number: float) -> float | None:
    return None if number == inf else number


def _number(plain: float | None) -> float:
    return inf if plain is None else plain
