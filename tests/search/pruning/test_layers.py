"""Networks in plain arrays."""

import numpy as np
import pytest

from evener.errors import InvalidNetworkError
from evener.search.pruning.layers import Layer, Net, answer, dense

INPUT = Layer(np.zeros(2))


def test_a_residual_network_answers_as_its_formula() -> None:
    rng = np.random.default_rng(0)
    first, second, third = rng.normal(size=(2, 3)), rng.normal(size=(3, 3)), rng.normal(size=(3, 1))
    net = Net(
        (
            INPUT,
            dense([(0, first)], np.ones(3), "tanh"),
            dense([(1, second)], np.zeros(3), "gelu"),
            Layer(np.zeros(3), "relu", (1, 2)),
            dense([(3, third)], np.array([0.5]), "sigmoid"),
        )
    )
    rows = rng.normal(size=(5, 2))

    from scipy.special import expit, ndtr

    one = np.tanh(rows @ first + 1)
    two = one @ second
    joined = np.maximum(one + two * ndtr(two), 0)
    assert answer(net, rows) == pytest.approx(expit(joined @ third + 0.5))
    assert (net.links, net.weights) == (18, 18)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((), "a network begins with a layer without sources"),
        ((INPUT, Layer(np.zeros(2), "relu", (1,))), r"layer 1 gets values from layers \[1\]: name"),
        (
            (INPUT, Layer(np.zeros(3), "relu", (0,))),
            r"layer 1 adds up layers that are \[2\] neurons wide, and is 3 wide: make them equal",
        ),
        (
            (INPUT, dense([(0, np.ones((3, 1)))], np.zeros(1))),
            r"layer 1 needs weights and masks of shapes \[\(2, 1\)\] .* and has \[\(3, 1\)\]",
        ),
    ],
)
def test_what_does_not_fit_is_named(layers: tuple[Layer, ...], message: str) -> None:
    with pytest.raises(InvalidNetworkError, match=message):
        Net(layers)
