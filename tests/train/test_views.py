"""Looking at layers and neurons one by one."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.errors import InputError
from evener.train.loop import one_thread
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape
from evener.train.twin import Twin
from evener.train.views import Layer

SHAPE = Shape((3, 8, 6), ("sigmoid", "tanh"), Topology(shards=4, halo=1))
INPUTS = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
WANTED = torch.rand(5, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


def network(communicator: Communicator, *, keep_errors: bool = True) -> RankedNetwork:
    made = RankedNetwork(SHAPE, communicator, dtype=torch.float64, keep_errors=keep_errors)
    made.forward(INPUTS)
    made.compare(WANTED)
    return made


def layers(ranked: RankedNetwork) -> list[Layer]:
    return [Layer(ranked, index) for index in range(3)]


def test_layers_say_what_they_are() -> None:
    found = layers(network(Alone()))

    assert [layer.kind for layer in found] == ["input", "hidden", "output"]
    assert [layer.activation for layer in found] == ["identity", "sigmoid", "tanh"]
    assert [len(layer) for layer in found] == [len(layer.neurons) for layer in found] == [3, 8, 6]
    assert [neuron.index for neuron in found[1].neurons[2:4]] == [2, 3]


def test_a_neuron_s_figures_are_those_of_the_plain_network() -> None:
    ranked = network(Alone())
    twin = Twin(SHAPE, [ranked])
    ranked.step_down(0.0)
    hidden_sums = INPUTS @ twin.weights[0].T + twin.biases[0]
    hidden = torch.sigmoid(hidden_sums)
    answers = torch.tanh(hidden @ (twin.weights[1] * twin.masks[1]).T + twin.biases[1])
    loss = (answers - WANTED).square().sum() / 10
    by_sum, by_output = torch.autograd.grad(loss, [hidden_sums, hidden])

    for index, neuron in enumerate(layers(ranked)[1].neurons):
        np.testing.assert_allclose(neuron.output, hidden[:, index].detach(), rtol=1e-12)
        np.testing.assert_allclose(neuron.gradient, by_sum[:, index], rtol=1e-10)
        np.testing.assert_allclose(neuron.error, by_output[:, index], rtol=1e-10)
        assert neuron.bias == twin.biases[0][index]
        assert neuron.incoming == dict(enumerate(twin.weights[0][index].tolist()))
    np.testing.assert_array_equal(layers(ranked)[0].neurons[2].output, INPUTS[:, 2])


def test_weights_that_do_not_exist_are_not_shown() -> None:
    ranked = network(Alone())
    weight, mask = (
        one[0] for one in (Twin(SHAPE, [ranked]).weights[1:], Twin(SHAPE, [ranked]).masks[1:])
    )

    for index, neuron in enumerate(layers(ranked)[1].neurons):
        there = torch.nonzero(mask[:, index]).flatten().tolist()
        assert 0 < len(there) < 6
        assert neuron.outgoing == {row: weight[row, index].item() for row in there}


def test_every_rank_has_its_neurons_and_says_where_the_others_are() -> None:
    def program(communicator: Communicator) -> tuple[list[int], dict[int, float]]:
        neurons = layers(network(communicator))[1].neurons
        mine = [neuron.index for neuron in neurons if neuron.rank == communicator.rank]
        other = neurons[7 - 7 * communicator.rank]
        with pytest.raises(
            InputError,
            match=f"neuron {other.index} of layer 1 is on rank {1 - communicator.rank}, and this "
            f"is rank {communicator.rank}, which has {mine[0]} to {mine[-1]}: ask there",
        ):
            _ = other.output
        return mine, neurons[3].outgoing

    (first, some), (second, others) = run_ranks(2, program)

    assert first + second == list(range(8))
    assert some | others == layers(network(Alone()))[1].neurons[3].outgoing
    assert others
    assert not set(some) & set(others)


def test_what_a_neuron_does_not_have_is_refused() -> None:
    ranked = network(Alone())
    first, _, last = layers(ranked)

    with pytest.raises(InputError, match="neuron 1 of the input layer is given"):
        _ = first.neurons[1].bias
    with pytest.raises(InputError, match="neuron 2 of the output layer has no outgoing weights"):
        _ = last.neurons[2].outgoing
    with pytest.raises(IndexError):
        _ = last.neurons[6]


def test_errors_are_there_only_if_they_were_kept() -> None:
    with pytest.raises(InputError, match="errors are not kept: make the network with keep_errors"):
        _ = layers(network(Alone(), keep_errors=False))[1].neurons[0].error


def test_nothing_is_there_before_something_went_forward() -> None:
    ranked = RankedNetwork(SHAPE, Alone())

    with pytest.raises(InputError, match="nothing went forward yet"):
        _ = Layer(ranked, 1).neurons[0].output
