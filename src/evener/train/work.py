"""The arrays of one size of a batch on one rank, and what each layer does with them.

Made once and used for every batch of that size: views of arrays and prepared messages cost more
than the arithmetic of small layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evener.train.activations import Rule
from evener.train.ghosts import Everything, Ghosts
from evener.train.mixed import BoundMixed
from evener.train.partial_sums import BoundSums
from evener.train.pool import Pool
from evener.train.sharded import BoundLayer


@dataclass(slots=True, eq=False)
class LayerWork:
    """One layer's part of a batch; N are the rank's neurons of it.

    Attributes:
        values: the buffer that it reads.
        below: where the gradient of that goes; None at the input.
        pool: what writes coarse values into the buffer; None where there are none.
        ghosts: what fills in other ranks' rows; None where nothing is missing.
        bound: its products.
        rule: its activation.
        out: its answers, (N, B).
        gradient: of its answers, and then of the sums before the activation, (N, B).
        collected: the gradient of its answers, where shards' parts are added in double precision;
            None where that is `gradient` itself.
        kept: what the way back through the activation needs, (N, B); `out` itself where it can be.
        error: a copy of the gradient of its answers, where somebody asked for it.
        mask: what its answers were multiplied by, where neurons are dropped.
    """

    values: Tensor
    below: Tensor | None
    pool: Pool | None
    ghosts: Ghosts | Everything | None
    bound: BoundLayer | BoundMixed | BoundSums
    rule: Rule
    out: Tensor
    gradient: Tensor
    kept: Tensor
    collected: Tensor | None = None
    error: Tensor | None = None
    mask: Tensor | None = None

    def forward(self) -> None:
        """Compute the answers."""
        if self.pool is not None:
            self.pool.forth(self.values)
        if self.ghosts is not None:
            self.ghosts.fill()
        self.bound.forward()
        if self.rule.keeps == "sums":
            self.kept.copy_(self.out)
        self.rule.apply(self.out)

    def drop(self, mask_NB: Tensor | None) -> None:
        """Multiply the answers by a mask, and remember it for the way back."""
        self.mask = mask_NB
        if mask_NB is None:
            if self.rule.keeps == "values":
                self.kept = self.out
            return
        if self.rule.keeps == "values":
            if self.kept is self.out:
                self.kept = torch.empty_like(self.out)
            self.kept.copy_(self.out)
        self.out *= mask_NB

    def through_activation(self) -> None:
        """Turn the gradient of the answers into that of the sums."""
        if self.collected is not None:
            self.gradient.copy_(self.collected)
        if self.error is not None:
            self.error.copy_(self.gradient)
        if self.mask is not None:
            self.gradient *= self.mask
        self.rule.back(self.gradient, self.kept)

    def take_back(self) -> None:
        """Collect the gradient of what the layer read, at those who own it."""
        if self.below is None:
            return
        if self.ghosts is not None:
            self.ghosts.take_back()
        if self.pool is not None:
            self.pool.back(self.below)

    def close(self) -> None:
        """Give back the prepared messages."""
        if self.ghosts is not None:
            self.ghosts.close()


@dataclass(slots=True, eq=False)
class Work:
    """All layers' parts of a batch.

    Attributes:
        read: the rows of the first buffer that inputs are written to.
        layers: in order, the input left out.
    """

    read: Tensor
    layers: Sequence[LayerWork]

    @property
    def out(self) -> Tensor:
        """The network's answers, those of this rank, (N, B)."""
        return self.layers[-1].out

    @property
    def rows(self) -> int:
        """How many rows the batch has."""
        return self.out.shape[1]

    def close(self) -> None:
        """Give back the prepared messages."""
        for layer in self.layers:
            layer.close()
