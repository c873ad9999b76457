"""The paper's layout does what its Algorithm 1 says, equals its twin, and misses the gradient."""

from collections.abc import Iterator

import pytest
import torch

from evener.artifacts.topology import Halo, Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.errors import InputError
from evener.train.loop import one_thread
from evener.train.paper import PaperNetwork, ring_neighbours
from evener.train.paper_twin import CutOffTwin, paper_shape
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape
from evener.train.sharding import count_weights

WIDTHS = (12, 40, 37, 50, 23)


@pytest.fixture(autouse=True)
def single() -> Iterator[None]:
    with one_thread():
        yield


def data(widths: tuple[int, ...] = WIDTHS, rows: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(rows, widths[0], generator=generator, dtype=torch.float64)
    return inputs, torch.rand(rows, widths[-1], generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("ranks", [2, 3, 5, 9])
def test_steps_of_the_ranks_are_those_of_the_sequential_twin(ranks: int) -> None:
    inputs, wanted = data()
    twin = CutOffTwin(paper_shape(WIDTHS, ranks - 1, seed=7))
    expected = [twin.descend(inputs, wanted, 0.5) for _ in range(10)]

    def program(communicator: Communicator) -> tuple[PaperNetwork, list[float | None]]:
        network = PaperNetwork(WIDTHS, communicator, seed=7, dtype=torch.float64)
        losses = [network.descend(inputs, wanted, 0.5) for _ in range(10)]
        network.close()
        return network, losses

    (_, losses), *workers = run_ranks(ranks, program)

    assert losses == pytest.approx(expected, rel=1e-12)
    for network, told in workers:
        assert told == [None] * 10
        for layer, weight, bias in zip(
            network.layers, twin.twin.weights, twin.twin.biases, strict=True
        ):
            theirs = weight[layer.rows][:, layer.seen]
            assert (layer.weight - theirs).abs().max() <= 1e-12
            assert (layer.bias[:, 0] - bias[layer.rows]).abs().max() <= 1e-12


@pytest.mark.parametrize("ranks", [2, 5])
def test_every_rank_knows_the_whole_output_which_is_that_of_a_halo_of_one(ranks: int) -> None:
    inputs, _ = data()
    expected = RankedNetwork(paper_shape(WIDTHS, ranks - 1), Alone(), dtype=torch.float64).forward(
        inputs
    )

    outputs = run_ranks(
        ranks, lambda one: PaperNetwork(WIDTHS, one, dtype=torch.float64).forward(inputs)
    )

    for output in outputs:
        assert (output - expected).abs().max() <= 1e-15


@pytest.mark.parametrize("ranks", [2, 5, 9, 33])
def test_the_workers_have_the_weights_that_the_tables_count(ranks: int) -> None:
    small = (3, 64, 128, 256, 64)

    networks = run_ranks(ranks, lambda one: PaperNetwork(small, one))

    found = sum(layer.weight.numel() for network in networks for layer in network.layers)
    assert found == count_weights(paper_shape(small, ranks - 1).topology, small)
    assert not networks[0].layers


def test_messages_go_where_the_three_cases_say() -> None:
    """Each neuron's value is its number; so ghosts tell whose they are."""

    def program(communicator: Communicator) -> list[list[float]]:
        network = PaperNetwork((3, 12, 12, 8), communicator)
        inputs = torch.zeros(1, 3)
        for layer in network.layers:
            numbers = torch.arange(layer.rows.start, layer.rows.stop) / 100
            layer.weight.zero_()
            layer.bias[:, 0] = torch.logit(numbers + 0.01)
        network.forward(inputs)
        hidden = network._work_of(inputs).values[:-1]
        return [(100 * values[:, 0] - 1).round().tolist() for values in hidden]

    found = run_ranks(5, program)

    assert found[0] == []
    assert found[1] == [[11, 0, 1, 2, 3]] * 2  # case 1: ghostTop is the last neuron of all
    assert found[2] == [[2, 3, 4, 5, 6]] * 2  # case 3
    assert found[3] == [[5, 6, 7, 8, 9]] * 2
    assert found[4] == [[8, 9, 10, 11, 0]] * 2  # case 2: ghostBottom is the first one


def test_neighbours_are_each_others() -> None:
    for ranks in (3, 4, 9):
        for rank in range(1, ranks):
            before, after = ring_neighbours(rank, ranks)
            assert ring_neighbours(before, ranks)[1] == rank
            assert ring_neighbours(after, ranks)[0] == rank


def test_one_worker_has_the_gradient_of_the_loss_and_more_workers_have_not() -> None:
    inputs, wanted = data()

    assert CutOffTwin(paper_shape(WIDTHS, 1)).error(inputs, wanted) <= 1e-15
    assert CutOffTwin(paper_shape(WIDTHS, 4)).error(inputs, wanted) > 0.01


def test_the_wider_the_halo_the_more_a_cut_off_gradient_misses() -> None:
    halos: tuple[Halo, ...] = (0, 1, 2, 4, "full")
    shapes = [Shape(WIDTHS, ("sigmoid",) * 4, Topology(shards=4, halo=halo)) for halo in halos]

    none, *errors = [CutOffTwin(shape).error(*data()) for shape in shapes]

    assert none <= 1e-15
    assert errors == sorted(errors)
    assert errors == pytest.approx([0.0356, 0.0565, 0.0843, 0.1110], abs=5e-4)


@pytest.mark.parametrize(
    ("widths", "ranks", "message"),
    [
        ((3, 4, 2), 1, "rank 0 is the master and computes nothing; start 2 or more"),
        ((3, 8, 2), 5, "4 workers and a layer of 2 neurons: .* start 3 ranks or fewer"),
        ((3, 3, 2), 3, "2 workers and a hidden layer of 3 neurons"),
    ],
)
def test_layers_that_cannot_be_shared_are_refused(
    widths: tuple[int, ...], ranks: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run_ranks(ranks, lambda one: PaperNetwork(widths, one))
