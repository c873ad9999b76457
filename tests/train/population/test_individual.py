"""What an individual is, and what it may not be."""

from typing import Any

import pytest

from evener.errors import InputError
from evener.train.population.individual import Individual


def test_links_come_in_the_order_in_which_they_are_computed() -> None:
    one = Individual(widths=(4, 3, 2, 1), links=((1, 3), (0, 2), (2, 3), (0, 1)))

    assert one.edges == ((0, 1), (0, 2), (1, 3), (2, 3))
    assert one.macs == 4 * 3 + 4 * 2 + 3 + 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"widths": (4,)}, r"nodes of \(4,\) neurons: give an input and an output"),
        ({"widths": (4, 0, 1)}, "1 neuron or more for each node"),
        ({"links": ((1, 1),)}, "a link from node 1 to node 1 of nodes 0 to 2"),
        ({"links": ((0, 3),)}, "a link from node 0 to node 3 of nodes 0 to 2"),
        ({"links": ((0, 2), (0, 2))}, "give each once"),
        ({"links": ((0, 1),)}, "no link leads to node 2, the output"),
        ({"learning_rate": 0.0}, "a learning rate of 0.0: give a number above 0"),
        ({"learning_rate": float("nan")}, "a learning rate of nan"),
        ({"momentum": 1.0}, "momentum 1.0: give 0 or more, and less than 1"),
        ({"dropout": -0.1}, "dropout -0.1: give 0 or more, and less than 1"),
        ({"weight_decay": -1.0}, "weight decay -1.0 and variances 2.0 of weights, 0.0 of biases"),
        ({"bias_variance": float("inf")}, "inf of biases: give numbers of 0 or more"),
    ],
)
def test_what_is_no_network_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Individual(**({"widths": (4, 2, 1)} | wrong))
