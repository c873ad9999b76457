"""What a stack's answers are compared by: the loss of each individual, and which way is down.

Each is the natural loss of the function that makes answers of the last node's sums, so that the
gradient of the sums is the answer less what was wanted. Shapes in names: P individuals, B rows of
a batch, O outputs.
"""

from typing import Final, Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from evener.errors import InputError

LossName = Literal["cross-entropy", "squared", "binary"]
LOSSES: Final[tuple[LossName, ...]] = ("cross-entropy", "squared", "binary")


def answers_of(name: LossName, sums_PBO: Tensor) -> Tensor:
    """Return the answers that sums come to.

    Args:
        name: "cross-entropy" for the probabilities of classes, "binary" for one probability an
            output, "squared" for the sums themselves.
        sums_PBO: of the last node.

    Raises:
        InputError: another name.
    """
    if name == "cross-entropy":
        return torch.softmax(sums_PBO, -1)
    if name == "binary":
        return torch.sigmoid(sums_PBO)
    if name == "squared":
        return sums_PBO
    raise InputError(f"'{name}' is no loss of a population; choose {', '.join(LOSSES)}")


def compare(
    name: LossName,
    sums_PBO: Tensor,
    wanted_PBO: Tensor,
    into_PBO: Tensor,
    importance_O: Tensor | None = None,
) -> Tensor:
    """Write the gradient of the sums, and return the loss of each individual, (P,).

    The loss of a row is the cross-entropy, half of the sum of squares, or the sum of the outputs'
    binary cross-entropies; that of a batch is the mean over its rows.

    Args:
        name: one that `answers_of` knows.
        sums_PBO: of the last node.
        wanted_PBO: what the answers should be; for cross-entropy, probabilities that add up to 1.
        into_PBO: where the gradient goes.
        importance_O: how much a row of each class counts, or that an output is wanted, as in
            PyTorch's losses; 1 each if None. Squares have none.
    """
    rows = sums_PBO.shape[1]
    if importance_O is not None and name != "squared":
        return _weighed(name, sums_PBO, wanted_PBO, into_PBO, importance_O)
    if name == "cross-entropy":
        logarithms_PBO = _log_softmax(sums_PBO)
        loss_P = torch.mul(logarithms_PBO, wanted_PBO).sum((1, 2)).mul_(-1 / rows)
        torch.exp(logarithms_PBO, out=into_PBO).sub_(wanted_PBO).mul_(1 / rows)
        return loss_P
    if name == "binary":
        loss_P = softplus(sums_PBO).sub_(wanted_PBO * sums_PBO).sum((1, 2)).mul_(1 / rows)
        torch.sigmoid(sums_PBO, out=into_PBO).sub_(wanted_PBO).mul_(1 / rows)
        return loss_P
    torch.sub(sums_PBO, wanted_PBO, out=into_PBO)
    loss_P = into_PBO.square().sum((1, 2)).mul_(0.5 / rows)
    into_PBO.mul_(1 / rows)
    return loss_P


def _log_softmax(sums_PBO: Tensor) -> Tensor:
    """Return the logarithms of probabilities, in memory as the sums are; torch would copy first."""
    if sums_PBO.stride(-1) == 1:
        return torch.log_softmax(sums_PBO, -1)
    return torch.log_softmax(sums_PBO.mT, 1).mT


def _weighed(
    name: LossName, sums_PBO: Tensor, wanted_PBO: Tensor, into_PBO: Tensor, importance_O: Tensor
) -> Tensor:
    rows = sums_PBO.shape[1]
    weighed_PBO = wanted_PBO * importance_O
    if name == "cross-entropy":
        logarithms_PBO = _log_softmax(sums_PBO)
        loss_P = torch.mul(logarithms_PBO, weighed_PBO).sum((1, 2)).mul_(-1 / rows)
        torch.exp(logarithms_PBO, out=into_PBO).mul_(weighed_PBO.sum(-1, keepdim=True))
    else:
        counts_PBO = weighed_PBO + 1 - wanted_PBO
        loss_P = softplus(sums_PBO).mul_(counts_PBO).sub_(weighed_PBO * sums_PBO)
        loss_P = loss_P.sum((1, 2)).mul_(1 / rows)
        torch.sigmoid(sums_PBO, out=into_PBO).mul_(counts_PBO)
    into_PBO.sub_(weighed_PBO).mul_(1 / rows)
    return loss_P
