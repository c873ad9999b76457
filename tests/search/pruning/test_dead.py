"""Dropping what the answers do not need."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evener.search.pruning.dead import as_dense, connected, liveness, remove_dead
from evener.search.pruning.joined import free_groups, groups
from evener.search.pruning.layers import Layer, Net, answer, dense

Draw = Callable[[int, float], Net]
nets = given(seed=st.integers(0, 100_000), density=st.sampled_from([0.1, 0.3, 0.6, 1.0]))
unhurried = settings(deadline=None, max_examples=80)


def rows(net: Net) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(16, net.layers[0].width))


@unhurried
@nets
def test_answers_stay_as_they_are(draw: Draw, seed: int, density: float) -> None:
    net = draw(seed, density)

    small = remove_dead(net)

    assert np.abs(answer(small, rows(net)) - answer(net, rows(net))).max() <= 1e-6
    assert small.weights <= net.weights


@example(seed=28541, density=0.3)  # two links were left that a second pass took
@unhurried
@nets
def test_a_second_time_changes_nothing(draw: Draw, seed: int, density: float) -> None:
    once = remove_dead(draw(seed, density))

    twice = remove_dead(once)

    assert [one.width for one in twice.layers] == [one.width for one in once.layers]
    assert twice.links == once.links


@unhurried
@nets
def test_what_stays_is_needed_in_a_layer_that_is_joined(
    draw: Draw, seed: int, density: float
) -> None:
    small = remove_dead(draw(seed, density))

    live = liveness(small)
    for group in free_groups(small):
        needed = np.any([live.reached[one] & live.used[one] for one in group], axis=0)
        assert needed.all()


@unhurried
@nets
def test_the_dense_network_equals_the_masked_one(draw: Draw, seed: int, density: float) -> None:
    net = draw(seed, density)

    small = as_dense(net)

    assert all(mask.all() for layer in small.layers for mask in layer.masks)
    assert np.abs(answer(small, rows(net)) - answer(net, rows(net))).max() <= 1e-6


@unhurried
@nets
def test_neurons_are_reached_and_used_if_a_path_is_there(
    draw: Draw, seed: int, density: float
) -> None:
    net = draw(seed, density)
    names = [(at, neuron) for at, one in enumerate(net.layers) for neuron in range(one.width)]
    place = {name: at for at, name in enumerate(names)}
    steps = np.eye(len(names), dtype=bool)
    for at, layer in enumerate(net.layers):
        for number, source in enumerate(layer.sources):
            links = np.eye(layer.width, dtype=bool) if layer.sums else layer.masks[number]
            for one, other in np.argwhere(links):
                steps[place[source, one], place[at, other]] = True
    paths = np.linalg.matrix_power(steps.astype(np.float64), len(names)) > 0

    live = liveness(net)

    last = len(net.layers) - 1
    for (at, neuron), number in place.items():
        assert live.reached[at][neuron] == paths[: net.layers[0].width, number].any()
        assert live.used[at][neuron] == any(
            paths[number, place[last, k]] for k in range(net.layers[last].width)
        )


def test_a_neuron_without_sources_is_folded_into_biases() -> None:
    hidden = Layer(
        np.array([0.5, 2.0]), "relu", (0,), (np.ones((1, 2)),), (np.array([[True, False]]),)
    )
    net = Net((Layer(np.zeros(1)), hidden, dense([(1, np.array([[1.0], [3.0]]))], np.ones(1))))

    small = remove_dead(net)

    assert [one.width for one in small.layers] == [1, 1, 1]
    assert small.layers[-1].biases.tolist() == [7.0]


def test_a_chain_of_dead_layers_goes_as_a_whole() -> None:
    ends = np.zeros((2, 2))
    away = Layer(np.array([1.0, -1.0]), "tanh", (0,), (ends,), (ends > 0,))
    net = Net(
        (
            Layer(np.zeros(2)),
            away,
            dense([(1, np.ones((2, 3)))], np.zeros(3), "tanh"),
            dense([(0, np.eye(2)), (2, np.ones((3, 2)))], np.zeros(2)),
        )
    )

    small = remove_dead(net)

    assert [one.width for one in small.layers] == [2, 2]
    assert small.layers[1].biases == pytest.approx([0.0, 0.0])


def test_an_output_that_nothing_reaches_keeps_its_value() -> None:
    nothing = np.zeros((1, 1), dtype=bool)
    net = Net(
        (
            Layer(np.zeros(1)),
            Layer(np.array([4.0]), "identity", (0,), (np.ones((1, 1)),), (nothing,)),
        )
    )

    assert not connected(net)
    assert answer(as_dense(net), np.ones((2, 1))).tolist() == [[4.0], [4.0]]


def test_layers_that_sums_join_are_one_group() -> None:
    wide = np.zeros(2)
    net = Net(
        (
            Layer(np.zeros(3)),
            dense([(0, np.ones((3, 2)))], wide),
            dense([(0, np.ones((3, 2)))], wide),
            Layer(wide, "relu", (1, 2)),
            dense([(3, np.ones((2, 2)))], wide),
            Layer(wide, "relu", (3, 4)),
            dense([(5, np.ones((2, 1)))], np.zeros(1)),
        )
    )

    assert groups(net) == [[0], [1, 2, 3, 4, 5], [6]]
    assert free_groups(net) == [[1, 2, 3, 4, 5]]


def test_a_neuron_that_is_dead_on_one_side_of_a_sum_stays_aligned() -> None:
    half = np.array([[True, False]])
    net = Net(
        (
            Layer(np.zeros(1)),
            Layer(np.array([1.0, 5.0]), "identity", (0,), (np.ones((1, 2)),), (half,)),
            dense([(0, np.array([[2.0, 3.0]]))], np.zeros(2)),
            Layer(np.zeros(2), "identity", (1, 2)),
            dense([(3, np.ones((2, 1)))], np.zeros(1)),
        )
    )

    small = as_dense(net)

    assert [one.width for one in small.layers] == [1, 2, 2, 2, 1]
    assert answer(small, np.array([[1.0]])) == pytest.approx(np.array([[12.0]]))
