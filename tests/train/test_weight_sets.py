"""Weight sets of networks that evolve: drawn, passed on, trained and scored."""

from dataclasses import dataclass, replace
from math import inf

import numpy as np
import pytest
import torch

from evener.artifacts.homology import Homology
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.project import DataSection
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.errors import InputError
from evener.train.population.individual import Individual
from evener.train.population.weights import draw_weights
from evener.train.weight_sets import WeightSets, align

CHAIN = LayerGraph(widths=(16,), links=((0, 1), (1, 2)))
SKIP = LayerGraph(widths=(16,), links=((0, 1), (0, 2), (1, 2)))


@dataclass(frozen=True)
class Rates:
    learning_rate: float = 0.05
    momentum: float = 0.5


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load_dataset(DataSection(source="digits"), tmp_path_factory.getbasetemp())


def error(_: LayerGraph, answers: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(answers - wanted).mean())


def sets_of(dataset: Dataset) -> WeightSets:
    return WeightSets(dataset, error, weight_variance=lambda _: 2.0, batch=32)


def test_training_lowers_the_score_and_keeps_the_set_before(digits: Dataset) -> None:
    sets = sets_of(digits)
    begun = sets.begin([CHAIN, CHAIN], seed=1)
    before = sets.score([CHAIN] * 2, begun)

    trained = sets.train([CHAIN] * 2, begun, [Rates()] * 2, passes=4, seed=3)

    assert max(sets.score([CHAIN] * 2, trained)) < 0.05 < min(before)
    assert sets.score([CHAIN] * 2, begun) == before
    assert before[0] != before[1]
    assert len({*begun, *trained}) == 4


def test_what_is_trained_together_comes_to_what_it_comes_to_alone(digits: Dataset) -> None:
    sets = sets_of(digits)
    begun = sets.begin([CHAIN, SKIP], seed=1)
    rates = [Rates(), Rates(learning_rate=0.01)]

    both = sets.train([CHAIN, SKIP], begun, rates, passes=2, seed=3)
    alone = sets.train([SKIP], begun[1:], rates[1:], passes=2, seed=3)

    assert sets.score([SKIP], alone) == pytest.approx(sets.score([SKIP], both[1:]), rel=1e-4)


def test_a_network_with_a_link_more_answers_as_its_parent(digits: Dataset) -> None:
    sets = sets_of(digits)
    begun = sets.begin([CHAIN], seed=1)

    passed = sets.inherit([SKIP], begun)

    assert sets.score([SKIP], passed) == pytest.approx(sets.score([CHAIN], begun), rel=1e-5)


def test_a_network_with_a_link_less_has_the_weights_of_the_others(digits: Dataset) -> None:
    sets = sets_of(digits)
    trained = sets.train([SKIP], sets.begin([SKIP], seed=1), [Rates()], passes=5, seed=2)

    passed = sets.inherit([CHAIN], trained)

    drawn = sets.score([CHAIN], sets.begin([CHAIN], seed=1))
    assert sets.score([SKIP], trained)[0] < sets.score([CHAIN], passed)[0] < drawn[0]


def same(*links: tuple[int, int]) -> Homology:
    return Homology(nodes=((0, 0), (1, 1), (2, 2)), links=links)


def test_a_child_of_two_parents_has_of_each_what_it_gave(digits: Dataset) -> None:
    sets = sets_of(digits)
    first, second = sets.begin([CHAIN, SKIP], seed=1)

    [crossed] = sets.cross([SKIP], [(first, second)], [(same((1, 2)), same((0, 1), (0, 2)))])

    child, begun = sets.parent(crossed)
    (one, gave), (_, too) = sets.parent(first), sets.parent(second)
    assert (begun.links[1, 2] == gave.links[1, 2]).all()
    assert (begun.links[0, 1] == too.links[0, 1]).all()
    assert (begun.links[0, 2] == too.links[0, 2]).all()
    assert child.seed == one.seed


def test_a_child_of_a_parent_whose_training_diverged_is_the_other_s(digits: Dataset) -> None:
    sets = sets_of(digits)
    begun = sets.begin([CHAIN, CHAIN], seed=1)
    gone, kept = sets.train([CHAIN] * 2, begun, [Rates(1e30), Rates()], passes=1, seed=0)
    gave = (same((0, 1)), same((1, 2)))

    names = sets.cross([CHAIN] * 2, [(gone, kept), (gone,)], [gave, gave[:1]])

    assert sets.score([CHAIN] * 2, names) == [sets.score([CHAIN], [kept])[0], inf]


def test_a_training_that_diverges_scores_infinity_and_stays_so(digits: Dataset) -> None:
    sets = sets_of(digits)
    begun = sets.begin([CHAIN, CHAIN], seed=1)

    trained = sets.train([CHAIN] * 2, begun, [Rates(1e30), Rates()], passes=1, seed=0)

    scores = sets.score([CHAIN] * 2, trained)
    assert scores[0] == inf > scores[1]
    assert sets.parent(trained[1])[0].widths == (64, 16, 10)
    with pytest.raises(InputError, match="the training of weight set '2' diverged: take another"):
        sets.parent(trained[0])
    assert sets.train([CHAIN], trained[:1], [Rates()], passes=1, seed=0) != trained[:1]
    assert sets.score([SKIP], sets.inherit([SKIP], trained[:1])) == [inf]
    again = sets.train([CHAIN] * 2, trained, [Rates()] * 2, passes=1, seed=0)
    assert sets.score([CHAIN] * 2, again)[0] == inf


def test_layers_are_the_same_in_order() -> None:
    parent = Individual(widths=(4, 6, 3, 2), links=((0, 1), (1, 2), (0, 2), (2, 3)))
    learned = draw_weights(parent)
    child = Individual(widths=(4, 8, 6, 2), links=((0, 1), (1, 2), (2, 3)))

    aligned = align(child, (parent, learned))

    # The layer of 6 units moved behind a new one; that of 3 units is gone, and its way out.
    assert aligned is None
    deeper = Individual(widths=(4, 8, 6, 3, 2), links=((0, 1), (1, 2), (2, 3), (3, 4)))
    found = align(deeper, (parent, learned))
    assert found is not None
    assert found[0].edges == ((0, 2), (0, 3), (2, 3), (3, 4))
    assert (found[1].links[2, 3] == learned.links[1, 2]).all()
    assert (found[1].biases[2] == learned.biases[1]).all()


def test_a_wider_layer_is_the_same_layer() -> None:
    parent = Individual(widths=(4, 6, 2))
    wider = Individual(widths=(4, 8, 2))

    found = align(wider, (parent, draw_weights(parent)))

    assert found is not None
    assert found[0].edges == ((0, 1), (1, 2))


def test_what_makes_no_sense_is_refused(digits: Dataset) -> None:
    numbers = replace(digits, task="numbers")

    with pytest.raises(InputError, match="digits has numbers to predict, and weight sets answer"):
        sets_of(numbers)
    with pytest.raises(InputError, match="no weight set is called 'what', among 0"):
        sets_of(digits).score([CHAIN], ["what"])


def test_nothing_is_drawn_from_elsewhere(digits: Dataset) -> None:
    scores = []
    for _ in range(2):
        torch.rand(1)
        sets = sets_of(digits)
        begun = sets.begin([CHAIN], seed=7)
        scores.append(sets.score([CHAIN], sets.train([CHAIN], begun, [Rates()], passes=1, seed=1)))

    assert scores[0] == scores[1]
