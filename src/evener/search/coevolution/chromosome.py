"""Structured chromosomes: an architecture in bits, and the weight sets that belong to it.

Weights are never here, only the ids by which the side that trains knows them. Many weight sets
belong to one architecture (the paper's many-to-one relation), so that its score is not that of one
lucky or unlucky start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.homology import Homology
from evener.artifacts.layer_graph import LayerGraph
from evener.search.coevolution.hyperparameters import Hyperparameters


class Parameters(Protocol):
    """The side that trains: it keeps weight sets, and gives each an id.

    A weight set never changes: whatever makes another one returns another id. The score of a
    network and a weight set is F of equation 3, less is better; infinity where there is none.
    """

    def begin(self, networks: Sequence[LayerGraph], *, seed: int) -> Sequence[str]:
        """Draw a weight set for each network, at the edge of chaos."""
        ...

    def inherit(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> Sequence[str]:
        """Make a weight set for each network from what fits of another network's."""
        ...

    def cross(
        self,
        networks: Sequence[LayerGraph],
        parents: Sequence[Sequence[str]],
        homologies: Sequence[Sequence[Homology]],
    ) -> Sequence[str]:
        """Make a weight set for each network from what it has of its parents' sets.

        Args:
            networks: which.
            parents: one set or more of each.
            homologies: of each set.
        """
        ...

    def train(
        self,
        networks: Sequence[LayerGraph],
        sets: Sequence[str],
        hyperparameters: Sequence[Hyperparameters],
        *,
        passes: int,
        seed: int,
    ) -> Sequence[str]:
        """Train each network, from its weight set, for some passes over the rows."""
        ...

    def score(self, networks: Sequence[LayerGraph], sets: Sequence[str]) -> Sequence[float]:
        """Return F of each network with its weight set."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Chromosome:
    """An architecture, and its weight sets.

    Attributes:
        genome: its bits, (length,).
        network: what they mean, without dead layers.
        hyperparameters: of its training and of its children.
        sets: ids of its weight sets.
        scores: F with each of them.
    """

    genome: NDArray[np.bool_]
    network: LayerGraph
    hyperparameters: Hyperparameters
    sets: tuple[str, ...]
    scores: tuple[float, ...]

    @property
    def score(self) -> float:
        """F with the best of its weight sets."""
        return min(self.scores)

    @property
    def best(self) -> str:
        """The id of the best of its weight sets; of equal ones the first."""
        return self.sets[self.scores.index(self.score)]
