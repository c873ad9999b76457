"""The one array of a rank's weights and biases."""

import pytest
import torch

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.train.activations import Activation
from evener.train.parameters import Parameters
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape
from evener.train.twin import Twin


def test_views_do_not_overlap_and_begin_where_vector_loops_end() -> None:
    parameters = Parameters([[(2, 3, 5)], [(1, 4, 257), (2, 2, 300)]], torch.float32)
    views = [view for runs in parameters.views for run in runs for view in run]

    for number, view in enumerate(views, 1):
        view.add_(number)

    assert [float(view.min()) for view in views] == [float(view.max()) for view in views]
    assert parameters.flat.sum() == sum(n * view.numel() for n, view in enumerate(views, 1))
    assert all(view.storage_offset() % 64 == 0 for view in views)
    assert len(parameters.flat) % 64 == 0


@pytest.mark.parametrize(("seen", "step"), [(255, 255), (256, 256), (257, 272), (2050, 2064)])
def test_long_rows_begin_at_multiples_of_sixteen_numbers(seen: int, step: int) -> None:
    ((weight, _),) = Parameters([[(1, 3, seen)]], torch.float32).views[0]

    assert weight.shape == (1, 3, seen)
    assert weight.stride() == (3 * step, step, 1)


def test_what_lies_between_rows_stays_zero_and_steps_are_those_of_the_plain_network() -> None:
    tanh: tuple[Activation, ...] = ("tanh", "identity")
    shape = Shape((300, 518, 6), tanh, Topology(shards=2, halo=1))
    network = RankedNetwork(shape, Alone(), dtype=torch.float64)
    plain = Twin(shape, [network])
    generator = torch.Generator().manual_seed(2)
    inputs, wanted = (
        torch.rand(5, width, generator=generator, dtype=torch.float64) for width in (300, 6)
    )

    for _ in range(10):
        network.descend(inputs, wanted, 0.01)
        plain.descend(inputs, wanted, 0.01)

    parameters = network.parameters
    rest = parameters.flat.clone()
    for weight, bias in (run for runs in parameters.views_of(rest) for run in runs):
        weight.zero_()
        bias.zero_()
    assert not bool(rest.any())
    found = Twin(shape, [network])
    for ours, theirs, mask in zip(found.weights, plain.weights, plain.masks, strict=True):
        assert ((ours - theirs) * mask).abs().max() <= 1e-13
