"""Say which networks are worth more training: those that fewest others dominate.

Successive halving (Jamieson and Talwalkar, "Non-stochastic best arm identification and
hyperparameter optimization", AISTATS 2016), by several objectives.
"""

from collections.abc import Sequence
from math import ceil

import numpy as np

from evener.search.fronts import ranking
from evener.search.judged import Judged


def best_third(objectives: Sequence[tuple[float, ...]]) -> list[bool]:
    """Return which networks go on: a third, in order of front, then of crowding.

    Args:
        objectives: of each, less is better.

    Example:
        >>> best_third([(0.3, 1.0), (0.1, 2.0), (0.4, 3.0)])
        [True, False, False]
    """
    table = np.array(objectives, np.float64)
    count = len(table)
    no_genomes, zeros = np.zeros((count, 0), bool), np.zeros(count)
    order = ranking(Judged(no_genomes, table, zeros, zeros == 0))
    stays = np.zeros(count, bool)
    stays[order[: ceil(count / 3)]] = True
    return [bool(one) for one in stays]
