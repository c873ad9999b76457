"""What pruning took out of a network, and what that cost."""

import msgspec

from evener.units import count


class Pruned(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was taken out of a network in the middle of its training.

    Attributes:
        share: of the hidden units, or channels of blocks, that was to go.
        units_before: how many hidden units, or channels, there were.
        units: that are left.
        weights_before: how many numbers it held.
        weights: that it holds.
        validation: quality on the validation split before they went, by metric: of the trainings of
            the search, in the mean, where the network learned from that split too; empty where that
            is not known.
    """

    share: float
    units_before: int
    units: int
    weights_before: int
    weights: int
    validation: dict[str, float] = {}

    def told(self, metric: str, after: float | None) -> str:
        """Say for people what pruning did.

        Args:
            metric: what quality is.
            after: the quality on the validation split at last; None if it is not known.

        Example:
            >>> Pruned(
            ...     share=0.5,
            ...     units_before=64,
            ...     units=32,
            ...     weights_before=4810,
            ...     weights=2410,
            ...     validation={"accuracy": 0.975},
            ... ).told("accuracy", 0.9725)
            'pruned to 32 of 64 hidden units and 2,410 of 4,810 weights; accuracy on the validation
            rows 0.9750 before, 0.9725 after'
        """
        text = (
            f"pruned to {self.units:,} of {count(self.units_before, 'hidden unit')} and "
            f"{self.weights:,} of {self.weights_before:,} weights"
        )
        before = self.validation.get(metric)
        if before is None or after is None:
            return text
        return f"{text}; {metric} on the validation rows {before:.4f} before, {after:.4f} after"
