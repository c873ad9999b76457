"""Steps that are held back from large matrices come to what plain steps come to."""

from collections.abc import Iterator

import pytest
import torch

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.train.activations import Activation
from evener.train.carriage import Carriage
from evener.train.loop import one_thread
from evener.train.one_row import STEPS_HELD, Matrix, OneRow
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape
from evener.train.twin import Twin

# Large enough that some layers' steps are held back, and a last one whose are not.
WIDTHS = (600, 1024, 1030, 30)
TANH: tuple[Activation, ...] = ("tanh", "tanh", "identity")
TOPOLOGIES = [
    Topology(),
    Topology(shards=2, halo=1),
    Topology(shards=16, halo=1),
    Topology(shards=2, halo=3, input="sharded"),
    Topology(shards=2, halo=1, shuffle=True, coarse=2),
    Topology(shards=2, halo=600),
]


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


def rows(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(count, WIDTHS[0], generator=generator, dtype=torch.float64)
    return inputs, torch.rand(count, WIDTHS[-1], generator=generator, dtype=torch.float64)


def deviation(found: Twin, plain: Twin) -> float:
    pairs = zip([*found.weights, *found.biases], [*plain.weights, *plain.biases], strict=True)
    return max(float((ours - theirs).detach().abs().max()) for ours, theirs in pairs)


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)
@pytest.mark.parametrize("steps", [3, STEPS_HELD + 5])
def test_weights_are_those_of_the_plain_network(topology: Topology, steps: int) -> None:
    shape = Shape(WIDTHS, TANH, topology)
    inputs, wanted = rows(steps)
    network = RankedNetwork(shape, Alone(), dtype=torch.float64)
    assert any(run.held for layer in network.layers for run in layer.runs)
    plain = Twin(shape, [network])

    for row, answer in zip(inputs, wanted, strict=True):
        network.descend(row[None], answer[None], 0.01)
        expected = plain.descend(row[None], answer[None], 0.01)
        assert network.loss() == pytest.approx(expected, rel=1e-11)

    assert deviation(Twin(shape, [network]), plain) <= 1e-13


@pytest.mark.parametrize("topology", TOPOLOGIES[1:], ids=str)
def test_the_number_of_ranks_does_not_change_a_bit(topology: Topology) -> None:
    shape = Shape(WIDTHS, TANH, topology)
    inputs, wanted = (table.float() for table in rows(STEPS_HELD + 5))

    def train(communicator: Communicator) -> RankedNetwork:
        network = RankedNetwork(shape, communicator)
        for row, answer in zip(inputs, wanted, strict=True):
            network.descend(row[None], answer[None], 0.01)
        network.close()
        return network

    assert deviation(Twin(shape, [train(Alone())]), Twin(shape, run_ranks(2, train))) == 0


@pytest.mark.parametrize("carriage", ["gather", "sums"])
def test_a_dense_network_on_two_ranks_agrees_too(carriage: Carriage) -> None:
    shape = Shape(WIDTHS, TANH, Topology(shards=2))
    inputs, wanted = rows(STEPS_HELD + 5)

    def train(communicator: Communicator) -> RankedNetwork:
        network = RankedNetwork(shape, communicator, dtype=torch.float64, carriage=carriage)
        for row, answer in zip(inputs, wanted, strict=True):
            network.descend(row[None], answer[None], 0.01)
        network.close()
        return network

    plain = Twin(shape, [RankedNetwork(shape, Alone(), dtype=torch.float64)])
    for row, answer in zip(inputs, wanted, strict=True):
        plain.descend(row[None], answer[None], 0.01)

    assert deviation(Twin(shape, run_ranks(2, train)), plain) <= 1e-13


@pytest.mark.parametrize("topology", TOPOLOGIES[:2], ids=str)
def test_batches_and_gradients_between_see_all_steps(topology: Topology) -> None:
    shape = Shape(WIDTHS, TANH, topology)
    inputs, wanted = rows(6)
    network = RankedNetwork(shape, Alone(), dtype=torch.float64)
    plain = Twin(shape, [network])

    for first, last in ((0, 1), (1, 2), (2, 5), (5, 6)):
        network.descend(inputs[first:last], wanted[first:last], 0.01)
        plain.descend(inputs[first:last], wanted[first:last], 0.01)
    one = network.gradients(inputs[:1], wanted[:1])
    answers = network.forward(inputs).clone()

    other = RankedNetwork(shape, Alone(), dtype=torch.float64)
    other.parameters.flat.copy_(network.parameters.flat)
    again = other.gradients(inputs[:1], wanted[:1])
    assert deviation(Twin(shape, [network]), plain) <= 1e-13
    torch.testing.assert_close(answers, other.forward(inputs), rtol=0, atol=0)
    for mine, theirs in zip(one, again, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-15)


def test_a_step_that_is_held_is_in_the_products_before_it_is_in_the_weights() -> None:
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    seen, out, gradient = torch.tensor([1.0, -1.0]), torch.zeros(2), torch.tensor([2.0, 4.0])
    back = torch.zeros(2)
    row = OneRow([Matrix(weight, torch.zeros(2), out, gradient)], seen, back, held=True)

    row.descend(0.5)
    seen.copy_(torch.tensor([1.0, 1.0]))
    row.forward()
    row.back()

    assert weight.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert out.tolist() == [3.0, 7.0]  # the step cancels over this input
    assert back.tolist() == [2 * 0 + 4 * 1, 2 * 3 + 4 * 6]
    row.settle()
    assert weight.tolist() == [[0.0, 3.0], [1.0, 6.0]]
    row.forward()
    assert out.tolist() == [3.0, 7.0]
