"""Losses of a stack, held against PyTorch's own."""

import pytest
import torch
from torch.nn import functional

from evener.errors import InputError
from evener.train.population.losses import LOSSES, LossName, answers_of, compare


def plainly(
    name: LossName, sums: torch.Tensor, wanted: torch.Tensor, counts: torch.Tensor | None
) -> torch.Tensor:
    if name == "cross-entropy":
        return functional.cross_entropy(sums, wanted, weight=counts)
    if name == "binary":
        loss = functional.binary_cross_entropy_with_logits(sums, wanted, pos_weight=counts)
        return loss * sums.shape[1]
    return functional.mse_loss(sums, wanted) * sums.shape[1] / 2


@pytest.mark.parametrize("counts", [None, torch.tensor([0.5, 1.0, 2.0, 0.25]).double()])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("across", [False, True])
def test_losses_and_gradients_are_those_of_autograd(
    name: LossName,
    counts: torch.Tensor | None,
    across: bool,
) -> None:
    generator = torch.Generator().manual_seed(0)
    sums = torch.randn(3, 5, 4, dtype=torch.float64, generator=generator) * 10
    wanted = torch.softmax(torch.randn(3, 5, 4, dtype=torch.float64, generator=generator), -1)
    if across:  # in memory as those of a narrow output are
        sums, wanted = (one.mT.contiguous().mT for one in (sums, wanted))
    gradient = torch.empty_like(sums)

    losses = compare(name, sums, wanted, gradient, counts)

    for index in range(3):
        alone = sums[index].clone().requires_grad_()
        loss = plainly(name, alone, wanted[index], counts)
        torch.autograd.backward(loss)
        torch.testing.assert_close(losses[index], loss.detach())
        assert alone.grad is not None
        torch.testing.assert_close(gradient[index], alone.grad)


@pytest.mark.parametrize("name", LOSSES)
def test_what_is_no_number_stays_in_its_individual(name: LossName) -> None:
    sums = torch.zeros(2, 1, 2)
    sums[0, 0, 0] = torch.nan
    gradient = torch.empty_like(sums)

    losses = compare(name, sums, torch.full_like(sums, 0.5), gradient)

    assert torch.isnan(losses[0])
    assert torch.isfinite(losses[1])
    assert torch.isfinite(gradient[1]).all()


def test_an_unknown_loss_is_refused() -> None:
    with pytest.raises(InputError, match="'hinge' is no loss of a population"):
        answers_of("hinge", torch.zeros(1, 1, 1))  # type: ignore[arg-type] # what is refused
