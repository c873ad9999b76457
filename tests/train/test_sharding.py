"""Which neurons each shard sees, and which shards each rank has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.artifacts.topology import Halo, Topology
from evener.errors import InputError
from evener.train.sharding import (
    Placement,
    block_bounds,
    coarse_groups,
    count_weights,
    shuffle_order,
    sources_of,
)

SMALL = (3, 64, 128, 256, 64)
MEDIUM = (2048, 4096, 4096, 4096, 2048)
LARGE = (2048, 32768, 8192, 4096, 2048)


@given(st.integers(0, 200), st.integers(1, 40))
def test_blocks_tile_a_layer_and_differ_by_one_neuron_at_most(neurons: int, shards: int) -> None:
    bounds = block_bounds(neurons, shards)

    assert bounds[0] == 0
    assert bounds[-1] == neurons
    sizes = np.diff(bounds)
    assert sizes.min() >= neurons // shards
    assert sizes.max() <= -(-neurons // shards)


def test_a_shard_sees_its_own_neurons_and_the_halo_around_the_ring() -> None:
    halo = Topology(shards=4, halo=2)

    first, second = (sources_of(halo, (3, 12, 12), 2, shard) for shard in (0, 1))

    assert first.indices.tolist() == [10, 11, 0, 1, 2, 3, 4]
    assert first.start == -2
    assert second.indices.tolist() == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("halo", [5, 6, 100, "full"])
def test_a_halo_that_goes_round_shows_every_neuron_once(halo: Halo) -> None:
    seen = sources_of(Topology(shards=4, halo=halo), (3, 12, 12), 2, 1)

    assert seen.indices.tolist() == list(range(12))


def test_the_input_is_seen_whole_or_by_parts() -> None:
    whole, parts = (
        sources_of(Topology(shards=4, halo=0, input=layout), (8, 12), 1, 3).indices.tolist()
        for layout in ("replicated", "sharded")
    )

    assert whole == list(range(8))
    assert parts == [6, 7]


def test_a_layer_of_fewer_neurons_than_shards_has_as_many_shards_as_neurons() -> None:
    topology = Topology(shards=8, halo=0)
    widths = (3, 16, 2)

    seen = [sources_of(topology, widths, 2, shard).indices.tolist() for shard in range(8)]

    assert seen == [[], [], [], list(range(8)), [], [], [], list(range(8, 16))]


def test_shuffled_neurons_come_from_every_shard() -> None:
    topology = Topology(shards=4, halo=0, shuffle=True)

    seen = sources_of(topology, (3, 16, 16), 2, 1).indices

    assert seen.tolist() == [1, 5, 9, 13]
    assert sorted(shuffle_order(17, 4).tolist()) == list(range(17))


def test_coarse_groups_divide_each_shards_neurons() -> None:
    topology = Topology(shards=3, halo=1, coarse=2)

    groups = coarse_groups(topology, (5, 10, 9), 2)

    assert groups is not None
    assert groups.tolist() == [0, 1, 3, 4, 6, 8, 10]
    assert coarse_groups(topology, (5, 10, 9), 1) is None


@pytest.mark.parametrize(
    ("widths", "shards", "weights"),
    [
        (SMALL, 1, 57_536),
        (SMALL, 32, 2_880),
        (MEDIUM, 1, 50_331_648),
        (LARGE, 1, 377_487_360),
        (LARGE, 32, 76_800_000),
        (LARGE, 1024, 67_400_000),
    ],
)
def test_weights_left_by_the_boundary_are_those_of_the_published_runs(
    widths: tuple[int, ...], shards: int, weights: int
) -> None:
    halo: Halo = "full" if shards == 1 else 1

    assert count_weights(Topology(shards=shards, halo=halo), widths) == pytest.approx(
        weights, rel=1e-3
    )


def test_a_placement_gives_neighbouring_shards_to_a_rank() -> None:
    placement = Placement((1, 3, 2))

    assert [list(placement.shards_of(rank)) for rank in range(3)] == [[0], [1, 2, 3], [4, 5]]
    assert placement.bounds(12).tolist() == [0, 2, 8, 12]
    assert Placement.even(7, 3).counts == (2, 2, 3)


def test_more_ranks_than_shards_are_refused_with_both_ways_out() -> None:
    with pytest.raises(InputError, match="4 ranks for 3 shards.*start 3 ranks, or give the .* 4"):
        Placement.even(3, 4)


def test_a_rank_without_a_shard_is_refused() -> None:
    with pytest.raises(InputError, match="each rank has 1 or more"):
        Placement((2, 0))
