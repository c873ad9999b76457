"""Hold sharded training on the ranks that are there against the mathematics, check by check.

Every rank of a communicator calls `check_training`, and gets the same answer: small networks are
trained for a few steps on all ranks, and by each alone as a dense network with a mask, whose
gradients autograd finds. So a cluster's MPI, its compilers and its kernels are tried in place.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.train.activations import Activation
from evener.train.carriage import Carriage
from evener.train.ghosts import Ghosts
from evener.train.loop import one_thread
from evener.train.losses import LossName
from evener.train.paper import PaperNetwork
from evener.train.paper_twin import CutOffTwin, paper_shape
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape
from evener.train.twin import Twin, parts_of

DOUBLE_LIMIT: Final = 1e-12
SINGLE_LIMIT: Final = 1e-5
LEAST_SHARDS: Final = 8
_STEPS: Final = 5
_RATE: Final = 0.1
_ROWS: Final = 7
_CARRIAGES: Final[tuple[Carriage, ...]] = ("gather", "sums", "broadcast", "messages")


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that must hold, and how nearly it does.

    Attributes:
        name: what is held against what.
        ranks: on how many ranks.
        error: largest deviation on any of them, relative to the largest value; nan where the
            training came to no numbers.
        limit: largest one allowed; 0 where every bit must be the same.
    """

    name: str
    ranks: int
    error: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the deviation is within the limit."""
        return self.error <= self.limit


def check_training(
    communicator: Communicator, *, on_check: Callable[[str, int, int], object] | None = None
) -> list[Check]:
    """Make all checks; every rank calls it.

    Args:
        communicator: the ranks.
        on_check: told each check's name, how many are done, and of how many.

    Raises:
        RankError: ranks lost one another.

    Example:
        >>> [check.holds for check in check_training(Alone())].count(False)
        0
    """
    found: list[Check] = []
    checks = list(_checks(communicator))
    with one_thread():
        for done, (name, limit, deviation) in enumerate(checks):
            if on_check is not None:
                on_check(name, done, len(checks))
            error = _largest(communicator, deviation())
            found.append(Check(name=name, ranks=communicator.size, error=error, limit=limit))
    return found


def _checks(communicator: Communicator) -> Iterator[tuple[str, float, Callable[[], float]]]:
    shards = max(LEAST_SHARDS, communicator.size)
    widths = (12, 3 * shards + 16, 3 * shards + 13, 4 * shards + 18, shards + 15)

    def shape(topology: Topology, last: Activation = "identity") -> Shape:
        return Shape(widths, ("tanh", "sigmoid", "tanh", last), topology)

    full = shape(Topology(shards=shards))
    halo = shape(Topology(shards=shards, halo=1))
    far = shape(Topology(shards=shards, halo=7, input="sharded"), "softmax")
    mixed = shape(Topology(shards=shards, halo=2, shuffle=True, coarse=2, input="sharded"))
    double, single = torch.float64, torch.float32

    for name, one in (("full", full), ("halo 1", halo)):
        for bits, limit, dtype in ((64, DOUBLE_LIMIT, double), (32, SINGLE_LIMIT, single)):
            what = f"{name} = {'plain' if one is full else 'masked dense'} network, {bits} bits"
            yield what, limit, partial(_from_twin, one, communicator, dtype)
    for carriage in _CARRIAGES:
        carried = partial(_from_twin, full, communicator, double, carriage=carriage)
        yield f"full by {carriage} = plain network, 64 bits", DOUBLE_LIMIT, carried
    for name, one in (("halo 7", far), ("shuffled", mixed)):
        equal = partial(_from_twin, one, communicator, double)
        yield f"{name} = masked dense network, 64 bits", DOUBLE_LIMIT, equal
    for name, one in (("halo 1", halo), ("halo 7", far), ("shuffled", mixed)):
        yield f"{name} = on one rank, every bit", 0.0, partial(_from_one_rank, one, communicator)
    for name, one in (("halo 7", far), ("shuffled", mixed)):
        adjoint = partial(_from_adjoint, one, communicator)
        yield f"{name}: back is the adjoint of forth", DOUBLE_LIMIT, adjoint
    if communicator.size > 1:
        paper = partial(_from_paper_twin, widths, communicator)
        yield "paper's layout = its twin, 64 bits", DOUBLE_LIMIT, paper


def _from_twin(
    shape: Shape,
    communicator: Communicator,
    dtype: torch.dtype,
    *,
    carriage: Carriage = "cheapest",
) -> float:
    """Return the largest deviation of this rank's weights from those of the masked network."""
    loss = _loss_of(shape)
    twin = Twin(shape, [RankedNetwork(shape, Alone(), loss=loss, dtype=dtype)])
    network = RankedNetwork(shape, communicator, loss=loss, dtype=dtype, carriage=carriage)
    inputs, wanted = _rows(shape.widths)
    for _ in range(_STEPS):
        network.descend(inputs.to(dtype), wanted.to(dtype), _RATE)
        twin.descend(inputs, wanted, _RATE)
    network.close()
    return _distance(network, twin)


def _from_one_rank(shape: Shape, communicator: Communicator) -> float:
    """Return the largest deviation from what this rank comes to alone with all shards."""
    inputs, wanted = (one.float() for one in _rows(shape.widths))
    networks = [
        RankedNetwork(shape, ranks, loss=_loss_of(shape)) for ranks in (communicator, Alone())
    ]
    for network in networks:
        for _ in range(_STEPS):
            network.descend(inputs, wanted, _RATE)
        network.close()
    return _distance(networks[0], Twin(shape, networks[1:]))


def _distance(network: RankedNetwork, twin: Twin) -> float:
    worst = 0.0
    with torch.no_grad():
        for layer, (weight, bias) in enumerate(zip(twin.weights, twin.biases, strict=True), 1):
            scale = max(weight.abs().max().item(), bias.abs().max().item())
            for rows, columns, weights, biases in parts_of(network, layer):
                mine_M = _within(rows[:, 0], network.neurons_of(layer))
                for mine, theirs in (
                    (weights, weight[rows, columns]),
                    (biases[mine_M], bias[rows[mine_M, 0]]),
                ):
                    deviation = (mine.double() - theirs).abs().max().item() / scale
                    worst = _larger(worst, deviation)
    return worst


def _within(neurons: Tensor, own: slice) -> Tensor:
    """Tell which neurons are the rank's own: of others it may have weights, and no bias."""
    return torch.logical_and(neurons >= own.start, neurons < own.stop)


def _from_adjoint(shape: Shape, communicator: Communicator) -> float:
    """Return by how much <E x, y> and <x, E^T y> differ for the exchanges E of all ranks."""
    network = RankedNetwork(shape, communicator, loss=_loss_of(shape), dtype=torch.float64)
    generator = torch.Generator().manual_seed(communicator.rank)
    worst = 0.0
    for layer, reach in enumerate(network.reaches[1:], 2):
        values, gradient = (
            torch.randn(reach.rows, 3, generator=generator, dtype=torch.float64) for _ in range(2)
        )
        mine = (reach.own, reach.own_coarse)
        before, given_back = [values[own].clone() for own in mine], gradient.clone()
        ghosts = Ghosts(communicator, reach, values, gradient, name=f"adjoint of layer {layer}")
        ghosts.fill()
        ghosts.take_back()
        ghosts.close()
        products = np.array(
            [
                (values * given_back).sum().item(),
                sum((x * gradient[own]).sum().item() for x, own in zip(before, mine, strict=True)),
                values.norm().item() * given_back.norm().item(),
            ]
        )
        forth, back, scale = np.sum(_all(communicator, products), axis=0)
        worst = _larger(worst, abs(forth - back) / scale)
    network.close()
    return worst


def _from_paper_twin(widths: tuple[int, ...], communicator: Communicator) -> float:
    """Return the largest deviation of the paper's workers from their sequential twin."""
    inputs, wanted = _rows(widths)
    twin = CutOffTwin(paper_shape(widths, communicator.size - 1))
    network = PaperNetwork(widths, communicator, dtype=torch.float64)
    for _ in range(_STEPS):
        network.descend(inputs, wanted, _RATE)
        twin.descend(inputs, wanted, _RATE)
    network.close()
    worst = 0.0
    with torch.no_grad():
        for layer, weight in zip(network.layers, twin.twin.weights, strict=False):
            theirs = weight[layer.rows][:, torch.from_numpy(layer.seen)]
            deviation = (layer.weight - theirs).abs().max() / weight.abs().max()
            worst = _larger(worst, deviation.item())
    return worst


def _rows(widths: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(_ROWS, widths[0], generator=generator, dtype=torch.float64)
    wanted = torch.rand(_ROWS, widths[-1], generator=generator, dtype=torch.float64)
    return inputs, wanted / wanted.sum(1, keepdim=True)


def _loss_of(shape: Shape) -> LossName:
    return "cross-entropy" if shape.activations[-1] == "softmax" else "squared"


def _larger(one: float, other: float) -> float:
    """Return the larger of two figures; nan if one is, which `max` would lose."""
    return float(np.maximum(one, other))


def _largest(communicator: Communicator, mine: float) -> float:
    """Return the largest of all ranks' figures; nan where one has it."""
    return float(np.max(_all(communicator, np.array([mine]))))


def _all(communicator: Communicator, mine: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each rank has, a row each."""
    found = np.zeros((communicator.size, len(mine)))
    communicator.all_gather(mine, list(found))
    return found
