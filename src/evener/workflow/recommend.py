"""Recommend a model for some data whatever its family: the network of a search, or a simple model.

On tables, boosted trees often answer better than networks (Grinsztajn et al., NeurIPS 2022), and a
user is better served by knowing it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from evener.artifacts.card import Baselines
from evener.artifacts.front import Front

NETWORK: Final = "network"
"""The family of what a search finds; those of simple models are named as these are."""


class Recommended(msgspec.Struct, frozen=True, kw_only=True):
    """The model that is best on the validation split.

    Attributes:
        family: "network", or the name of a simple model.
        validation: quality on the validation split, by which it was picked.
        test: quality on the test split; None of a network that there was no time to train in full.
    """

    family: str
    validation: float
    test: float | None


def recommend(front: Front, baselines: Baselines) -> Recommended:
    """Pick the chosen network or a simple model, whichever answers the validation split better.

    Args:
        front: of a search. Its chosen network counts as it was trained in full; where the time was
            up before, as it was in the search.
        baselines: the simple models of the same data.
    """
    full = front.retrained_of(front.chosen)
    if full is not None:
        validation, test = full.quality, full.test_quality
    else:
        shortly = next(one.score for one in front.scored if one.score.id == front.chosen)
        validation, test = shortly.quality or 0.0, None
    found = [
        Recommended(family=one.name, validation=one.validation, test=one.test[front.metric])
        for one in baselines.models
    ]
    found.append(Recommended(family=NETWORK, validation=validation, test=test))
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
