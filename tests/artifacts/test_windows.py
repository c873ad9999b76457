"""What shards see in plain numbers is what training makes lists of."""

import numpy as np
import pytest

from evener.artifacts.topology import Topology
from evener.artifacts.windows import count_weights, seen_by, sees_all, windows_of
from evener.train.sharding import block_bounds, coarse_groups, sources_of

WIDTHS = (12, 40, 37, 3, 50, 23)
TOPOLOGIES = [
    Topology(shards=1, halo=4),
    Topology(shards=8),
    Topology(shards=5, halo=0),
    Topology(shards=8, halo=1, coarse=2),
    Topology(shards=30, halo=2, input="sharded", coarse=1),
    Topology(shards=60, halo=3, input="sharded"),
]


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)
def test_weights_are_counted_as_they_are_listed(topology: Topology) -> None:
    listed = 0
    for layer in range(1, len(WIDTHS)):
        groups = coarse_groups(topology, WIDTHS, layer)
        means = 0 if groups is None else len(groups) - 1
        neurons = np.diff(block_bounds(WIDTHS[layer], topology.shards)).tolist()
        for shard, count in enumerate(neurons):
            seen = len(sources_of(topology, WIDTHS, layer, shard).indices)
            listed += count * (seen + means)
            assert windows_of(topology, WIDTHS, layer)[shard].neurons == count

    assert count_weights(topology, WIDTHS) == listed


def test_a_halo_so_wide_that_all_is_seen_is_none() -> None:
    found = [sees_all(Topology(shards=4, halo=halo), (8, 32, 16, 4)) for halo in (11, 12)]

    assert found == [False, True]  # 8 of 32 neurons, and 12 on either side


def test_topologies_that_divide_alike_are_seen_to_be_equal() -> None:
    widths = (8, 32, 2)
    two, four, wider = (
        seen_by(Topology(shards=shards, halo=halo), widths)
        for shards, halo in ((2, 1), (4, 1), (2, 2))
    )

    assert two == four  # of two outputs each is a shard
    assert two != wider
