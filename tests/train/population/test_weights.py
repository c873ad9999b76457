"""Weights to begin from."""

import numpy as np
import pytest

from evener.errors import InputError
from evener.train.population.individual import Individual
from evener.train.population.weights import Weights, check_weights, draw_weights

SKIPPING = Individual(
    widths=(300, 200, 400), links=((0, 1), (0, 2), (1, 2)), weight_variance=3.0, bias_variance=0.5
)


def test_the_variance_is_over_all_neurons_that_a_node_sees() -> None:
    drawn = draw_weights(SKIPPING)

    for (start, end), seen in {(0, 1): 300, (0, 2): 500, (1, 2): 500}.items():
        spread = drawn.links[start, end].var() * seen
        assert spread == pytest.approx(3.0, rel=0.03)  # five standard deviations
    assert drawn.biases[1].var() == pytest.approx(0.5, rel=0.36)


def test_sums_of_a_masked_relu_network_keep_their_size_if_the_variance_makes_up_for_it() -> None:
    density, widths = 0.25, (400,) * 11
    one = Individual(widths=widths, weight_variance=2 / density, seed=1)
    rng = np.random.default_rng(0)
    masks = {link: rng.random((400, 400)) < density for link in one.edges}
    values = rng.standard_normal((50, 400))

    for link, weights in draw_weights(one, masks).links.items():
        sums = values @ weights
        values = np.maximum(sums, 0) if link[1] < 10 else sums

    # At chi = 1 a layer keeps the mean square of sums, here 2 for inputs of 1.
    assert (values**2).mean() == pytest.approx(2.0, rel=0.5)


def test_an_individual_draws_the_same_whatever_else_it_has() -> None:
    fewer = Individual(widths=(300, 200, 400), links=((0, 1), (1, 2)), weight_variance=3.0)

    some, all_ = draw_weights(fewer), draw_weights(SKIPPING)

    np.testing.assert_array_equal(some.links[0, 1], all_.links[0, 1])
    np.testing.assert_allclose(some.links[1, 2], all_.links[1, 2] * (500 / 200) ** 0.5)


def test_masks_cut() -> None:
    mask = np.eye(300, 200, dtype=bool)

    drawn = draw_weights(SKIPPING, {(0, 1): mask})

    assert not drawn.links[0, 1][~mask].any()
    assert drawn.links[0, 1][mask].all()


def test_weights_of_another_network_are_refused() -> None:
    one = Individual(widths=(3, 2))
    fine = draw_weights(one)
    with pytest.raises(InputError, match=r"weights of links \[\] for an individual with links"):
        check_weights(one, Weights({}, fine.biases))
    with pytest.raises(InputError, match=r"weights of shape \(2, 3\) for the link from node 0"):
        check_weights(one, Weights({(0, 1): np.zeros((2, 3))}, fine.biases))
    with pytest.raises(
        InputError, match=r"biases of shapes \[\(3,\)\] for nodes of \(2,\) neurons"
    ):
        check_weights(one, Weights(fine.links, (np.zeros(3),)))
    with pytest.raises(InputError, match=r"masks of links \[\(0, 2\)\]"):
        draw_weights(one, {(0, 2): np.ones((3, 2), bool)})
    with pytest.raises(InputError, match=r"a mask of shape \(3, 3\) for the link from node 0"):
        draw_weights(one, {(0, 1): np.ones((3, 3), bool)})
