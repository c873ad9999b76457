"""Measure what the cost model has to know of one core and of what connects the ranks, in seconds.

What is timed is what training does: the same calls of torch on one thread, and the exchanges of the
communicator that ranks train over, so that the time of Python is in every figure.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import torch

from evener.artifacts.calibration import Calibration, Link, Rate
from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Array, Communicator, Exchange
from evener.errors import InputError
from evener.train.loop import one_thread
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape

Clock = Callable[[], float]
SIZES: Final = (1 << 18, 1 << 21, 1 << 24, 1 << 28)  # bytes: from one level of cache to memory
BATCHES: Final = (1, 8, 64, 512)
LONG_BYTES: Final = 1 << 22
_VALUE_BYTES: Final = 4
_COLUMNS: Final = 1024  # of the matrices that are multiplied; as many rows fit a core's cache
_ENOUGH_S: Final = 0.06
_LEAST_TIMES: Final = 3
_ROUNDS: Final = 200
_LONG_ROUNDS: Final = 10
_LAYERS: Final = 8
_NEURONS: Final = 20  # of a shard: as few as are multiplied by themselves, like those of large ones
_SHARDS: Final = 34
_LEAST_S: Final = 1e-9  # of a clock that does not tell a long message from a short one


def calibrate(
    clock: Clock,
    *,
    processor: str,
    sizes: Sequence[int] = SIZES,
    batches: Sequence[int] = BATCHES,
    link: Link | None = None,
) -> Calibration:
    """Measure one core; about two seconds, and as much memory as the largest size.

    Args:
        clock: seconds that never go back.
        processor: what to call the machine.
        sizes: bytes of the arrays, rising.
        batches: rows, rising.
        link: what `measure_link` found; None if there are no ranks.
    """
    with one_thread():
        two_s, many_s = (
            _layer_s(_NEURONS * count, Topology(shards=count, halo=1), clock)
            for count in (2, _SHARDS)
        )
        shard_s = max(many_s - two_s, 0.0) / (_SHARDS - 2)
        return Calibration(
            processor=processor,
            updates=tuple(Rate(size, _update_rate(size, clock)) for size in sizes),
            reads=tuple(Rate(size, _read_rate(size, clock)) for size in sizes),
            products=tuple(Rate(batch, _product_rate(batch, clock)) for batch in batches),
            dense_layer_s=_layer_s(_NEURONS, Topology(), clock),
            sharded_layer_s=max(two_s - 2 * shard_s, 0.0),
            shard_s=shard_s,
            link=link,
        )


def measure_link(communicator: Communicator, clock: Clock, *, name: str) -> Link:
    """Let ranks exchange in pairs, all at once, and return what the slowest pair needs.

    Every rank calls this, and all get the same answer. An odd rank out only waits.

    Args:
        communicator: of two ranks or more.
        clock: seconds that never go back.
        name: what carries the messages.

    Raises:
        InputError: there is one rank.
    """
    if communicator.size < 2:
        raise InputError(
            "one rank has no link to measure: start two or more, as evener selfcheck --mpi does"
        )
    mine = np.zeros(3)
    peer = communicator.rank ^ 1
    if peer < communicator.size:
        short = [_pair(communicator, peer, f"short {number}", 1) for number in range(2)]
        long = _pair(communicator, peer, "long", LONG_BYTES // _VALUE_BYTES)
        latency_s = _rounds_s(short[:1], _ROUNDS, clock)
        both_s = _rounds_s(short, _ROUNDS, clock)
        long_s = _rounds_s([long], _LONG_ROUNDS, clock)
        per_byte_s = max(long_s - latency_s, _LEAST_S) / LONG_BYTES
        mine[:] = latency_s, max(both_s - latency_s, 0.0), per_byte_s
        for exchange in (*short, long):
            exchange.close()
    all_RV = np.zeros((communicator.size, len(mine)))
    communicator.all_gather(mine, list(all_RV))
    latency_s, gap_s, per_byte_s = all_RV.max(0).tolist()
    return Link(
        name=name,
        latency_s=latency_s,
        gap_s=gap_s,
        bandwidth_bytes_per_s=1 / per_byte_s,
        measured=True,
    )


def _pair(communicator: Communicator, peer: int, name: str, values: int) -> Exchange:
    sent: Array = np.zeros(values, np.float32)
    received: Array = np.zeros(values, np.float32)
    return communicator.open_exchange(f"calibration, {name}", {peer: sent}, {peer: received})


def _rounds_s(exchanges: Sequence[Exchange], rounds: int, clock: Clock) -> float:
    """Return the shortest time of a round, in which all exchanges are under way at once."""
    taken = []
    for _ in range(rounds):
        begun = clock()
        for exchange in exchanges:
            exchange.start()
        for exchange in exchanges:
            exchange.wait()
        taken.append(clock() - begun)
    return min(taken)


def _update_rate(size: int, clock: Clock) -> float:
    values = torch.ones(size // _VALUE_BYTES)
    return 2 * size / _least_s(lambda: values.mul_(1.0), clock)


def _read_rate(size: int, clock: Clock) -> float:
    rows = max(1, size // (_VALUE_BYTES * _COLUMNS))
    weight_MC = torch.ones(rows, _COLUMNS)
    seen_C, out_M = torch.ones(_COLUMNS), torch.ones(rows)
    seconds = _least_s(lambda: torch.mv(weight_MC, seen_C, out=out_M), clock)
    return rows * _COLUMNS * _VALUE_BYTES / seconds


def _product_rate(batch: int, clock: Clock) -> float:
    """Return operations per second of a layer's three products together."""
    weight_1MC = torch.full((1, _COLUMNS, _COLUMNS), 1e-3)
    seen_1CB, gradient_1MB = torch.ones(1, _COLUMNS, batch), torch.ones(1, _COLUMNS, batch)
    bias_1M1 = torch.zeros(1, _COLUMNS, 1)

    def products() -> None:
        torch.baddbmm(bias_1M1, weight_1MC, seen_1CB, out=gradient_1MB)
        torch.bmm(weight_1MC.mT, gradient_1MB)
        weight_1MC.baddbmm_(gradient_1MB, seen_1CB.mT, alpha=1e-9)

    return 6 * batch * _COLUMNS**2 / _least_s(products, clock)


def _layer_s(neurons: int, topology: Topology, clock: Clock) -> float:
    """Return what a layer costs that has next to no weights."""
    shape = Shape((neurons,) * (_LAYERS + 1), ("tanh",) * _LAYERS, topology)
    network = RankedNetwork(shape, Alone())
    row = torch.zeros(1, neurons)
    return _least_s(lambda: network.descend(row, row, 1e-9), clock) / _LAYERS


def _least_s(work: Callable[[], object], clock: Clock) -> float:
    """Do something at least three times and for a while; return the shortest time.

    Whatever else the machine does only makes it longer.
    """
    work()  # the first time allocates
    taken: list[float] = []
    while len(taken) < _LEAST_TIMES or sum(taken) < _ENOUGH_S:
        begun = clock()
        work()
        taken.append(clock() - begun)
    return min(taken)


def multiplier() -> str:
    """Return name and version of the library that multiplies matrices, by torch's word."""
    lines = [line.strip(" -") for line in torch.__config__.show().splitlines()]
    named = [line for line in lines if "Math Kernel Library" in line]
    settings = [line for line in lines if line.startswith("Build settings")]
    blas = next(
        (
            one.partition("=")[2]
            for line in settings
            for one in line.split(", ")
            if one.startswith("BLAS_INFO=")
        ),
        "unknown",
    )
    return named[0] if named else blas
