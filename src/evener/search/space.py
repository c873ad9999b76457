"""What a genome means: the seam between the algorithms, which see bits, and networks."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evener.search.genes import Genomes, Levels
from evener.search.judged import Objectives


class Phenotype(Protocol):
    """What a genome grows into.

    Attributes:
        id: a short hash that equal networks share.
    """

    @property
    def id(self) -> str:
        """A short hash that equal networks share."""
        ...


PhenotypeT = TypeVar("PhenotypeT", bound=Phenotype)
PhenotypeT_co = TypeVar("PhenotypeT_co", bound=Phenotype, covariant=True)


class Space(Protocol[PhenotypeT_co]):
    """The networks that may be found, and how bits say which."""

    @property
    def length(self) -> int:
        """How many bits a genome has."""
        ...

    def draw(self, count: int, rng: np.random.Generator) -> Genomes:
        """Draw genomes to begin with, (count, length)."""
        ...

    def decode(self, genomes: Genomes) -> tuple[PhenotypeT_co, ...]:
        """Return the network of each genome, without what computes nothing.

        Args:
            genomes: (genomes, length).
        """
        ...

    def loci(self, genomes: Genomes) -> Levels:
        """Return each genome as choices that may be compared one by one, (genomes, loci).

        Equal rows mean the same network; a choice that decides nothing in a genome is -1.
        """
        ...

    def violation(self, genomes: Genomes) -> NDArray[np.float64]:
        """Return by how much each genome breaks the space's own limits; 0 if it keeps them."""
        ...


class Costs(Protocol):
    """What networks cost, as far as that is known before they are evaluated, such as their size."""

    def __call__(self, genomes: Genomes) -> Objectives:
        """Return the last of each genome's objectives, (genomes, known objectives).

        Args:
            genomes: (genomes, length).
        """
        ...


def costs_of(
    space: Space[PhenotypeT], cost: Callable[[Sequence[PhenotypeT]], Sequence[Sequence[float]]]
) -> Costs:
    """Return the costs of genomes, by those of their networks.

    Args:
        space: what genomes mean.
        cost: tells for each network the last of its objectives, without evaluating it.
    """

    def costs(genomes: Genomes) -> Objectives:
        return np.array(cost(space.decode(genomes)), np.float64).reshape(len(genomes), -1)

    return costs
