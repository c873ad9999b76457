"""Measure how long a network takes for an epoch, before any search of such networks."""

import time
from typing import Final

import msgspec

from evener.train.trials import Rows, Terms, Trial, score_together

_LONG_S: Final = 2.0  # an epoch beside which loading libraries is little


def epoch_seconds(rows: Rows, terms: Terms, trial: Trial) -> float | None:
    """Return how long a network takes for an epoch by itself, in seconds.

    Args:
        rows: where a process gets them from.
        terms: of the trials.
        trial: the network.

    Returns:
        None if it cannot be trained.
    """
    once = msgspec.structs.replace(terms, epochs=1, rungs=())
    dataset = rows.dataset()
    took_s = 0.0
    for _ in range(2):  # what is done once, such as loading libraries, is in the first
        begun = time.perf_counter()
        [score] = score_together([trial], dataset, once)
        took_s = time.perf_counter() - begun
        if score.status != "ok":
            return None
        if took_s > _LONG_S:
            break
    return took_s
