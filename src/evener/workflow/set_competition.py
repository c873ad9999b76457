"""Let the layers of the weight sets of one network compete, once they were trained."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from evener.artifacts.search_section import CreditName
from evener.search.competition import sweep

if TYPE_CHECKING:
    from evener.train.evaluator import Evaluation
    from evener.train.population.weights import Weights
    from evener.train.trials import Tried


def contest(
    found: "Sequence[Tried]",
    evaluate: "Callable[[Sequence[Weights]], Sequence[Evaluation]]",
    *,
    credit: CreditName = "best",
) -> "list[Tried]":
    """Sweep over the layers of some weight sets, and put the champion in the place of the worst.

    Args:
        found: what training the weight sets of one network came to.
        evaluate: finds out how good weights of the network are.
        credit: by which errors a layer is judged, see `evener.search.competition.sweep`.

    Returns:
        The same, but for the set that answers worst, where layers of several together answer better
        than every set; nothing changes where fewer than two sets have learned.
    """
    from evener.train.population.instances import layers_of, weights_of
    from evener.train.trials import Tried

    rows = {
        index: layers_of(one.learned) for index, one in enumerate(found) if one.learned is not None
    }
    if len(rows) < 2:
        return list(found)
    known = [found[index].difference for index in rows]
    won = sweep(
        list(rows.values()),
        known,
        lambda batch: [one.difference for one in evaluate([weights_of(net) for net in batch])],
        credit=credit,
    )
    if not won.error < min(known):
        return list(found)
    worst = max(rows, key=lambda index: found[index].difference)
    champion = weights_of(won.champion)
    [evaluation] = evaluate([champion])
    score = msgspec.structs.replace(
        found[worst].score, quality=evaluation.quality, quality_error=evaluation.error
    )
    return [
        Tried(score, champion, evaluation.difference) if index == worst else one
        for index, one in enumerate(found)
    ]
