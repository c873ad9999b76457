"""A sharded network on any number of ranks equals the plain network."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, get_args

import pytest
import torch

from evener.artifacts.topology import Halo, Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.timed import Timed
from evener.comm.virtual import run_ranks
from evener.errors import InputError
from evener.train.activations import Activation
from evener.train.carriage import Carriage
from evener.train.loop import one_thread
from evener.train.losses import LossName
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape
from evener.train.sharding import count_weights
from evener.train.twin import Twin

WIDTHS = (12, 40, 37, 50, 23)
TANH: tuple[Activation, ...] = ("tanh", "tanh", "tanh", "identity")
TOPOLOGIES = [
    Topology(shards=1),
    Topology(shards=8),
    Topology(shards=8, halo=0),
    Topology(shards=8, halo=1),
    Topology(shards=8, halo=2, input="sharded"),
    Topology(shards=8, halo=4, coarse=2),
    Topology(shards=8, halo=7, input="sharded"),
    Topology(shards=8, halo=1, shuffle=True),
    Topology(shards=8, halo=1, shuffle=True, coarse=1, input="sharded"),
    Topology(shards=30, halo=2),
]


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    """Compute with one thread: ranks take turns, and threads of idle ones would wait busily."""
    with one_thread():
        yield


def data(shape: Shape, rows: int = 7) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(rows, shape.widths[0], generator=generator, dtype=torch.float64)
    wanted = torch.rand(rows, shape.widths[-1], generator=generator, dtype=torch.float64)
    return inputs, wanted / wanted.sum(1, keepdim=True)


def on_ranks(ranks: int, program: Callable[[Communicator], Any]) -> list[Any]:
    return [program(Alone())] if ranks == 1 else run_ranks(ranks, program)


def trained(
    shape: Shape,
    ranks: int,
    *,
    steps: int = 20,
    dtype: torch.dtype = torch.float64,
    carriage: Carriage = "cheapest",
    rows: int = 7,
) -> tuple[Twin, Twin, list[float], list[float]]:
    """Train a network on ranks, and its twin; return both, and their losses."""
    inputs, wanted = data(shape, rows)
    loss: LossName = "cross-entropy" if shape.activations[-1] == "softmax" else "squared"

    def begin(communicator: Communicator) -> RankedNetwork:
        return RankedNetwork(shape, communicator, loss=loss, dtype=dtype, carriage=carriage)

    def train(communicator: Communicator) -> tuple[RankedNetwork, list[float]]:
        network = begin(communicator)
        losses = []
        for _ in range(steps):
            network.descend(inputs.to(dtype), wanted.to(dtype), 0.1)
            losses.append(network.loss())
        network.close()
        return network, losses

    plain = Twin(shape, on_ranks(ranks, begin))
    expected = [plain.descend(inputs, wanted, 0.1) for _ in range(steps)]
    found = on_ranks(ranks, train)
    return Twin(shape, [network for network, _ in found]), plain, found[0][1], expected


def assert_same(found: Twin, plain: Twin, tolerance: float) -> None:
    for ours, theirs, mask in zip(found.weights, plain.weights, plain.masks, strict=True):
        scale = theirs.abs().max()
        assert ((ours - theirs) * mask).abs().max() <= tolerance * scale
    for ours, theirs in zip(found.biases, plain.biases, strict=True):
        assert (ours - theirs).abs().max() <= tolerance


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_twenty_steps_end_in_the_weights_of_the_masked_dense_network(
    topology: Topology, ranks: int
) -> None:
    if topology.shards < ranks:
        pytest.skip("a rank has a shard or more")
    shape = Shape(WIDTHS, TANH, topology)

    found, plain, losses, expected = trained(shape, ranks)

    assert_same(found, plain, 1e-12)
    assert losses == pytest.approx(expected, rel=1e-12)
    assert sum(int(mask.sum()) for mask in plain.masks) == count_weights(topology, WIDTHS)


@pytest.mark.parametrize("topology", TOPOLOGIES[1:6], ids=str)
def test_in_single_precision_they_agree_to_its_rounding(topology: Topology) -> None:
    found, plain, _, _ = trained(Shape(WIDTHS, TANH, topology), 3, dtype=torch.float32)

    assert_same(found, plain, 1e-5)


@pytest.mark.parametrize("halo", ["full", 1, 3])
def test_sixty_four_ranks_agree_too(halo: Halo) -> None:
    shape = Shape((12, 130, 64, 70), ("tanh", "relu", "identity"), Topology(shards=64, halo=halo))

    found, plain, _, _ = trained(shape, 64, steps=2)

    assert_same(found, plain, 1e-12)


@pytest.mark.parametrize(
    ("activation", "last"),
    [*product(["sigmoid", "tanh", "relu", "gelu"], ["identity", "softmax"]), ("relu", "sigmoid")],
)
@pytest.mark.parametrize("ranks", [1, 2])
def test_every_activation_and_both_losses_agree(
    activation: Activation, last: Activation, ranks: int
) -> None:
    shape = Shape((5, 16, 12, 6), (activation, activation, last), Topology(shards=4, halo=1))

    found, plain, losses, expected = trained(shape, ranks)

    assert_same(found, plain, 1e-12)
    assert losses == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("carriage", get_args(Carriage))
def test_whatever_travels_between_ranks_the_network_is_the_same(
    carriage: Carriage, batch: int
) -> None:
    shape = Shape(WIDTHS, TANH, Topology(shards=4))

    found, plain, losses, expected = trained(shape, 3, carriage=carriage, rows=batch)

    assert_same(found, plain, 1e-12)
    assert losses == pytest.approx(expected, rel=1e-12)


def test_the_cheapest_adds_up_sums_where_a_layer_is_narrower_than_the_one_before() -> None:
    widths = (20, 40, 24, 36, 36, 12)

    def layers(communicator: Communicator, carriage: Carriage = "cheapest") -> list[bool]:
        shape = Shape(widths, ("tanh",) * 5, Topology(shards=4))
        return RankedNetwork(shape, communicator, carriage=carriage).summed

    assert run_ranks(2, layers)[0] == [False, True, False, False, True]
    assert run_ranks(2, partial(layers, carriage="sums"))[0] == [False, True, True, True, True]
    assert run_ranks(2, partial(layers, carriage="gather"))[0] == [False] * 5
    assert layers(Alone()) == [False] * 5


def test_fewer_bytes_travel_by_the_cheapest_than_by_gathering() -> None:
    shape = Shape((8, 64, 16, 4), ("tanh", "tanh", "identity"), Topology(shards=4))
    inputs, wanted = data(shape)

    def sent(communicator: Communicator, carriage: Carriage) -> int:
        timed = Timed(communicator)
        network = RankedNetwork(shape, timed, carriage=carriage)
        timed.sent_bytes = 0
        network.descend(inputs.float(), wanted.float(), 0.1)
        return timed.sent_bytes

    by_gathering = run_ranks(2, partial(sent, carriage="gather"))
    cheapest = run_ranks(2, partial(sent, carriage="cheapest"))

    # Two ranks, four bytes a number, and seven rows, forth and back.
    assert by_gathering == [4 * 7 * 2 * (32 + 8)] * 2
    assert cheapest == [4 * 7 * 2 * (8 + 2)] * 2


@pytest.mark.parametrize("topology", TOPOLOGIES[2:5], ids=str)
def test_the_number_of_ranks_does_not_change_a_bit(topology: Topology) -> None:
    shape = Shape(WIDTHS, TANH, topology)

    ends = [trained(shape, ranks, dtype=torch.float32)[0] for ranks in (1, 2, 4)]

    for other in ends[1:]:
        for mine, theirs in zip(ends[0].weights, other.weights, strict=True):
            assert torch.equal(mine, theirs)


@pytest.mark.parametrize("widths", [(6, 20, 17, 24, 9), (40, 61, 73, 50, 47)])
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize(
    "topology",
    [
        Topology(shards=6, halo=1),
        Topology(shards=6, halo=2, input="sharded"),
        Topology(shards=6, halo=2, coarse=1, shuffle=True),
        Topology(shards=6, halo=40),
    ],
    ids=str,
)
def test_nor_does_it_where_shards_are_uneven_and_several_see_a_neuron(
    topology: Topology, batch: int, widths: tuple[int, ...]
) -> None:
    shape = Shape(widths, ("sigmoid", "gelu", "relu", "softmax"), topology)
    inputs, wanted = (table.float() for table in data(shape, rows=batch))

    def train(communicator: Communicator) -> tuple[RankedNetwork, float]:
        network = RankedNetwork(shape, communicator, loss="cross-entropy")
        for _ in range(4):
            network.descend(inputs, wanted, 0.1)
        return network, network.loss()

    one, *others = (on_ranks(ranks, train) for ranks in (1, 2, 5, 6))

    ends = Twin(shape, [network for network, _ in one])
    for found in others:
        other = Twin(shape, [network for network, _ in found])
        assert [loss for _, loss in found] == [one[0][1]] * len(found)
        for mine, theirs in zip(
            [*ends.weights, *ends.biases], [*other.weights, *other.biases], strict=True
        ):
            assert torch.equal(mine, theirs)


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)
def test_one_row_at_a_time_agrees_too(topology: Topology) -> None:
    shape = Shape(WIDTHS, TANH, topology)
    inputs, wanted = data(shape, rows=1)
    network = RankedNetwork(shape, Alone(), dtype=torch.float64)
    plain = Twin(shape, [network])

    for _ in range(5):
        network.descend(inputs, wanted, 0.1)
        plain.descend(inputs, wanted, 0.1)

    assert_same(Twin(shape, [network]), plain, 1e-12)


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)
def test_gradients_are_those_of_finite_differences(topology: Topology) -> None:
    shape = Shape((6, 32, 33, 30), ("tanh", "sigmoid", "identity"), topology)
    inputs, wanted = data(shape, rows=3)
    network = RankedNetwork(shape, Alone(), dtype=torch.float64)
    gradients = network.gradients(inputs, wanted)
    rng = torch.Generator().manual_seed(1)

    for layer, of_runs in zip(network.layers, gradients, strict=True):
        run = layer.runs[0]
        for param, gradient in zip((run.weight, run.bias), of_runs[0], strict=True):
            at = int(torch.randint(param.numel(), (1,), generator=rng))
            values = []
            for change in (1e-5, -2e-5, 1e-5):
                param.view(-1)[at] += change
                network.gradients(inputs, wanted)
                values.append(network.loss())
            slope = (values[0] - values[1]) / 2e-5
            assert gradient.reshape(-1)[at].item() == pytest.approx(slope, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("topology", [TOPOLOGIES[1], TOPOLOGIES[4], TOPOLOGIES[8]], ids=str)
def test_gradients_that_cross_ranks_are_those_of_finite_differences(topology: Topology) -> None:
    shape = Shape((16, 32, 33, 30), ("tanh", "sigmoid", "identity"), topology)
    inputs, wanted = data(shape, rows=3)
    step = 1e-5

    def check(communicator: Communicator) -> list[tuple[float, float]]:
        """Move a weight of the first layer of each rank in turn: its gradient came by exchanges."""
        network = RankedNetwork(shape, communicator, dtype=torch.float64)
        gradient = network.gradients(inputs, wanted)[0][0][0].reshape(-1)
        at = int(gradient.abs().argmax())
        found = []
        for rank in range(communicator.size):
            losses = []
            for change in (step, -2 * step, step):
                if rank == communicator.rank:
                    network.layers[0].runs[0].weight.view(-1)[at] += change
                network.gradients(inputs, wanted)
                losses.append(network.loss())
            if rank == communicator.rank:
                found.append((float(gradient[at]), (losses[0] - losses[1]) / (2 * step)))
        network.close()
        return found

    for ours in run_ranks(3, check):
        ((gradient, slope),) = ours
        assert gradient == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (lambda: Shape((3,), ()), "a network has an input and an output"),
        (lambda: Shape((3, 0, 2), ("tanh", "tanh")), "every layer has 1 neuron or more"),
        (lambda: Shape((3, 4, 2), ("tanh",)), "1 activations for 2 layers"),
        (
            lambda: Shape((3, 4), ("cosine",)),  # type: ignore[arg-type] # as a file may say
            "'cosine' is no activation",
        ),
        (lambda: Shape((3, 4, 2), ("softmax", "tanh")), "softmax stands at the end"),
    ],
)
def test_what_is_no_network_is_refused(shape: Callable[[], Shape], message: str) -> None:
    with pytest.raises(InputError, match=message):
        shape()
