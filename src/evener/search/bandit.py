"""Learn which operator rates lead to better offspring: a bandit with an arm for each setting.

Each offspring draws its arm by Thompson sampling (Thompson, 1933): a probability of success from
each arm's beta distribution, the largest wins. Older outcomes count less, since what helps early in
a search may not help late.
"""

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

_MEMORY: Final = 0.95  # share of older outcomes that counts on, per generation


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """One setting of the operators.

    Attributes:
        crossover: probability that a child has two parents.
        mutation: factor of the rate of mutation.
        wins: offspring that were new and better than their better parent; older ones count less.
        losses: the other offspring, likewise.
    """

    crossover: float = 0.9
    mutation: float = 1.0
    wins: float = 0.0
    losses: float = 0.0


FIXED: Final = (Arm(),)
NO_ARM: Final = -1  # of offspring that were made in another way; nothing is learned from them


def arms_about(crossover: float) -> tuple[Arm, ...]:
    """Return settings to choose among: as they are, half the mutation, bolder, and one parent.

    Args:
        crossover: probability that a child has two parents, if nothing is learned.

    Example:
        >>> [(arm.crossover, arm.mutation) for arm in arms_about(0.8)]
        [(0.8, 1.0), (0.8, 0.5), (0.5, 2.0), (0.0, 1.0)]
    """
    return (
        Arm(crossover=crossover),
        Arm(crossover=crossover, mutation=0.5),
        Arm(crossover=0.5, mutation=2.0),
        Arm(crossover=0.0),
    )


LEARNED: Final = arms_about(FIXED[0].crossover)


def pull(arms: tuple[Arm, ...], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw an arm for each of some children; their indices.

    Example:
        >>> sure = (Arm(losses=900.0), Arm(wins=900.0))
        >>> pull(sure, 3, np.random.default_rng(0)).tolist()
        [1, 1, 1]
    """
    if len(arms) == 1:
        return np.zeros(count, np.int64)
    wins = np.array([arm.wins for arm in arms])
    losses = np.array([arm.losses for arm in arms])
    chances = rng.beta(1 + wins, 1 + losses, (count, len(arms)))
    pulled: NDArray[np.int64] = chances.argmax(axis=1)
    return pulled


def learn(
    arms: tuple[Arm, ...], pulled: NDArray[np.int64], won: NDArray[np.bool_]
) -> tuple[Arm, ...]:
    """Return the arms after a generation.

    Args:
        arms: as they were.
        pulled: the arm of each child.
        won: whether the child was new and better than its better parent.
    """
    return tuple(
        msgspec.structs.replace(
            arm,
            wins=_MEMORY * arm.wins + int(won[pulled == index].sum()),
            losses=_MEMORY * arm.losses + int((~won[pulled == index]).sum()),
        )
        for index, arm in enumerate(arms)
    )
