"""Variants of one network, whose layers can take each other's place."""

import numpy as np
import pytest
import torch

from evener.errors import InputError
from evener.train.population.answers import answer_population
from evener.train.population.course import Course, Rows
from evener.train.population.individual import Individual
from evener.train.population.instances import Instances, layers_of, weights_of
from evener.train.population.weights import Weights, draw_weights

ONE = Individual(
    widths=(5, 7, 6, 3), links=((0, 1), (0, 2), (1, 2), (2, 3)), learning_rate=0.05, seed=4
)


@pytest.fixture
def rows() -> Rows:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(60, 5, generator=generator)
    classes = inputs[:, :3].argmax(1)
    return Rows(inputs, torch.nn.functional.one_hot(classes, 3).to(torch.float32))


@pytest.fixture
def instances(rows: Rows) -> Instances:
    return Instances(ONE, rows, rows, Course(epochs=2, batch=10))


def masked() -> Weights:
    mask = np.ones((7, 6), bool)
    mask[2] = False
    return draw_weights(ONE, {(1, 2): mask})


def test_layers_are_the_weights_in_other_words() -> None:
    weights = masked()

    layers = layers_of(weights)

    assert [sorted(one.links) for one in layers] == [[0], [0, 1], [2]]
    assert sorted(layers[1].masks) == [1]
    again = weights_of(layers)
    assert again.links.keys() == weights.links.keys()
    assert all(again.links[link] is weights.links[link] for link in weights.links)
    assert again.biases == weights.biases
    assert again.masks.keys() == weights.masks.keys()


def test_variants_part_and_each_learns(instances: Instances) -> None:
    base = masked()

    first, second = instances.begin(base, 2)

    assert not np.array_equal(first[0].links[0], second[0].links[0])
    before, *after = instances.errors([layers_of(base), first, second])
    assert max(after) < before


def test_variants_are_drawn_from_the_seed_and_the_number_of_the_training(
    instances: Instances,
) -> None:
    begun = instances.begin(masked(), 2)

    once, again = instances.train(begun, block=0), instances.train(begun, block=0)
    later = instances.train(begun, block=1)

    for one, other in zip(once, again, strict=True):
        assert all(
            np.array_equal(left.bias, right.bias) for left, right in zip(one, other, strict=True)
        )
    assert not np.array_equal(once[0][0].links[0], later[0][0].links[0])


def test_what_a_mask_takes_away_stays_away(instances: Instances) -> None:
    (trained,) = instances.begin(masked(), 1)

    assert not trained[1].links[1][2].any()
    assert trained[1].links[1][3].any()


def test_the_error_is_the_mean_difference_of_answers(instances: Instances, rows: Rows) -> None:
    layers = layers_of(draw_weights(ONE))
    (answer,) = answer_population([ONE], [weights_of(layers)], rows.inputs, "cross-entropy")

    (error,) = instances.errors([layers])

    assert error == pytest.approx(float((answer - rows.wanted).abs().mean()))


def test_an_answer_that_is_no_number_is_an_infinite_error(instances: Instances) -> None:
    weights = draw_weights(ONE)
    weights.biases[0][0] = np.nan

    assert instances.errors([layers_of(weights)]) == [np.inf]


def test_there_is_one_variant_at_least(instances: Instances) -> None:
    with pytest.raises(InputError, match="0 variants of a network: give 1 or more"):
        instances.begin(draw_weights(ONE), 0)
