"""Products of matrices and one row of a batch, whose last steps are held back from large matrices.

A step of plain descent takes a product of two vectors from a matrix, for which a large one must be
read and written: as much traffic as both its products. So the vectors of the last steps, X and G,
are held, and products add what those would have changed: (W - G'X) s = W s - G'(X s). The matrix
is written once for many steps, by one product of matrices. This is known as delayed updates
(McDaniel et al., "Delayed Slater determinant update algorithms for high efficiency quantum Monte
Carlo", J. Chem. Phys. 147, 2017). Shapes in names: M neurons, C neurons that they see, K steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

STEPS_HELD: Final = 32
"""Steps after which large matrices are written."""
_LARGE: Final = 1 << 18  # so many weights fill the cache of a core


def worth_holding(weights: int) -> bool:
    """Return whether it pays to hold back steps of one row from so many weights.

    Args:
        weights: of a shard; of the whole layer, on whatever ranks, where everyone sees everything.
            So it does not depend on who has which shard.
    """
    return weights >= _LARGE


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """The weights of some neurons, and the vectors that go with them.

    Attributes:
        weight: (M, C).
        bias: (M,).
        out: sums of the neurons, (M,).
        gradient: of these, (M,).
    """

    weight: Tensor
    bias: Tensor
    out: Tensor
    gradient: Tensor


class OneRow:
    """Matrices that see the same neurons.

    Args:
        matrices: one or more.
        seen_C: what they see.
        into_C: where the gradient of that is written; None if nobody wants it, and always where
            there are several matrices.
        held: whether steps are held back.
        quickly: whether products with held steps may come from whichever library is quickest,
            though its bits depend on the number of threads. That is NumPy's BLAS, which from then
            on takes as many threads as torch, in the whole process.
    """

    def __init__(
        self,
        matrices: Sequence[Matrix],
        seen_C: Tensor,
        into_C: Tensor | None,
        *,
        held: bool,
        quickly: bool = False,
    ) -> None:
        product = _by_numpy if held and quickly else _by_torch
        if product is _by_numpy:  # else every rank would use all cores
            threadpool_limits(torch.get_num_threads(), user_api="blas")
        self._matrices = matrices
        self._forth = [product(one.weight, seen_C, one.out, one.bias) for one in matrices]
        if into_C is not None:
            (one,) = matrices
            self._back = product(one.weight.T, one.gradient, into_C)
        self._seen_C = seen_C
        self._into_C = into_C
        self._held = 0
        self._seen_KC = seen_C.new_empty(STEPS_HELD if held else 0, len(seen_C))
        self._changes = [one.out.new_empty(len(self._seen_KC), len(one.out)) for one in matrices]

    def forward(self) -> None:
        """Write `weight @ seen + bias` to each matrix's neurons."""
        for multiply in self._forth:
            multiply()
        if self._held:
            shares_K = torch.mv(self._seen_KC[: self._held], self._seen_C)
            for one, changes_KM in zip(self._matrices, self._changes, strict=True):
                one.out.addmv_(changes_KM[: self._held].T, shares_K, alpha=-1)

    def back(self) -> None:
        """Write the gradient of what they saw."""
        if self._into_C is None:
            return
        (one,), (changes_KM,) = self._matrices, self._changes
        self._back()
        if self._held:
            shares_K = torch.mv(changes_KM[: self._held], one.gradient)
            self._into_C.addmv_(self._seen_KC[: self._held].T, shares_K, alpha=-1)

    def descend(self, rate: float) -> None:
        """Move the weights down their gradients; at once, or later."""
        if not len(self._seen_KC):
            for one in self._matrices:
                one.weight.addr_(one.gradient, self._seen_C, alpha=-rate)
            return
        self._seen_KC[self._held].copy_(self._seen_C)
        for one, changes_KM in zip(self._matrices, self._changes, strict=True):
            torch.mul(one.gradient, rate, out=changes_KM[self._held])
        self._held += 1
        if self._held == STEPS_HELD:
            self.settle()

    def settle(self) -> None:
        """Write the steps that are held."""
        if self._held:
            for one, changes_KM in zip(self._matrices, self._changes, strict=True):
                one.weight.addmm_(changes_KM[: self._held].T, self._seen_KC[: self._held], alpha=-1)
            self._held = 0


def _by_torch(
    matrix_MC: Tensor, vector_C: Tensor, out_M: Tensor, bias_M: Tensor | None = None
) -> Callable[[], object]:
    """Return what writes `matrix @ vector + bias`."""
    if bias_M is None:
        return partial(torch.mv, matrix_MC, vector_C, out=out_M)
    return partial(torch.addmv, bias_M, matrix_MC, vector_C, out=out_M)


def _by_numpy(
    matrix_MC: Tensor, vector_C: Tensor, out_M: Tensor, bias_M: Tensor | None = None
) -> Callable[[], object]:
    """Return what writes `matrix @ vector + bias` by NumPy's BLAS.

    The OpenBLAS of its wheels is quicker over a large matrix than torch's MKL, at least on the AMD
    EPYC where both were timed.
    """
    multiply = partial(np.dot, matrix_MC.numpy(), vector_C.numpy(), out=out_M.numpy())
    if bias_M is None:
        return multiply
    return lambda: (multiply(), out_M.add_(bias_M))
