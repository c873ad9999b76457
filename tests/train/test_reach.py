"""The buffers of all ranks fit together, and going back is the transpose of going forth."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.artifacts.topology import Topology
from evener.comm.virtual import VirtualRank, run_ranks
from evener.train.ghosts import Ghosts
from evener.train.reach import reach_of
from evener.train.sharding import Placement, sources_of

TOPOLOGIES = st.builds(
    Topology,
    shards=st.integers(4, 9),
    halo=st.one_of(st.integers(0, 12), st.just("full")),
    shuffle=st.booleans(),
    coarse=st.integers(0, 3),
    input=st.sampled_from(["replicated", "sharded"]),
)
WIDTHS = st.lists(st.integers(2, 30), min_size=3, max_size=3).map(tuple)


@settings(max_examples=60, deadline=None)
@given(TOPOLOGIES, WIDTHS, st.integers(1, 4), st.integers(1, 2))
def test_every_shard_finds_the_neurons_it_sees(
    topology: Topology, widths: tuple[int, ...], ranks: int, layer: int
) -> None:
    placement = Placement.even(topology.shards, ranks)

    for rank in range(ranks):
        reach = reach_of(topology, widths, placement, layer, rank)
        for shard, rows in zip(placement.shards_of(rank), reach.columns, strict=True):
            seen = reach.held[rows]
            wanted = sources_of(topology, widths, layer, shard).indices
            assert seen[: len(wanted)].tolist() == wanted.tolist()
            assert np.all(seen[len(wanted) :] >= widths[layer - 1])  # coarse values


@settings(max_examples=40, deadline=None)
@given(TOPOLOGIES, WIDTHS, st.integers(1, 4))
def test_ghosts_are_filled_with_the_values_of_their_neurons(
    topology: Topology, widths: tuple[int, ...], ranks: int
) -> None:
    placement = Placement.even(topology.shards, ranks)

    def program(communicator: VirtualRank) -> None:
        reach = reach_of(topology, widths, placement, 2, communicator.rank)
        buffer = torch.full((reach.rows, 2), -1.0)
        for own in (reach.own, reach.own_coarse):
            buffer[own] = torch.from_numpy(reach.held[own]).float()[:, None]
        Ghosts(communicator, reach, buffer, None, name="test").fill()
        assert buffer[:, 0].tolist() == reach.held.tolist()
        assert torch.equal(buffer[:, 0], buffer[:, 1])

    run_ranks(ranks, program)


@settings(max_examples=40, deadline=None)
@given(TOPOLOGIES, WIDTHS, st.integers(1, 4), st.integers(0, 2**32))
def test_going_back_is_the_adjoint_of_going_forth(
    topology: Topology, widths: tuple[int, ...], ranks: int, seed: int
) -> None:
    """<E x, y> = <x, E^T y> for the exchange E of all ranks together."""
    placement = Placement.even(topology.shards, ranks)

    def program(communicator: VirtualRank) -> tuple[float, float]:
        reach = reach_of(topology, widths, placement, 2, communicator.rank)
        generator = torch.Generator().manual_seed(seed + communicator.rank)
        values, gradient = (
            torch.randn(reach.rows, 3, generator=generator, dtype=torch.float64) for _ in range(2)
        )
        mine = [reach.own, reach.own_coarse]
        before = [values[own].clone() for own in mine]
        given_back = gradient.clone()
        ghosts = Ghosts(communicator, reach, values, gradient, name="test")
        ghosts.fill()
        ghosts.take_back()
        forth = (values * given_back).sum().item()
        back = sum((x * gradient[own]).sum().item() for x, own in zip(before, mine, strict=True))
        return forth, back

    found = run_ranks(ranks, program)

    assert sum(forth for forth, _ in found) == pytest.approx(sum(back for _, back in found))
