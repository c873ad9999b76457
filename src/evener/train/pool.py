"""The means of groups of a rank's own neurons, which all shards of the next layer see."""

from collections.abc import Sequence

import torch
from torch import Tensor


class Pool:
    """The means of one layer: the coarse values of a rank.

    Args:
        own: rows of the rank's own neurons in its buffer.
        coarse: those of its own means.
        groups: which of its neurons make up each, counted from its first one.
    """

    def __init__(self, own: slice, coarse: slice, groups: Sequence[slice]) -> None:
        self._own = own
        self._coarse = coarse
        counts = [group.stop - group.start for group in groups]
        sizes = torch.tensor(counts, dtype=torch.int64)  # of no group, too
        self._group_of = torch.arange(len(groups)).repeat_interleave(sizes)
        self._sizes = sizes.unsqueeze(1)

    def forth(self, buffer_NB: Tensor) -> None:
        """Write the means behind the neurons."""
        means = buffer_NB[self._coarse]
        means.zero_().index_add_(0, self._group_of, buffer_NB[self._own])
        means /= self._sizes

    def back(self, gradient_NB: Tensor) -> None:
        """Add to each neuron's gradient its part of its group's."""
        part = gradient_NB[self._coarse] / self._sizes
        gradient_NB[self._own] += part[self._group_of]
