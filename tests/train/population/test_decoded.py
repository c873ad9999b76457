"""Individuals of what a search proposes."""

import pytest

from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.layer_graph import LayerGraph, Recipe, Spread
from evener.artifacts.networks import Ends
from evener.errors import InputError
from evener.train.population.conv_individual import ConvIndividual
from evener.train.population.decoded import individual_of, member_of

LINKS = ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3))
ADAM = Recipe(optimiser="adam", learning_rate=0.02, momentum=0.3, weight_decay=1e-4)


def test_an_individual_has_the_links_and_the_cost_of_its_graph() -> None:
    graph = LayerGraph(widths=(8, 5), links=LINKS, activation="tanh")

    one = individual_of(graph, 20, 3, seed=7, weight_variance=1.5)

    assert set(one.edges) == set(LINKS)
    assert one.macs == graph.macs(20, 3)
    assert (one.widths, one.activation, one.seed) == ((20, 8, 5, 3), "tanh", 7)
    assert one.weight_variance == 1.5


def test_its_own_recipe_counts_first_and_adam_has_its_own_momentum() -> None:
    sgd = Recipe(learning_rate=0.5, momentum=0.3)

    evolved = individual_of(LayerGraph(recipe=ADAM), 4, 2, seed=0, recipe=sgd)
    given = individual_of(LayerGraph(), 4, 2, seed=0, recipe=sgd)

    rates = (evolved.optimiser, evolved.learning_rate, evolved.momentum, evolved.weight_decay)
    assert rates == ("adam", 0.02, 0.9, 1e-4)
    assert (given.optimiser, given.learning_rate, given.momentum) == ("sgd", 0.5, 0.3)


def test_a_graph_without_a_way_to_its_output_is_refused() -> None:
    with pytest.raises(InputError, match="nothing leads to its output; repair it"):
        individual_of(LayerGraph(widths=(3,), links=((0, 1),)), 4, 2, seed=0)


def test_blocks_are_an_individual_where_rows_are_pictures() -> None:
    stack = ConvStack(blocks=(Block(kind="conv3x3", channels=4),), hidden=5, recipe=ADAM)
    spread = Spread(weight_variance=1.5, bias_variance=0.1)

    one = member_of(stack, Ends(features=12, outputs=3, picture=(1, 4, 3)), seed=7, spread=spread)

    assert isinstance(one, ConvIndividual)
    assert (one.ends, one.hidden, one.seed, one.depth) == ((12, 3), 5, 7, 3)
    assert (one.optimiser, one.learning_rate, one.momentum) == ("adam", 0.02, 0.9)
    assert (one.weight_variance, one.bias_variance) == (1.5, 0.1)
    with pytest.raises(InputError, match="reads pictures, and a row is 12 numbers in no order"):
        member_of(stack, Ends(features=12, outputs=3), seed=7)


def test_a_graph_and_its_spread_are_an_individual_of_any_rows() -> None:
    spread = Spread(weight_variance=1.5, bias_variance=0.1)

    one = member_of(LayerGraph(), Ends(features=12, outputs=3), seed=7, spread=spread)

    assert one == individual_of(LayerGraph(), 12, 3, seed=7, weight_variance=1.5, bias_variance=0.1)
