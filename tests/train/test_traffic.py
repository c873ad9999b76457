"""What is counted of ranks is what they have and receive."""

import numpy as np
import pytest

from evener.artifacts.topology import Topology
from evener.train.reach import reach_of
from evener.train.sharding import Placement, block_bounds, count_weights
from evener.train.traffic import traffic_of

WIDTHS = (12, 40, 37, 5, 50)
TOPOLOGIES = [
    Topology(shards=8, halo=0),
    Topology(shards=8, halo=1),
    Topology(shards=8, halo=2, input="sharded"),
    Topology(shards=8, halo=7, input="sharded"),
    Topology(shards=8, halo=1, shuffle=True, coarse=1, input="sharded"),
    Topology(shards=30, halo=2, coarse=2),
]


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)
@pytest.mark.parametrize("counts", [(8,), (3, 5), (1, 1, 4, 2), (1,) * 8])
def test_ranks_receive_what_their_buffers_lack(topology: Topology, counts: tuple[int, ...]) -> None:
    if topology.shards == 30:
        counts = (*counts, 22)
    placement = Placement(counts)

    layers = traffic_of(topology, WIDTHS, placement)

    for number, layer in enumerate(layers, 1):
        assert not layer.everything
        for rank in range(placement.ranks):
            reach = reach_of(topology, WIDTHS, placement, number, rank)
            lacks = {peer: len(rows) for peer, rows in reach.receives.items() if peer != rank}
            sends = {peer: len(rows) for peer, rows in reach.sends.items() if peer != rank}
            assert layer.received[rank] == lacks
            assert layer.returned[rank] == sends


@pytest.mark.parametrize("topology", [*TOPOLOGIES, Topology(shards=8)], ids=str)
def test_every_weight_is_on_one_rank(topology: Topology) -> None:
    placement = Placement.even(topology.shards, 5)

    layers = traffic_of(topology, WIDTHS, placement, carriage="gather")

    assert sum(int(layer.weights_R.sum()) for layer in layers) == count_weights(topology, WIDTHS)
    for number, layer in enumerate(layers, 1):
        rows_S = np.diff(block_bounds(WIDTHS[number], topology.shards))
        for rank in range(5):
            reach = reach_of(topology, WIDTHS, placement, number, rank)
            seen = [len(columns) for columns in reach.columns]
            mine = [int(rows_S[shard]) for shard in placement.shards_of(rank)]
            assert layer.weights_R[rank] == sum(np.multiply(mine, seen))


def test_a_dense_layer_wants_everything_but_for_an_input_that_everyone_has() -> None:
    replicated = traffic_of(Topology(shards=2), (4, 6, 2), Placement.even(2, 2))
    sharded = traffic_of(Topology(shards=2, input="sharded"), (4, 6, 2), Placement.even(2, 2))
    alone = traffic_of(Topology(shards=2), (4, 6, 2), Placement.even(2, 1))

    assert [layer.everything for layer in replicated] == [False, True]
    assert [layer.everything for layer in sharded] == [True, True]
    assert not any(layer.everything for layer in alone)
    assert [layer.carried_R.tolist() for layer in sharded] == [[2, 2], [1, 1]]  # values, sums


def test_where_ranks_add_up_sums_each_has_the_weights_that_read_its_own_values() -> None:
    placement = Placement.even(4, 2)

    first, second = traffic_of(Topology(shards=4), (4, 6, 3), placement)

    assert (first.summed, second.summed) == (False, True)
    assert second.weights_R.tolist() == [3 * 3, 3 * 3]
    assert second.carried_R.tolist() == [1, 2]
