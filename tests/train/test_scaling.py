"""Features are scaled for training, and the first layer then does it itself."""

import numpy as np
import pytest
import torch

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.train.ranked import RankedNetwork
from evener.train.scaling import Scaling
from evener.train.shape import Shape

ROWS = np.random.default_rng(0).normal(
    [5, -3, 0, 100, 7, 1, 2, 9], [1, 2, 3, 50, 0, 1, 1, 4], (30, 8)
)
FEATURES = ROWS.astype(np.float32)


def test_each_feature_gets_a_mean_of_0_and_a_spread_of_1_unless_it_has_none() -> None:
    scaled = Scaling.of(FEATURES, Topology()).apply(FEATURES)

    assert scaled.mean(0) == pytest.approx(np.zeros(8), abs=1e-5)
    assert scaled.std(0) == pytest.approx([1, 1, 1, 1, 0, 1, 1, 1], abs=1e-5)


def test_where_shards_see_means_of_features_all_have_one_scaling() -> None:
    scaling = Scaling.of(FEATURES, Topology(shards=2, halo=0, coarse=1, input="sharded"))

    assert len(set(scaling.mean.tolist())) == len(set(scaling.spread.tolist())) == 1


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(
    "topology",
    [
        Topology(shards=2),
        Topology(shards=2, halo=1, input="sharded"),
        Topology(shards=2, halo=1, coarse=2, input="sharded"),
    ],
    ids=str,
)
def test_a_network_that_scales_answers_as_before(topology: Topology, ranks: int) -> None:
    scaling = Scaling.of(FEATURES, topology)
    shape = Shape((8, 6, 4), ("tanh", "identity"), topology)

    def program(communicator: Communicator) -> tuple[torch.Tensor, torch.Tensor]:
        network = RankedNetwork(shape, communicator)
        before = network.forward(torch.from_numpy(scaling.apply(FEATURES))).clone()
        scaling.fold(network)
        return before, network.forward(torch.from_numpy(FEATURES))

    for before, after in [program(Alone())] if ranks == 1 else run_ranks(ranks, program):
        assert (before - after).abs().max() < 1e-4
