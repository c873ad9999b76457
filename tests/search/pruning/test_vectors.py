"""Pruning whole neurons."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.errors import InputError
from evener.search.pruning.dead import as_dense
from evener.search.pruning.joined import free_groups
from evener.search.pruning.layers import Layer, Net, answer, dense
from evener.search.pruning.vectors import PRESETS, Gradient, Neuron, cut, least, rank

Draw = Callable[[int, float], Net]
GradientsOf = Callable[[Net, np.ndarray, np.ndarray], list[Gradient]]


def task(net: Net) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    return rng.normal(size=(12, net.layers[0].width)), rng.normal(size=(12, net.layers[-1].width))


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 100_000),
    density=st.sampled_from([0.4, 1.0]),
    share=st.sampled_from([*PRESETS.values(), 1.0]),
)
def test_the_small_network_equals_the_one_that_was_cut(
    draw: Draw, gradients_of: GradientsOf, seed: int, density: float, share: float
) -> None:
    net = draw(seed, density)
    rows, wanted = task(net)

    neurons = least(net, rank(net, gradients_of(net, rows, wanted)), share)
    masked = cut(net, neurons)
    small = as_dense(masked)

    assert np.abs(answer(small, rows) - answer(masked, rows)).max() <= 1e-6
    widths = sum(one.width for one in small.layers)
    gone = sum(len(one.layers) for one in neurons)
    assert widths <= sum(one.width for one in net.layers) - gone


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 100_000))
def test_importance_is_the_first_order_change_of_the_loss(
    draw: Draw, gradients_of: GradientsOf, seed: int
) -> None:
    net = draw(seed, 1.0)
    rows, wanted = task(net)

    def loss(shrunk: float, neuron: Neuron) -> float:
        layers = list(net.layers)
        for index in neuron.layers:
            scale = np.ones(layers[index].width)
            scale[neuron.index] = 1 - shrunk
            layers[index] = replace(
                layers[index],
                biases=layers[index].biases * scale,
                weights=tuple(one * scale for one in layers[index].weights),
            )
        return float(((answer(Net(tuple(layers)), rows) - wanted) ** 2).sum() / 2 / len(rows))

    for neuron in rank(net, gradients_of(net, rows, wanted)):
        steep = (loss(1e-6, neuron) - loss(-1e-6, neuron)) / 2e-6
        assert neuron.importance == pytest.approx(abs(steep), rel=1e-3, abs=1e-5)


def test_neurons_that_a_sum_joins_go_together(gradients_of: GradientsOf) -> None:
    rng = np.random.default_rng(0)
    net = Net(
        (
            Layer(np.zeros(3)),
            dense([(0, rng.normal(size=(3, 4)))], np.zeros(4), "relu"),
            dense([(1, rng.normal(size=(4, 4)))], np.zeros(4), "relu"),
            Layer(np.zeros(4), "identity", (1, 2)),
            dense([(3, rng.normal(size=(4, 2)))], np.zeros(2)),
        )
    )
    rows, wanted = task(net)

    neurons = least(net, rank(net, gradients_of(net, rows, wanted)), PRESETS["half"])
    small = as_dense(cut(net, neurons))

    assert {one.layers for one in neurons} == {(1, 2, 3)}
    assert [one.width for one in small.layers] == [3, 2, 2, 2, 2]


def test_one_neuron_of_every_group_is_left(draw: Draw, gradients_of: GradientsOf) -> None:
    for seed in range(20):
        net = draw(seed, 1.0)
        ranked = rank(net, gradients_of(net, *task(net)))

        neurons = least(net, ranked, 1.0)

        left = len(ranked) - len(neurons)
        assert left == len(free_groups(net))


def test_the_least_important_go_first(draw: Draw, gradients_of: GradientsOf) -> None:
    net = draw(12, 1.0)
    ranked = rank(net, gradients_of(net, *task(net)))

    assert [one.importance for one in ranked] == sorted(one.importance for one in ranked)


def test_a_share_is_a_share() -> None:
    with pytest.raises(InputError, match=r"a share of 1\.5 of the neurons to prune"):
        least(Net((Layer(np.zeros(1)),)), [], 1.5)


def test_gradients_belong_to_layers() -> None:
    with pytest.raises(InputError, match="0 gradients for 1 layers: give one for each"):
        rank(Net((Layer(np.zeros(1)),)), [])
