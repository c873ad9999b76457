"""An individual whose links masks cut is the network that shards train."""

import numpy as np
import pytest
import torch

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.train.activations import Activation
from evener.train.population.answers import answer_population
from evener.train.population.divided import draw_divided, masks_of
from evener.train.population.individual import Individual
from evener.train.population.weights import Weights
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape
from evener.train.twin import Twin
from evener.train.views import parts

WIDTHS = (12, 40, 37, 50, 23)
TOPOLOGIES = [
    Topology(shards=8, halo=1),
    Topology(shards=2, halo=0),
    Topology(shards=30, halo=2),
    Topology(shards=3, halo=9),
    Topology(shards=8, halo=1, input="sharded"),
    Topology(shards=4, halo=2, shuffle=True),
    Topology(),
]
each = pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)


def network_of(topology: Topology, widths: tuple[int, ...] = WIDTHS) -> RankedNetwork:
    gelu: Activation = "gelu"
    hidden = (gelu,) * (len(widths) - 2)
    shape = Shape(widths, (*hidden, "identity"), topology)
    return RankedNetwork(shape, Alone(), loss="squared")


@each
def test_the_weights_there_are_are_those_of_the_shards(topology: Topology) -> None:
    network = network_of(topology)
    twin = Twin(network.shape, [network])

    masks = masks_of(topology, WIDTHS)

    for layer, expected in enumerate(twin.masks, 1):
        whole = np.ones((WIDTHS[layer - 1], WIDTHS[layer]), bool)
        np.testing.assert_array_equal(masks.get((layer - 1, layer), whole), expected.numpy().T > 0)
        if (layer - 1, layer) in masks:
            assert not masks[layer - 1, layer].all()


@each
def test_with_the_same_weights_it_answers_as_the_shards_do(topology: Topology) -> None:
    individual = Individual(widths=WIDTHS, activation="gelu", bias_variance=0.1, seed=3)
    drawn = draw_divided(individual, masks_of(topology, WIDTHS))
    network = network_of(topology)
    for layer in range(1, len(WIDTHS)):
        for neurons, columns, weight_MC, bias_M in parts(network, layer):
            own = drawn.links[layer - 1, layer][columns, neurons.start : neurons.stop]
            weight_MC.copy_(torch.from_numpy(own.T))
            bias_M.copy_(torch.from_numpy(drawn.biases[layer - 1])[neurons.start : neurons.stop])
    rows = torch.randn(9, WIDTHS[0], generator=torch.Generator().manual_seed(0))

    found = network.forward(rows).T

    [expected] = answer_population([individual], [drawn], rows, "squared")
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert expected.std() > 0.1


def test_the_sums_of_few_inputs_vary_as_much_as_those_of_many() -> None:
    widths = (300, 600, 600, 600, 600)
    rows = torch.randn(40, widths[0], generator=torch.Generator().manual_seed(0))
    individual = Individual(widths=widths, activation="relu", weight_variance=2.0)

    whole, divided = (
        answer_population([individual], [draw_divided(individual, masks)], rows, "squared")[0]
        for masks in ({}, masks_of(Topology(shards=6, halo=5), widths))
    )

    assert float(divided.std()) == pytest.approx(float(whole.std()), rel=0.1)


def test_what_is_not_divided_is_drawn_as_any() -> None:
    individual = Individual(widths=(4, 6, 3), seed=5)
    drawn: Weights = draw_divided(individual, masks_of(None, individual.widths))

    assert not drawn.masks
    assert drawn.links[0, 1].shape == (4, 6)
