"""How a network is trained."""

from collections.abc import Callable

import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, LRScheduler, OneCycleLR

from evener.errors import InputError
from evener.train.recipe import Recipe

STEPS = 23


def rates_of(make: Callable[[torch.optim.Optimizer], LRScheduler]) -> list[float]:
    """Return the rates of PyTorch's own schedule."""
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    schedule = make(optimiser)
    found = []
    for _ in range(STEPS):
        found.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        schedule.step()
    return found


def rates(recipe: Recipe) -> list[float]:
    return [recipe.rate(step, STEPS) for step in range(STEPS)]


def test_cosine_is_that_of_pytorch() -> None:
    theirs = rates_of(lambda one: CosineAnnealingLR(one, STEPS))

    assert rates(Recipe(learning_rate=0.5, schedule="cosine")) == pytest.approx(theirs, abs=1e-12)


def test_one_cycle_is_that_of_pytorch() -> None:
    theirs = rates_of(lambda one: OneCycleLR(one, 0.5, total_steps=STEPS + 1, cycle_momentum=False))
    ours = Recipe(learning_rate=0.5, schedule="one-cycle")

    found = [ours.rate(step, STEPS + 1) for step in range(STEPS)]

    assert found == pytest.approx(theirs, rel=1e-9)


def test_warming_up_is_that_of_pytorch() -> None:
    theirs = rates_of(lambda one: LinearLR(one, start_factor=1 / 5, total_iters=4))

    assert rates(Recipe(learning_rate=0.5, warm_up=5)) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
@pytest.mark.parametrize("schedule", ["constant", "cosine", "one-cycle"])
def test_the_shortest_trainings_have_a_rate_too(schedule: str, steps: int) -> None:
    recipe = Recipe(schedule=schedule)  # type: ignore[arg-type] # mypy sees a str

    assert all(0 < recipe.rate(step, steps) <= 0.1 for step in range(steps))


def test_only_the_gradient_times_the_rate_is_plain() -> None:
    changed = [
        Recipe(optimiser="adam"),
        Recipe(momentum=0.5),
        Recipe(weight_decay=0.1),
        Recipe(clip=1.0),
    ]

    assert Recipe(schedule="cosine", dropout=0.5).plain
    assert not any(recipe.plain for recipe in changed)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epochs": 0}, "0 epochs of batches of 1: give 1 or more"),
        ({"batch": 0}, "1 epochs of batches of 0"),
        ({"learning_rate": 0.0}, "a learning rate of 0.0: give a number above 0"),
        ({"learning_rate": float("nan")}, "a learning rate of nan"),
        ({"momentum": 1.0}, "momentum 1.0 and dropout 0.0: give either 0 or more, and less than 1"),
        ({"dropout": -0.1}, "momentum 0.0 and dropout -0.1"),
        ({"momentum": 0.9, "optimiser": "adam"}, "a momentum of 0.9 with adam, which has its own"),
        ({"weight_decay": -1.0}, "a weight decay of -1.0 and 0 steps of warm-up"),
        ({"warm_up": -1}, "a weight decay of 0.0 and -1 steps of warm-up"),
        ({"clip": 0.0}, "gradients clipped at a norm of 0.0: give a number above 0"),
    ],
)
def test_numbers_that_nothing_can_be_done_with_are_refused(
    wrong: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Recipe(**wrong)  # type: ignore[arg-type] # as a file may say
