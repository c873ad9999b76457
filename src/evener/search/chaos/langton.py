"""Langton's λ: the share of states that are not quiescent, for the three things that are counted.

C. G. Langton, Computation at the edge of chaos, Physica D 42 (1990), calls λ the share of a rule
table's entries that do not lead to the quiescent state; equation 2 of the paper is that formula.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from evener.errors import InputError

# What the paper says its λ is critical at, by the kind of dataset. Only to be printed beside what
# is measured: no network and no dataset is known to give these values by themselves.
PAPER_CRITICAL: Final[Mapping[str, float]] = MappingProxyType(
    {"paper-text": 0.786, "paper-image": 0.881}
)
Reading = Literal["paper", "product"]


@dataclass(frozen=True, slots=True)
class Lambda:
    """How many states there are, and how many of them are quiescent.

    Attributes:
        states: T of the paper, at least 1.
        quiescent: q of the paper: states in which nothing happens.
    """

    states: int
    quiescent: int

    def __post_init__(self) -> None:
        if self.states < 1 or not 0 <= self.quiescent <= self.states:
            raise InputError(
                f"λ of {self.states} states of which {self.quiescent} are quiescent: count at "
                "least one state, and no more quiescent ones than there are"
            )

    @property
    def value(self) -> float:
        """The share of states that are not quiescent (equation 2).

        Example:
            >>> Lambda(1024, 219).value, Lambda(1024, 122).value
            (0.7861328125, 0.880859375)
        """
        return (self.states - self.quiescent) / self.states


@dataclass(frozen=True, slots=True)
class Band:
    """Where λ of the offspring should stay.

    Attributes:
        low: below it too little is new: mutate more.
        high: above it the search is as good as random: mutate less.
    """

    low: float
    high: float

    def side(self, of: Lambda) -> Literal[-1, 0, 1]:
        """Say whether λ is below the band (-1), in it (0) or above it (1)."""
        if of.value < self.low:
            return -1
        return 1 if of.value > self.high else 0


# Measured on NAS-Bench-201 (CIFAR-100, 200 evaluations, means of 200 searches): where duplicates
# cost nothing the best searches had λ of 0.13 to 0.6, where each costs a training 0.66 to 0.83.
CACHED: Final = Band(0.2, 0.6)
CHARGED: Final = Band(0.65, 0.85)


def count_states(parameters: int, levels: int, reading: Reading) -> int:
    """Count the states of hyperparameters that have some levels each (equation 1).

    Args:
        parameters: n, how many hyperparameters.
        levels: d, how many values each can take.
        reading: "paper" is n^d as equation 1 is printed; "product" is d^n, the states that there
            are.

    Raises:
        InputError: there is no parameter, or no level.

    Example:
        >>> count_states(4, 5, "paper"), count_states(4, 5, "product")
        (1024, 625)
    """
    if parameters < 1 or levels < 1:
        raise InputError(
            f"{parameters} hyperparameters of {levels} levels have no states: give at least one "
            "of both"
        )
    return int(parameters**levels if reading == "paper" else levels**parameters)


def of_links(linked: NDArray[np.bool_]) -> Lambda:
    """Count the links of a network: an absent one is quiescent, so λ is the density.

    Args:
        linked: whether each link that there might be is there; any shape.

    Example:
        >>> of_links(np.array([True, True, False, True])).value
        0.75
    """
    return Lambda(linked.size, linked.size - int(np.count_nonzero(linked)))


def of_offspring(offspring: Iterable[Hashable], seen: Iterable[Hashable]) -> Lambda:
    """Count the offspring of some generations: one that was seen before is quiescent.

    Args:
        offspring: what tells networks apart, such as their hashes, in the order they were made.
        seen: the same of networks from before the first.

    Raises:
        InputError: there is no offspring.

    Example:
        >>> of_offspring(["a", "b", "a", "c"], seen=["b"])
        Lambda(states=4, quiescent=2)
    """
    known = set(seen)
    count = latent = 0
    for one in offspring:
        count += 1
        latent += one in known
        known.add(one)
    return Lambda(count, latent)
