"""Choose among scored architectures: which are on the front, and which one to train."""

from collections.abc import Sequence
from dataclasses import dataclass

from evener.artifacts.architecture import Architecture
from evener.errors import EvenerError, InputError
from evener.search.evaluate import Score


@dataclass(frozen=True, slots=True)
class _Scored:
    architecture: Architecture
    macs: int
    quality: float
    error: float


def pareto_front(
    architectures: Sequence[Architecture], scores: Sequence[Score]
) -> tuple[Architecture, ...]:
    """Keep the architectures than which no other is both as good and as cheap.

    Args:
        architectures: any.
        scores: one for each, in the same order; those without a quality are left out.

    Returns:
        Cheapest first, and so worst first; of two with equal figures, the first.

    Raises:
        ValueError: the scores are not those of the architectures.
    """
    front: list[_Scored] = []
    for one in _cheapest_first(architectures, scores):
        if not front or one.quality > front[-1].quality:
            front.append(one)
    return tuple(one.architecture for one in front)


def choose(
    architectures: Sequence[Architecture],
    scores: Sequence[Score],
    required_quality: float | None,
) -> Architecture:
    """Pick the cheapest architecture that is good enough, with a margin of one standard error.

    Good enough is: the requirement plus the margin, since the validation split flatters the one
    that is picked by it. Without a requirement it is the best quality less the margin of the best
    (the one-standard-error rule of Breiman et al., Classification and Regression Trees, 1984).

    Args:
        architectures: any.
        scores: one for each, in the same order.
        required_quality: the limit on the quality, if there is one.

    Returns:
        The cheapest that is good enough; where none is, the best.

    Raises:
        InputError: no architecture has a quality, and what the project asks for is why.
        EvenerError: no architecture has a quality for another reason.
        ValueError: the scores are not those of the architectures.

    Example:
        >>> small, large = Architecture(hidden=(8,)), Architecture(hidden=(64,))
        >>> scores = [Score(id=small.id, quality=0.95, quality_error=0.01, macs=100),
        ...           Score(id=large.id, quality=0.97, quality_error=0.01, macs=800)]
        >>> str(choose([small, large], scores, 0.93)), str(choose([small, large], scores, 0.96))
        ('mlp 8 relu', 'mlp 64 relu')
    """
    ordered = _cheapest_first(architectures, scores)
    if not ordered:
        raise _nothing_to_choose(architectures, scores)
    best = max(ordered, key=lambda one: one.quality)  # the cheapest of equally good ones
    if required_quality is None:
        good = [one for one in ordered if one.quality >= best.quality - best.error]
    else:
        good = [one for one in ordered if one.quality - one.error >= required_quality]
    return good[0].architecture if good else best.architecture


def _cheapest_first(
    architectures: Sequence[Architecture], scores: Sequence[Score]
) -> list[_Scored]:
    if [one.id for one in architectures] != [score.id for score in scores]:
        raise ValueError(
            f"{len(scores)} scores do not belong to the {len(architectures)} architectures: give "
            "one score for each, in the same order"
        )
    scored = [
        _Scored(one, score.macs, score.quality, score.quality_error)
        for one, score in zip(architectures, scores, strict=True)
        if score.quality is not None
    ]
    return sorted(scored, key=lambda one: (one.macs, -one.quality))


def _nothing_to_choose(
    architectures: Sequence[Architecture], scores: Sequence[Score]
) -> EvenerError:
    if not scores:
        return EvenerError("there is nothing to choose from: no architecture was tried")
    # A failure is ours to explain; a budget or a learning rate is the project's to change.
    failed = [index for index, score in enumerate(scores) if score.status == "failed"]
    index = failed[0] if failed else 0
    told = scores[index]
    kind = EvenerError if failed else InputError
    return kind(
        f"none of the {len(scores)} architectures could be scored; {architectures[index]}: "
        f"{told.status}{': ' if told.message else ''}{told.message}"
    )
