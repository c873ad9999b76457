"""Masks that leave neurons out of a step, the same on any number of ranks (Srivastava, 2014)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from evener.train.draw import dropout_mask
from evener.train.shape import Shape


class Dropout:
    """What each hidden neuron of a rank is multiplied by: 0, or more than 1 for those left.

    Args:
        shape: the network; its seed is what masks are drawn from.
        rate: probability with which a neuron is left out.
        neurons: which of each layer but the input the rank has.
        dtype: of the masks.
    """

    def __init__(
        self, shape: Shape, rate: float, neurons: Sequence[slice], dtype: torch.dtype
    ) -> None:
        self._seed = shape.seed
        self._keep = 1.0 - rate
        self._neurons = neurons
        self._dtype = dtype

    def masks(self, step: int, rows: slice, batch: int) -> list[Tensor | None]:
        """Draw the masks of a step, (N, B) for each layer; None for the last, which keeps all.

        Args:
            step: from 0.
            rows: which of the batch the rank has.
            batch: how many it has.
        """
        return [
            *(self._mask(step, layer, rows, batch) for layer in range(1, len(self._neurons))),
            None,
        ]

    def _mask(self, step: int, layer: int, rows: slice, batch: int) -> Tensor:
        neurons = self._neurons[layer - 1]
        kept = dropout_mask(self._seed, step, layer, neurons, batch, self._keep)[:, rows]
        return torch.from_numpy(kept).to(self._dtype).div_(self._keep)
