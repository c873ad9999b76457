"""Losses over the shards of all ranks."""

import math

import pytest
import torch

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.errors import InputError
from evener.train.activations import Activation
from evener.train.losses import LossName, make_loss
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape

INPUTS = torch.tensor([[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]])
WANTED = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("loss", ["squared", "cross-entropy"])
def test_ranks_without_outputs_learn_the_loss_too(loss: LossName) -> None:
    last: Activation = "softmax" if loss == "cross-entropy" else "identity"
    shape = Shape((2, 8, 2), ("tanh", last), Topology(shards=4, halo=2))

    def train(communicator: Communicator) -> float:
        network = RankedNetwork(shape, communicator, loss=loss)
        network.descend(INPUTS, WANTED, 0.1)
        return network.loss()

    alone = train(Alone())

    assert run_ranks(4, train) == [pytest.approx(alone)] * 4


def test_a_forward_pass_in_between_does_not_change_the_loss_of_the_step() -> None:
    network = RankedNetwork(Shape((2, 4, 2), ("tanh", "identity")), Alone())
    wanted = WANTED.clone()
    network.descend(INPUTS, wanted, 0.1)
    loss = network.loss()

    network.forward(-INPUTS)
    wanted.zero_()

    assert network.loss() == loss


def test_the_cross_entropy_of_what_is_most_improbable_is_a_number() -> None:
    loss = make_loss("cross-entropy", Alone(), [2])
    outputs = torch.tensor([[200.0], [0.0]])
    gradient = torch.empty(2, 1)

    loss.answer(outputs)
    loss.gradient(outputs, torch.tensor([[0.0], [1.0]]), gradient, 1)

    assert loss.value() == pytest.approx(200.0)
    assert gradient.tolist() == [[1.0], [-1.0]]
    assert math.isfinite(loss.value())


def test_another_loss_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="'hinge' is no loss; choose squared or cross-entropy"):
        make_loss("hinge", Alone(), [1])  # type: ignore[arg-type] # as a file may say


def test_a_layer_of_fewer_neurons_than_ranks_has_coarse_values() -> None:
    shape = Shape((12, 2, 10), ("tanh", "identity"), Topology(shards=4, halo=0, coarse=1))
    inputs = torch.ones(3, 12)

    def answer(communicator: Communicator) -> torch.Tensor:
        return RankedNetwork(shape, communicator).forward(inputs).clone()

    whole = answer(Alone())

    assert torch.allclose(torch.cat(run_ranks(4, answer)), whole)


def test_rows_that_go_back_from_shard_to_shard_are_read_one_by_one() -> None:
    shape = Shape(
        (3, 4, 6), ("tanh", "identity"), Topology(shards=8, halo=0, shuffle=True, input="sharded")
    )
    inputs = torch.arange(6.0).reshape(2, 3)

    def answer(communicator: Communicator) -> torch.Tensor:
        return RankedNetwork(shape, communicator).forward(inputs).clone()

    assert torch.allclose(torch.cat(run_ranks(4, answer)), answer(Alone()))
