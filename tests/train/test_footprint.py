"""What the arrays of a training take, counted by hand and in a network."""

import pytest

from evener.artifacts.topology import Halo, Topology
from evener.comm.communicator import Communicator
from evener.comm.virtual import run_ranks
from evener.train.footprint import arrays_bytes
from evener.train.partial_sums import SummedLayer
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape


def shape(halo: Halo = "full", shards: int = 2) -> Shape:
    return Shape((4, 8, 6), ("tanh", "identity"), Topology(shards=shards, halo=halo))


def test_weights_values_and_gradients_are_counted() -> None:
    parameters, values = 4 * 8 + 8 + 8 * 6 + 6, 3 * (4 + 2 * 8 + 2 * 6)

    plain = arrays_bytes(shape(), ranks=1, replicas=1, batch=3, remembered=None)
    adamw = arrays_bytes(shape(), ranks=1, replicas=1, batch=3, remembered=2)

    assert plain == 4 * (parameters + values)
    assert adamw == 4 * (4 * parameters + values)


def test_each_replica_has_its_weights_their_gradients_and_its_rows() -> None:
    one = arrays_bytes(shape(), ranks=1, replicas=1, batch=3, remembered=0)

    assert arrays_bytes(shape(), ranks=2, replicas=2, batch=6, remembered=None) == 2 * one


@pytest.mark.parametrize("halo", [0, 1, "full"])
def test_ranks_hold_what_they_see(halo: Halo) -> None:
    network = shape(halo, shards=4)

    def held(communicator: Communicator) -> int:
        ranked = RankedNetwork(network, communicator)
        seen = [reach.rows for reach in ranked.reaches]
        runs = [run for layer in ranked.layers for run in layer.runs]
        weights = sum(run.weight.numel() + run.bias.numel() for run in runs)
        summed = [isinstance(layer, SummedLayer) for layer in ranked.layers]
        sums = sum(width for width, adds in zip(network.widths[1:], summed, strict=True) if adds)
        assert any(summed) == (halo == "full")
        outputs = ranked.outputs.stop - ranked.outputs.start
        return int(4 * (weights + 5 * (seen[0] + 2 * sum(seen[1:]) + sums + 2 * outputs)))

    found = arrays_bytes(network, ranks=2, replicas=1, batch=5, remembered=None)

    assert found == sum(run_ranks(2, held))
