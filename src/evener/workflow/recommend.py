"""Recommend a model for some data whatever its family: the network of a search, or a simple model.

On tables, boosted trees often answer better than networks (Grinsztajn et al., NeurIPS 2022), and a
user is better served by knowing it.
"""

from collections.abc import Mapping
from math import inf

from evener.artifacts.card import Baselines
from evener.artifacts.front import Front
from evener.artifacts.recommended import NETWORK as NETWORK
from evener.artifacts.recommended import Recommended as Recommended


def recommend(
    front: Front, baselines: Baselines, *, size_bytes: float | None = None
) -> Recommended:
    """Pick the chosen network or a simple model, whichever answers the validation split better.

    Args:
        front: of a search. Its chosen network counts as it was trained in full; where the time was
            up before, as it was in the search.
        baselines: the simple models of the same data.
        size_bytes: what the file of a simple model may weigh, if there is a limit; the search kept
            networks to it.
    """
    full = front.retrained_of(front.chosen)
    if full is not None:
        validation, test = full.quality, full.test_quality
    else:
        shortly = next(one.score for one in front.scored if one.score.id == front.chosen)
        validation, test = shortly.quality or 0.0, None
    found = [
        Recommended(
            family=one.name,
            validation=one.validation,
            test=one.test[front.metric],
            network=validation,
        )
        for one in baselines.models
        if one.size_bytes <= (inf if size_bytes is None else size_bytes)
    ]
    found.append(Recommended(family=NETWORK, validation=validation, test=test, network=validation))
    best = best_family({one.family: one.validation for one in found})
    return next(one for one in found if one.family == best)


def best_family(validation: Mapping[str, float]) -> str:
    """Return the family of the highest quality; of equal ones the first.

    Args:
        validation: quality on the validation split, by family.

    Example:
        >>> best_family({"linear": 0.8, "boosting": 0.9, "network": 0.9})
        'boosting'
    """
    return max(validation, key=lambda name: validation[name])
