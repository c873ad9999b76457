"""Time a network's iterations on this rank and its peers, for `scaling.py`; prints one JSON object.

Usage: [mpiexec -n 2] python benchmarks/scaling_rank.py --widths 3,64,64 --shards 32 --halo 1
       [--carriage cheapest] [--precision float32] [--batch 1] [--seconds 2]

One thread computes on each rank. Rank 0 prints the quartiles of its iterations, and how long the
ranks were in exchanges: the longest and the mean. Steps of one row are written to large matrices
once in so many iterations, so there a figure is the mean of as many. With `--precision bfloat16`
beside a run without, it says what products in half precision are worth.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import get_args

import msgspec
import numpy as np
import torch
from scaling_paper import sigmoids

from evener.artifacts.topology import Topology, parse_halo
from evener.comm.join import joined
from evener.comm.timed import Timed
from evener.train.carriage import Carriage
from evener.train.loop import one_thread
from evener.train.mixed import PRECISIONS, Precision
from evener.train.one_row import STEPS_HELD
from evener.train.ranked import RankedNetwork
from evener.train.shape import Shape
from evener.train.sharding import count_weights

WARM_UP = 2
LEAST = 4
LEAST_CYCLES = 2  # of steps that are held back together, so that there are quartiles


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """What the ranks need for an iteration.

    Attributes:
        weights: that exist, on all ranks together.
        iterations: timed.
        low_s: lower quartile.
        median_s: of the iterations on rank 0, which waits for its peers.
        high_s: upper quartile.
        communication_max_s: in exchanges, median of the iterations, on the rank that spends most.
        communication_mean_s: mean over the ranks.
        bytes_per_iteration: that all ranks together sent in one.
    """

    weights: int
    iterations: int
    low_s: float
    median_s: float
    high_s: float
    communication_max_s: float
    communication_mean_s: float
    bytes_per_iteration: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Be one rank, and print what was found if it is the first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--widths", required=True)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--halo", type=parse_halo, required=True)
    parser.add_argument("--carriage", choices=get_args(Carriage), default="cheapest")
    parser.add_argument("--precision", choices=PRECISIONS, default="float32")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args(arguments)
    widths = tuple(int(width) for width in options.widths.split(","))
    topology = Topology(shards=options.shards, halo=options.halo)
    shape = Shape(widths, sigmoids(widths), topology)
    with joined() as communicator, one_thread():
        timed = Timed(communicator)
        network = RankedNetwork(shape, timed, carriage=options.carriage)
        found = time_steps(network, timed, options.batch, options.seconds, options.precision)
        network.close()
    if found is not None:
        print(msgspec.json.encode(found).decode())
    return 0


def time_steps(
    network: RankedNetwork, timed: Timed, batch: int, seconds: float, precision: Precision
) -> Timing | None:
    """Take steps on random rows for some time; return what rank 0 found, None on the others."""
    shape = network.shape
    rng = np.random.default_rng(0)
    inputs_BI, wanted_BO = (
        torch.from_numpy(rng.random((batch, width), np.float32))
        for width in (shape.widths[0], shape.widths[-1])
    )

    def step() -> None:
        network.forward(inputs_BI, precision=precision)
        network.compare(wanted_BO)
        network.step_down(1e-3)

    taken: list[float] = []
    exchanging: list[float] = []
    going = np.ones(1, np.int64)
    whole = STEPS_HELD if batch == 1 else 1
    for _ in range(WARM_UP):
        step()
    timed.sent_bytes = 0
    while going[0]:
        begun, before = time.perf_counter(), timed.seconds
        for _ in range(whole):
            step()
        taken.append((time.perf_counter() - begun) / whole)
        exchanging.append((timed.seconds - before) / whole)
        if len(taken) % (LEAST if whole == 1 else LEAST_CYCLES) == 0:
            sent = timed.sent_bytes  # agreeing on the end is no part of training
            going[0] = sum(taken) * whole < seconds
            timed.broadcast(going, root=0)
            timed.sent_bytes = sent
    mine = np.array([np.median(exchanging), timed.sent_bytes / (whole * len(taken))])
    each_R2 = np.zeros((timed.size, 2))
    timed.all_gather(mine, list(each_R2))
    if timed.rank > 0:
        return None
    low_s, median_s, high_s = np.quantile(taken, (0.25, 0.5, 0.75)).tolist()
    return Timing(
        weights=count_weights(shape.topology, shape.widths),
        iterations=whole * len(taken),
        low_s=low_s,
        median_s=median_s,
        high_s=high_s,
        communication_max_s=float(each_R2[:, 0].max()),
        communication_mean_s=float(each_R2[:, 0].mean()),
        bytes_per_iteration=round(each_R2[:, 1].sum()),
    )


if __name__ == "__main__":
    sys.exit(main())
