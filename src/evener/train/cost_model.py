"""Predict how long an iteration of sharded training takes: a roofline a rank, LogGP between them.

A layer takes as long as its weights need to pass through memory, or as its products need, whichever
is more (Williams et al., "Roofline", CACM 2009), and a fixed time for the calls. A message takes
latency, gap and bytes over bandwidth (LogGP, Alexandrov et al., SPAA 1995). Ranks start together,
and wait for one another where they exchange; nothing overlaps. Everything is a function of records:
a prediction, and to be called one. Shapes in names: R ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log2
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.calibration import Calibration, Link, Rate, rate_at
from evener.artifacts.topology import Topology
from evener.comm.collectives import MOST_DIRECT
from evener.errors import InputError
from evener.train.carriage import Carriage
from evener.train.one_row import STEPS_HELD
from evener.train.shape import Shape
from evener.train.sharding import Placement
from evener.train.traffic import VALUE_BYTES, LayerTraffic, Received, traffic_of

Seconds = NDArray[np.float64]
NO_LINK: Final = Link(name="none", latency_s=1e-9, gap_s=0.0, bandwidth_bytes_per_s=1e12)


@dataclass(frozen=True, slots=True)
class IterationCost:
    """What one iteration is predicted to take.

    Attributes:
        iteration_s: from the common start to the end of the last rank.
        compute_s: of it, computing on the rank that computes longest.
        communication_max_s: exchanging and waiting, on the rank that does so longest.
        communication_mean_s: the same, mean over the ranks.
        bytes_per_iteration: what all ranks together receive.
        weights: of the network, each counted once; biases left out.
        bound_s: time in which the weights of the rank that has most pass through memory: read
            forward, read backward but for the first layer, read and written by the update.
    """

    iteration_s: float
    compute_s: float
    communication_max_s: float
    communication_mean_s: float
    bytes_per_iteration: int
    weights: int
    bound_s: float

    @property
    def communication_share(self) -> float:
        """The longest communication over the iteration, as Table IV of the paper has it."""
        return self.communication_max_s / self.iteration_s


def iteration_cost(
    shape: Shape,
    calibration: Calibration,
    *,
    ranks: int = 1,
    batch: int = 1,
    replicas: int = 1,
    link: Link | None = None,
    carriage: Carriage = "cheapest",
    remembered: int | None = None,
) -> IterationCost:
    """Predict an iteration of training.

    Args:
        shape: the network; its shards are placed as evenly as can be.
        calibration: of one core, which each rank has.
        ranks: all of them.
        batch: rows of an iteration, divided among the replicas.
        replicas: how many copies of the network train on a part of the batch each, by
            `ranks / replicas` ranks each.
        link: between ranks; that of the calibration if None.
        carriage: what travels between the ranks of a dense network.
        remembered: numbers that the optimiser keeps for each weight; None for plain gradient
            descent, which on one replica updates weights in place.

    Raises:
        InputError: ranks that the replicas do not divide, fewer rows or shards than it takes, or
            several ranks and no link.
    """
    if ranks < 1 or batch < 1 or replicas < 1 or ranks % replicas:
        raise InputError(
            f"{ranks} ranks, {replicas} replicas, batches of {batch}: each is 1 or more, and the "
            "replicas divide the ranks"
        )
    if batch < replicas:
        raise InputError(f"a batch of {batch} for {replicas} replicas: each takes 1 row or more")
    link = link or calibration.link or (NO_LINK if ranks == 1 else None)
    if link is None:
        raise InputError(
            f"{ranks} ranks, and nothing is known of what connects them: calibrate with evener "
            "selfcheck --mpi, or give a link"
        )
    placement = Placement.even(shape.topology.shards, ranks // replicas)
    layers = _traffic(shape.topology, shape.widths, placement, carriage)
    run = _Run(calibration, link, ceil(batch / replicas), placement.ranks, carriage)
    weights_R = _total(layers)
    for layer in layers:
        run.forth(layer, _forward(layer, weights_R, calibration, run.batch))
    if shape.activations[-1] == "softmax":
        shards_R = np.array(placement.counts, np.int64)
        for _ in range(2):  # the largest sums, and the sums of powers
            run.gather(shards_R)
    written = None if replicas == 1 and remembered is None else 1 + (remembered or 0)
    for number, layer in reversed(list(enumerate(layers))):
        first = number == 0
        seconds_R = _back(layer, weights_R, calibration, run.batch, first=first, written=written)
        run.back(layer, seconds_R, first=first)
    if replicas > 1:
        run.reduce_replicas(weights_R, replicas)
    return IterationCost(
        iteration_s=float(run.ready_R.max()),
        compute_s=float((run.ready_R - run.communication_R).max()),
        communication_max_s=float(run.communication_R.max()),
        communication_mean_s=float(run.communication_R.mean()),
        bytes_per_iteration=run.bytes * replicas,
        weights=int(weights_R.sum()),
        bound_s=_bound_s(layers, calibration),
    )


def weight_bytes(weights: Sequence[int]) -> int:
    """Return what an iteration moves of weights, in bytes, however well it is written.

    Args:
        weights: of each layer; those of the first one are not read on the way back.

    Example:
        >>> weight_bytes([10, 100])
        1720
    """
    passes = 4 * sum(weights) - weights[0]  # forward, back, and read and written by the update
    return VALUE_BYTES * passes


class _Run:
    """The ranks of one replica on their way through an iteration.

    Attributes:
        ready_R: when each is done with what it has done so far.
        communication_R: how long it has exchanged and waited.
        bytes: what all have received.
        batch: rows that each computes.
    """

    def __init__(
        self, calibration: Calibration, link: Link, batch: int, ranks: int, carriage: Carriage
    ) -> None:
        self._calibration = calibration
        self._link = link
        self._carriage = carriage
        self._ranks = ranks
        self.batch = batch
        self.ready_R: Seconds = np.zeros(ranks)
        self.communication_R: Seconds = np.zeros(ranks)
        self.bytes = 0

    def forth(self, layer: LayerTraffic, seconds_R: Seconds) -> None:
        """Let values travel before a layer, or sums behind it, and compute."""
        if not layer.summed:
            self._exchange(layer, layer.received)
        self.ready_R = self.ready_R + seconds_R
        if layer.summed:
            self._scatter(layer.carried_R)

    def back(self, layer: LayerTraffic, seconds_R: Seconds, *, first: bool) -> None:
        """Do the transpose: nobody wants gradients of the input."""
        if layer.summed:
            self.gather(layer.carried_R)
        self.ready_R = self.ready_R + seconds_R
        if not first and not layer.summed:
            self._exchange(layer, layer.returned, back=True)

    def _exchange(self, layer: LayerTraffic, received: Received, *, back: bool = False) -> None:
        """Let values or gradients of the neurons before a layer travel."""
        if layer.everything and back:
            self._scatter(layer.carried_R)
        elif layer.everything and self._carriage == "broadcast":
            self._broadcast(layer.carried_R)
        elif layer.everything:
            self.gather(layer.carried_R)
        else:
            self._messages(received, layer.gradient_bytes if back else VALUE_BYTES)

    def gather(self, values_R: NDArray[np.int64]) -> None:
        """Give every rank what each has: directly if they are few, else by doubling."""
        if self._ranks == 1:
            return
        missing_R = (values_R.sum() - values_R) * self._row_bytes
        begin_s = _rounds_s(self._link, self._ranks)
        self._meet(begin_s + missing_R / self._link.bandwidth_bytes_per_s, int(missing_R.sum()))

    def _scatter(self, values_R: NDArray[np.int64]) -> None:
        """Give every rank the terms of its sums, a message from each, to be added in order."""
        sent_R = (values_R.sum() - values_R) * self._row_bytes
        begin_s = _messages_s(self._link, self._ranks)
        self._meet(begin_s + sent_R / self._link.bandwidth_bytes_per_s, int(sent_R.sum()))

    def reduce_replicas(self, weights_R: NDArray[np.int64], replicas: int) -> None:
        """Add the gradients of all replicas: a scattered sum, then a gathering."""
        sent_R: Seconds = 2 * VALUE_BYTES * weights_R * (replicas - 1) / replicas
        begin_s = _messages_s(self._link, replicas) + _rounds_s(self._link, replicas)
        self._meet(begin_s + sent_R / self._link.bandwidth_bytes_per_s, round(sent_R.sum()))

    @property
    def _row_bytes(self) -> int:
        return VALUE_BYTES * self.batch

    def _broadcast(self, values_R: NDArray[np.int64]) -> None:
        """Let one rank after the other reach all others by a binomial tree."""
        each = self._link.latency_s + values_R * self._row_bytes / self._link.bandwidth_bytes_per_s
        rounds = ceil(log2(self._ranks))
        wire_R: Seconds = np.full(self._ranks, rounds * each.sum(), np.float64)
        received = int(values_R.sum()) * (self._ranks - 1) * self._row_bytes
        self._meet(wire_R, received)

    def _meet(self, wire_R: Seconds, received: int) -> None:
        """Let everyone wait for the last one, and then for the wire."""
        self._end_at(self.ready_R.max() + wire_R)
        self.bytes += received

    def _messages(self, received: Received, value_bytes: int) -> None:
        """Let each wait for those that it receives from, and then for the wire."""
        if not any(received):
            return
        values_R = np.array([sum(peers.values()) for peers in received])
        bytes_R = values_R * value_bytes * self.batch
        messages_R = np.array([len(peers) for peers in received])
        wire_R = (
            np.where(messages_R > 0, self._link.latency_s, 0.0)
            + np.maximum(messages_R - 1, 0) * self._link.gap_s
            + bytes_R / self._link.bandwidth_bytes_per_s
        )
        latest_R = np.array(
            [
                max(self.ready_R[rank], *(self.ready_R[peer] for peer in peers))
                if peers
                else self.ready_R[rank]
                for rank, peers in enumerate(received)
            ]
        )
        self._end_at(latest_R + wire_R)
        self.bytes += int(bytes_R.sum())

    def _end_at(self, end_R: Seconds) -> None:
        self.communication_R = self.communication_R + end_R - self.ready_R
        self.ready_R = end_R


def _messages_s(link: Link, ranks: int) -> float:
    """Return what a message to each other rank costs beside its bytes."""
    return link.latency_s + (ranks - 2) * link.gap_s


def _rounds_s(link: Link, ranks: int) -> float:
    """Return what a gathering costs beside its bytes."""
    if ranks <= MOST_DIRECT:
        return _messages_s(link, ranks)
    return ceil(log2(ranks)) * link.latency_s


@lru_cache(maxsize=64)
def _traffic(
    topology: Topology, widths: tuple[int, ...], placement: Placement, carriage: Carriage
) -> Sequence[LayerTraffic]:
    return traffic_of(topology, widths, placement, carriage=carriage)


def _total(layers: Sequence[LayerTraffic]) -> NDArray[np.int64]:
    return np.asarray(np.sum([layer.weights_R for layer in layers], axis=0), np.int64)


def _forward(
    layer: LayerTraffic, weights_R: NDArray[np.int64], of: Calibration, batch: int
) -> Seconds:
    """Each weight is read once."""
    memory_R = VALUE_BYTES * layer.weights_R / _each(of.reads, weights_R)
    products_R = 2 * batch * layer.weights_R / rate_at(of.products, batch)
    return np.maximum(memory_R, products_R) + _calls_s(layer, of, batch) / 2


def _back(
    layer: LayerTraffic,
    weights_R: NDArray[np.int64],
    of: Calibration,
    batch: int,
    *,
    first: bool,
    written: int | None,
) -> Seconds:
    """Each weight is read for the gradient of what was seen, and then read and written.

    Steps of one row are written to large layers once in so many, by products of so many rows. Where
    gradients of weights and what an optimiser remembers are written, each passes through memory
    besides.
    """
    passes = 0 if first else 1
    product_s = 2 * batch * layer.weights_R / rate_at(of.products, batch)
    read_R = VALUE_BYTES * layer.weights_R / _each(of.reads, weights_R)
    update_R = 2 * VALUE_BYTES * layer.weights_R / _each(of.updates, weights_R)
    step_R = np.maximum(update_R, product_s)
    if written is None and batch == 1 and layer.held:
        step_R = update_R / STEPS_HELD + 2 * layer.weights_R / rate_at(of.products, STEPS_HELD)
    seconds_R = passes * np.maximum(read_R, product_s) + step_R
    if written is not None:
        seconds_R = seconds_R + written * update_R
    return seconds_R + _calls_s(layer, of, batch) / 2


def _calls_s(layer: LayerTraffic, of: Calibration, batch: int) -> Seconds:
    """What a layer costs beside its weights: with one row each shard is multiplied by itself."""
    if layer.dense:
        return np.full(len(layer.shards_R), of.dense_layer_s)
    each_s = of.shard_s if batch == 1 else 0.0
    return np.asarray(of.sharded_layer_s + each_s * layer.shards_R, np.float64)


def _each(rates: Sequence[Rate], weights_R: NDArray[np.int64]) -> Seconds:
    """Return for each rank the rate at which an array as large as its weights is passed through."""
    sizes, place_R = np.unique(weights_R, return_inverse=True)
    found = np.array([rate_at(rates, VALUE_BYTES * max(size, 1)) for size in sizes.tolist()])
    return found[place_R]


def _bound_s(layers: Sequence[LayerTraffic], of: Calibration) -> float:
    bounds_s = [
        weight_bytes([int(layer.weights_R[rank]) for layer in layers])
        / rate_at(of.updates, VALUE_BYTES * max(total, 1))
        for rank, total in enumerate(_total(layers).tolist())
    ]
    return max(bounds_s)
