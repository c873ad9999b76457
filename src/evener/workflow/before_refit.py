"""Say what a network came to on the rows that chose it, before it learned from them too."""

from statistics import fmean

import msgspec

from evener.artifacts.front import Front
from evener.artifacts.pruned import Pruned


def before_refit(front: Front) -> tuple[dict[str, float], dict[str, float]]:
    """Return the quality of the chosen network on the validation split, and that before pruning.

    Args:
        front: of the search that trained it in full.

    Returns:
        Both by metric, the mean over seeds; empty where the search has none.
    """
    full = front.retrained_of(front.chosen)
    if full is None:
        return {}, {}
    unpruned = {front.metric: fmean(full.unpruned)} if full.unpruned else {}
    return {front.metric: full.quality}, unpruned


def with_quality(found: Pruned | None, unpruned: dict[str, float]) -> Pruned | None:
    """Return what was taken out, with the quality before where the training itself knows of none.

    Args:
        found: what the training took out; None if nothing.
        unpruned: what the search says, by metric.
    """
    if found is None or found.validation:
        return found
    return msgspec.structs.replace(found, validation=unpruned)
