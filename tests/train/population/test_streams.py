"""What each individual meets at each step."""

import numpy as np
import torch

from evener.train.population.individual import Individual
from evener.train.population.streams import Dropout, epoch_order

POPULATION = [
    Individual(widths=(4, 50, 60, 2), seed=1, dropout=0.25),
    Individual(widths=(4, 40, 2), seed=2),
    Individual(widths=(4, 50, 60, 2), seed=3, dropout=0.5),
]


def drawn(population: list[Individual], steps: list[int], batch: int = 20) -> list[torch.Tensor]:
    dropout = Dropout(population, (4, 50, 60, 2), batch, torch.float64, torch.device("cpu"))
    for step in steps:
        dropout.draw(step)
    return [one.clone() for one in dropout.masks(batch)]


def test_each_has_its_own_order_of_all_rows_every_epoch() -> None:
    order = epoch_order(POPULATION, 0, 30)

    assert order.shape == (30, 3)
    for column in order.T:
        assert sorted(column.tolist()) == list(range(30))
    assert len({tuple(column.tolist()) for column in order.T}) == 3
    assert (epoch_order(POPULATION[1:], 0, 30) == order[:, 1:]).all()
    assert (epoch_order(POPULATION, 1, 30) != order).any()


def test_masks_of_a_step_depend_on_neither_the_steps_before_nor_the_neighbours() -> None:
    there = drawn(POPULATION, [0, 1, 16, 17])
    alone = drawn(POPULATION[2:], [17])

    for mask, own in zip(there, alone, strict=True):
        assert torch.equal(mask[2], own[0])
    assert not torch.equal(there[0], drawn(POPULATION, [18])[0])


def test_neurons_are_kept_as_often_as_they_should_be_and_weigh_more() -> None:
    first, second = drawn(POPULATION, [3], batch=1000)

    for row, keep in ((0, 0.75), (2, 0.5)):
        for mask in (first[row], second[row]):
            assert np.isin(mask.numpy(), [0.0, 1 / keep]).all()
            assert abs(float((mask > 0).double().mean()) - keep) < 0.013  # six deviations
    assert (first[1] == 1).all()
    assert not torch.equal(first[0], second[0][:, :50])
