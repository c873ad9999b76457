"""What an iteration is predicted to take: by hand where weights and values take a second each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.calibration import Calibration, Link, Rate
from evener.artifacts.topology import Halo, Topology
from evener.comm.communicator import Array, Exchange
from evener.comm.virtual import VirtualRank, run_ranks
from evener.errors import InputError
from evener.train.activations import Activation
from evener.train.cost_model import IterationCost, iteration_cost, weight_bytes
from evener.train.loop import one_thread
from evener.train.losses import LossName
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape

# To read a weight takes a second, and to update one another; products take no time.
CORE = Calibration(
    processor="slow",
    updates=(Rate(1.0, 8.0),),
    reads=(Rate(1.0, 4.0),),
    products=(Rate(1.0, 1e30),),
    dense_layer_s=0.0,
    sharded_layer_s=0.0,
    shard_s=0.0,
)
# A value of one row takes a second, and a message ten of them before.
LINK = Link(name="post", latency_s=10.0, gap_s=3.0, bandwidth_bytes_per_s=4.0)


def shape(*widths: int, topology: Topology, last: Activation = "identity") -> Shape:
    hidden: list[Activation] = ["tanh"] * (len(widths) - 2)
    return Shape(widths, (*hidden, last), topology)


def test_one_rank_reads_its_weights_twice_and_updates_them() -> None:
    cost = iteration_cost(shape(3, 4, 5, topology=Topology()), CORE, batch=2)

    forward, back, updates = 12 + 20, 20, 12 + 20
    assert cost.iteration_s == forward + back + updates
    assert (cost.compute_s, cost.communication_max_s, cost.bytes_per_iteration) == (84.0, 0.0, 0)
    assert cost.weights == 32
    assert cost.communication_share == 0.0


def test_steps_of_one_row_are_written_to_large_layers_once_in_many() -> None:
    core = msgspec.structs.replace(CORE, products=(Rate(1.0, 1.0), Rate(32.0, 16.0)))
    weights = 512 * 1024
    both = (Topology(), Topology(shards=4, halo=0))
    shapes = [shape(512, 1024, 4, topology=one) for one in both]

    dense, sharded = (iteration_cost(one, CORE).iteration_s for one in shapes)
    by_products = iteration_cost(shapes[0], core).iteration_s

    small, few = 4096, 4096 // 4
    assert dense == weights * (1 + 1 / 32) + small * 3
    assert sharded == weights * (1 + 1 / 32) + few * 3
    assert by_products == weights * (2 + 1 / 32 + 2 / 16) + small * 6


def test_the_bound_is_the_time_in_which_weights_pass_through_memory() -> None:
    cost = iteration_cost(shape(3, 4, 5, topology=Topology()), CORE)

    assert cost.bound_s == weight_bytes([12, 20]) / 8.0 == (4 * 4 * 32 - 4 * 12) / 8.0


def test_many_rows_take_as_long_as_their_products() -> None:
    core = msgspec.structs.replace(CORE, products=(Rate(1.0, 1.0), Rate(100.0, 100.0)))

    cost = iteration_cost(shape(3, 4, 5, topology=Topology()), core, batch=100)

    assert cost.iteration_s == pytest.approx(2 * (32 + 20 + 32))


def test_every_layer_costs_its_calls() -> None:
    core = msgspec.structs.replace(CORE, dense_layer_s=0.5, sharded_layer_s=7.0)

    dense = iteration_cost(shape(3, 4, 5, topology=Topology()), core)
    sharded = iteration_cost(shape(3, 4, 5, topology=Topology(shards=4, halo=0)), core)
    without = iteration_cost(shape(3, 4, 5, topology=Topology(shards=4, halo=0)), CORE)

    assert dense.iteration_s == 84 + 2 * 0.5
    assert sharded.iteration_s == without.iteration_s + 2 * 7.0


def test_with_one_row_every_shard_of_a_rank_is_a_product_of_its_own() -> None:
    core = msgspec.structs.replace(CORE, shard_s=1.5)
    network = shape(3, 4, 5, topology=Topology(shards=4, halo=0))

    def beyond_core(batch: int, ranks: int) -> float:
        known, without = (
            iteration_cost(network, of, batch=batch, ranks=ranks, link=LINK) for of in (core, CORE)
        )
        return known.iteration_s - without.iteration_s

    assert beyond_core(1, 1) == 2 * 4 * 1.5
    assert beyond_core(1, 4) == 2 * 1.5
    assert beyond_core(2, 1) == 0.0


def test_dense_ranks_gather_values_and_scatter_sums() -> None:
    network = shape(2, 4, 2, topology=Topology(shards=2))

    cost = iteration_cost(network, CORE, ranks=2, link=LINK, carriage="gather")

    forward, gathering, scattering = 4 + 4, 10 + 2, 10 + 2
    assert cost.iteration_s == forward + gathering + scattering + 4 + (4 + 4)
    assert cost.communication_max_s == cost.communication_mean_s == 24
    assert cost.bytes_per_iteration == 2 * 2 * 2 * 4
    assert cost.communication_share == 24 / 44


def test_sums_travel_where_a_layer_is_narrower_and_cost_the_less() -> None:
    network = shape(2, 4, 2, topology=Topology(shards=2))

    cost = iteration_cost(network, CORE, ranks=2, link=LINK)

    assert cost.communication_max_s == (10 + 1) + (10 + 1)
    assert cost.bytes_per_iteration == 2 * 2 * 1 * 4
    assert cost.weights == 16


def test_broadcasts_go_one_after_the_other() -> None:
    four = shape(4, 8, 4, topology=Topology(shards=4))

    cost = iteration_cost(four, CORE, ranks=4, link=LINK, carriage="broadcast")

    scattering = 10 + 2 * 3 + 6  # of gradients: a broadcast adds nothing up
    assert cost.communication_max_s == 4 * (2 * (10 + 2)) + scattering


def test_a_halo_takes_a_message_from_each_neighbour() -> None:
    ring = shape(3, 6, 6, topology=Topology(shards=3, halo=1))

    cost = iteration_cost(ring, CORE, ranks=3, link=LINK)

    assert cost.communication_max_s == 2 * (10 + 3 + 2)
    assert cost.bytes_per_iteration == 2 * 3 * 2 * 4


def test_gradients_that_more_than_two_shards_add_up_to_travel_in_double_precision() -> None:
    def received(halo: int) -> int:
        ring = shape(3, 6, 6, topology=Topology(shards=6, halo=halo))
        return iteration_cost(ring, CORE, ranks=6, link=LINK).bytes_per_iteration

    assert received(1) == 6 * 2 * (4 + 8)  # a neuron is seen by its own shard and by two others
    assert received(2) == 6 * 4 * (4 + 8)


def test_ranks_wait_for_those_that_have_more() -> None:
    # Of 5 neurons the second rank has 3, and each sees 4 of 2 + 2.
    uneven = shape(4, 4, 5, 4, topology=Topology(shards=2, halo=0, coarse=1))
    even = shape(4, 4, 4, 4, topology=Topology(shards=2, halo=0, coarse=1))

    waiting = iteration_cost(uneven, CORE, ranks=2, link=LINK)
    without = iteration_cost(even, CORE, ranks=2, link=LINK)

    assert without.communication_max_s == without.communication_mean_s
    assert waiting.communication_max_s > waiting.communication_mean_s


def test_copies_share_the_rows_and_add_their_gradients() -> None:
    plain = shape(3, 4, 5, topology=Topology())

    cost = iteration_cost(plain, CORE, ranks=2, replicas=2, batch=4, link=LINK)

    computing = 32 + 20 + 32 + 32  # the last are gradients that are kept
    adding = 2 * 10 + 32
    assert cost.iteration_s == computing + adding
    assert cost.bytes_per_iteration == 2 * 32 * 4


class Counting:
    """A rank that counts the bytes that it receives from others."""

    def __init__(self, rank: VirtualRank) -> None:
        self._rank = rank
        self.rank, self.size = rank.rank, rank.size
        self.received = 0

    def open_exchange(
        self, name: str, sends: Mapping[int, Array], receives: Mapping[int, Array]
    ) -> "_Counted":
        opened = self._rank.open_exchange(name, sends, receives)
        return _Counted(opened, self, sum(array.nbytes for array in receives.values()))

    def all_gather(self, part: Array, parts: Sequence[Array]) -> None:
        self._rank.all_gather(part, parts)
        self.received += sum(one.nbytes for one in parts) - part.nbytes

    def reduce_scatter(self, parts: Sequence[Array], total: Array) -> None:
        self._rank.reduce_scatter(parts, total)
        self.received += total.nbytes * (self.size - 1)

    def broadcast(self, array: Array, *, root: int) -> None:  # noqa: ARG002 - never called
        raise AssertionError("training broadcasts nothing")

    def barrier(self) -> None:
        raise AssertionError("training has no barrier")

    def split(self, colour: int) -> "Counting":  # noqa: ARG002 - never called
        raise AssertionError("one copy of a network is not divided")

    def close(self) -> None:
        raise AssertionError("whoever opened the communicator closes it")


class _Counted:
    def __init__(self, exchange: Exchange, rank: Counting, size: int) -> None:
        self._exchange, self._rank, self._size = exchange, rank, size

    def start(self) -> None:
        self._exchange.start()

    def wait(self) -> None:
        self._exchange.wait()
        self._rank.received += self._size

    def close(self) -> None:
        self._exchange.close()


@pytest.mark.parametrize("last", ["identity", "softmax"])
@pytest.mark.parametrize(
    "topology",
    [
        Topology(shards=6),
        Topology(shards=6, input="sharded"),
        Topology(shards=6, halo=0),
        Topology(shards=6, halo=2),
        Topology(shards=6, halo=5, input="sharded"),
        Topology(shards=6, halo=1, shuffle=True, coarse=2, input="sharded"),
    ],
    ids=str,
)
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_the_bytes_are_those_that_training_receives(
    topology: Topology, ranks: int, last: Activation
) -> None:
    network = shape(12, 40, 37, 23, topology=topology, last=last)
    loss: LossName = "cross-entropy" if last == "softmax" else "squared"

    def program(rank: VirtualRank) -> int:
        counting = Counting(rank)
        mine = RankedNetwork(network, counting, loss=loss)
        counting.received = 0
        mine.descend(torch.ones(3, 12), torch.full((3, 23), 1 / 23), 0.1)
        return counting.received

    with one_thread():
        received = run_ranks(ranks, program)

    predicted = iteration_cost(network, CORE, ranks=ranks, batch=3, link=LINK)
    assert predicted.bytes_per_iteration == sum(received)


@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=4),
    st.sampled_from([0, 1, 3, "full"]),
    st.integers(1, 6),
    st.integers(1, 5),
)
@settings(max_examples=40, deadline=None)
def test_no_iteration_is_quicker_than_its_parts(
    widths: list[int], halo: Halo, ranks: int, batch: int
) -> None:
    network = shape(*widths, topology=Topology(shards=6, halo=halo, input="sharded"))

    def cost_over(link: Link) -> IterationCost:
        return iteration_cost(network, CORE, ranks=ranks, batch=batch, link=link)

    cost = cost_over(LINK)
    slower = cost_over(msgspec.structs.replace(LINK, latency_s=20.0))

    assert max(cost.compute_s, cost.communication_max_s) <= cost.iteration_s
    assert cost.communication_mean_s <= cost.communication_max_s
    assert cost.iteration_s <= cost.compute_s + cost.communication_max_s + 1e-9
    assert slower.iteration_s >= cost.iteration_s
    assert slower.bytes_per_iteration == cost.bytes_per_iteration
    assert np.isclose(slower.compute_s, cost.compute_s)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranks": 0}, "0 ranks, 1 replicas, batches of 1: each is 1 or more"),
        ({"ranks": 3, "replicas": 2}, "the replicas divide the ranks"),
        ({"ranks": 2, "replicas": 2}, "a batch of 1 for 2 replicas"),
        ({"ranks": 2, "link": None}, "calibrate with evener selfcheck --mpi"),
        ({"ranks": 3}, "3 ranks for 2 shards"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    two = replace(shape(3, 4, 5, topology=Topology(shards=2)))
    with pytest.raises(InputError, match=message):
        iteration_cost(two, CORE, **({"link": LINK} | options))
