"""Connecting a network again."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evener.errors import InvalidNetworkError
from evener.search.pruning.dead import connected
from evener.search.pruning.layers import Layer, Net
from evener.search.pruning.repair import repaired

Draw = Callable[[int, float], Net]


def layer(source: int, mask: list[list[int]], weights: list[list[float]] | None = None) -> Layer:
    links = np.array(mask, dtype=bool)
    size = np.ones(links.shape) if weights is None else np.array(weights)
    return Layer(np.zeros(links.shape[1]), "tanh", (source,), (size,), (links,))


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 100_000), density=st.sampled_from([0.0, 0.1, 0.2]))
def test_a_repaired_network_is_connected_and_keeps_its_links(
    draw: Draw, seed: int, density: float
) -> None:
    net = draw(seed, density)
    full = draw(seed, 1.0)
    assume(connected(full))

    whole = repaired(net)

    assert whole is not None
    assert connected(whole)
    assert (whole is net) == connected(net)
    for old, new in zip(net.layers, whole.layers, strict=True):
        assert all((one <= two).all() for one, two in zip(old.masks, new.masks, strict=True))
    assert whole.links - net.links <= len(net.layers) - 1


def test_one_link_is_added_where_one_is_enough_and_the_heaviest_of_equal_ones() -> None:
    net = Net(
        (
            Layer(np.zeros(2)),
            layer(0, [[1, 0], [0, 0]]),
            layer(1, [[0, 0], [0, 1]], [[0.1, -0.9], [0.5, 0.2]]),
        )
    )

    whole = repaired(net)

    assert whole is not None
    assert whole.links == net.links + 1
    assert whole.layers[2].masks[0].tolist() == [[False, True], [False, True]]


def test_fewer_links_are_better_than_heavier_ones() -> None:
    net = Net(
        (
            Layer(np.zeros(1)),
            layer(0, [[0]], [[100.0]]),
            layer(1, [[0]], [[100.0]]),
            Layer(
                np.zeros(1),
                "tanh",
                (2, 0),
                (np.array([[100.0]]), np.array([[1e-3]])),
                (np.array([[True]]), np.array([[False]])),
            ),
        )
    )

    whole = repaired(net)

    assert whole is not None
    assert whole.layers[3].masks[1].tolist() == [[True]]
    assert whole.links == 2


def test_a_network_may_be_condemned_instead() -> None:
    net = Net((Layer(np.zeros(1)), layer(0, [[0]])))

    assert repaired(net, "condemn") is None


def test_a_network_that_no_link_can_connect_is_named() -> None:
    net = Net((Layer(np.zeros(1)), Layer(np.ones(1))))

    with pytest.raises(InvalidNetworkError, match="no layers lead from the input to layer 1"):
        repaired(net)
