"""What a genome means: the seam between the algorithms, which see bits, and networks."""

from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evener.search.genes import Genomes, Levels


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
