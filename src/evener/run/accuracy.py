"""Judge answers in lower precision by those in f32, and by labels where they are known."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from evener.artifacts.lowering import Deviation
from evener.run.equality import Answer, difference, largest_of, top_of


class Allowed(msgspec.Struct, frozen=True, kw_only=True):
    """How far from those in f32 answers may be.

    Attributes:
        max_error: largest error, see `evener.artifacts.lowering.Deviation`; None for any.
        min_accuracy: least share of right top answers, or without labels of those that are the same
            as in f32; None for any.
    """

    max_error: float | None = None
    min_accuracy: float | None = None

    def admits(self, error: float, share: float | None) -> bool:
        """Whether an error and a share of right or equal top answers are within it.

        Example:
            >>> Allowed(max_error=0.01).admits(0.02, 1.0)
            False
            >>> Allowed(min_accuracy=0.9).admits(9.0, 0.95)
            True
        """
        near = self.max_error is None or error <= self.max_error
        return near and (
            self.min_accuracy is None or (share is not None and share >= self.min_accuracy)
        )


def judge(
    precision: str,
    expected: Sequence[Answer],
    answers: Sequence[Answer],
    *,
    allowed: Allowed,
    labels: NDArray[np.int64] | None = None,
) -> Deviation:
    """Say how far answers are off, and whether that is allowed.

    Args:
        precision: what they were computed in.
        expected: the answers in f32, one for each frame.
        answers: those to judge, of the same frames.
        allowed: how far they may be off.
        labels: [frames] the right classes, where they are known.
    """
    largest = largest_of(expected)
    error = max(
        difference(one, other, largest)[1] for one, other in zip(expected, answers, strict=True)
    )
    right = [top_of(answer) for answer in expected]
    found = [top_of(answer) for answer in answers]
    told = None not in right
    agreement = _share(right, found) if told else None
    accuracy = _share(labels.tolist(), found) if told and labels is not None else None
    accuracy_f32 = _share(labels.tolist(), right) if told and labels is not None else None
    return Deviation(
        precision=precision,
        frames=len(answers),
        error=error,
        agreement=agreement,
        accuracy=accuracy,
        accuracy_f32=accuracy_f32,
        admitted=allowed.admits(error, agreement if labels is None else accuracy),
    )


def worst_of(found: Sequence[Deviation]) -> Deviation:
    """Put several judgements of one plan together: in each respect the worst counts.

    Args:
        found: of the same precision and frames; at least one.
    """
    shares = {
        name: None if None in values else min(values)
        for name in ("agreement", "accuracy")
        for values in [[getattr(one, name) for one in found]]
    }
    return msgspec.structs.replace(
        found[0],
        error=max(one.error for one in found),
        admitted=all(one.admitted for one in found),
        **shares,
    )


def _share(wanted: Sequence[int | None], found: Sequence[int | None]) -> float:
    equal = sum(one == other for one, other in zip(wanted, found, strict=True))
    return equal / len(wanted)
