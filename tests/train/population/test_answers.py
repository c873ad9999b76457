"""What a population answers."""

import pytest
import torch

from evener.errors import InputError
from evener.train.population.answers import answer_population
from evener.train.population.course import Course, Rows
from evener.train.population.individual import Individual
from evener.train.population.twin import Twin
from evener.train.population.weights import draw_weights

POPULATION = [
    Individual(widths=(6, 9, 3), seed=1),
    Individual(widths=(6, 40, 20, 3), seed=2, activation="gelu", dropout=0.5),
    Individual(widths=(6, 9, 3), seed=3, activation="sigmoid", links=((0, 1), (1, 2), (0, 2))),
    *[Individual(widths=(6, 8, 3), seed=seed, activation="tanh") for seed in range(4, 24)],
]


def test_each_answers_as_it_would_alone() -> None:
    x = torch.randn(300, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights = [draw_weights(one) for one in POPULATION]

    answers = answer_population(POPULATION, weights, x, "cross-entropy")

    for one, own, answer in zip(POPULATION, weights, answers, strict=True):
        twin = Twin(one, own, Rows(x, x), Course(), torch.float64)
        torch.testing.assert_close(answer, torch.softmax(twin.sums(x).detach(), -1))


def test_weights_of_another_are_refused() -> None:
    with pytest.raises(InputError, match="for the link from node 0 to node 1"):
        answer_population(
            POPULATION[:1], [draw_weights(POPULATION[4])], torch.ones(1, 6), "squared"
        )
