"""Time iterations of training on one core, beside what memory allows and beside PyTorch's autograd.

Usage: python benchmarks/training.py [--seconds S] [-o FILE]

One row of a batch, one thread, squared error, plain gradient descent. S, M and L are the networks
of Table I of Surajiwale et al., dense; "L boundary" is L as 1,024 shards that see one neuron of
either neighbour, all on this core. An iteration must read every weight to go forward, read it to go
back (but for the first layer), and read and write it to update it: 16 bytes a weight, 12 in the
first layer. The bound is that over the bandwidth of scaling the weights in place, which reads and
writes each: iterations and scalings take turns, and figures are medians. Evener writes steps of one
row to large matrices once in so many iterations, so each figure is the mean of as many or more.
Each network is a process of its own, whose memory is what it grew by. Where MPI is installed, one
rank and two take turns over M and 64 rows: all weights, then those of two shards with a halo of 1.
The machine should be idle.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final

import psutil
from record import write_record

from evener.errors import EvenerError
from evener.workflow.ranks import find_launcher, freely

if TYPE_CHECKING:
    from torch import Tensor  # noqa: TID251 - what is measured

WIDTHS: Final = {
    "S": (3, 64, 128, 256, 64),
    "M": (2048, 4096, 4096, 4096, 2048),
    "L": (2048, 32768, 8192, 4096, 2048),
}
CASES: Final = [
    ("S", "evener"),
    ("M", "evener"),
    ("M", "autograd"),
    ("L", "evener"),
    ("L boundary", "evener"),
]
TOGETHER: Final = [("one rank", 1, 1, "full"), ("full", 2, 2, "full"), ("halo 1", 2, 2, "1")]
ROUNDS: Final = 3
ROWS: Final = 64
SHARDS: Final = 1024
RATE: Final = 1e-3
Act = Callable[[], object]


def main() -> None:
    """Run each case in a process of its own, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="measuring each case")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    if options.case:
        network, way = options.case
        print(json.dumps(measure(network, way, options.seconds)))
        return
    rows = []
    for network, way in CASES:
        command = [sys.executable, __file__, "--seconds", str(options.seconds), "--case"]
        ended = subprocess.run(
            [*command, network, way], check=True, stdout=subprocess.PIPE, text=True
        )
        rows.append(json.loads(ended.stdout))
        print(line(rows[-1]))
    ours, theirs = (row for row in rows if row["network"] == "M")
    ratio = theirs["iteration_s"] / ours["iteration_s"]
    memory = ours["memory_bytes"] / theirs["memory_bytes"]
    print(f"M: autograd takes {ratio:.2f} times as long; evener has {memory:.0%} of its memory")
    found = {"seconds": options.seconds, "rows": rows, "autograd_ratio": ratio}
    found |= {"autograd_memory_share": memory, "together": together(options.seconds)}
    if options.out is not None:
        write_record(options.out, found)


def together(seconds: float) -> list[dict[str, Any]]:
    """Time one rank and two in turns, print and return what was found; nothing without MPI."""
    try:
        launcher = find_launcher()
    except EvenerError as error:
        print(f"no ranks: {error}")
        return []
    script = Path(__file__).with_name("scaling_rank.py")
    timings: dict[str, list[dict[str, Any]]] = {name: [] for name, *_ in TOGETHER}
    for _ in range(ROUNDS):
        for name, ranks, shards, halo in TOGETHER:
            command = [launcher, "-n", str(ranks), sys.executable, str(script), "--widths"]
            command += [",".join(map(str, WIDTHS["M"])), "--shards", str(shards), "--halo", halo]
            command += ["--batch", str(ROWS), "--seconds", str(seconds / ROUNDS)]
            environment = freely() | {"OMP_NUM_THREADS": "1"}
            ended = subprocess.run(
                command, check=True, stdout=subprocess.PIPE, text=True, env=environment
            )
            timings[name].append(json.loads(ended.stdout))
    found = []
    for name, ranks, _, _ in TOGETHER:
        gains = [
            one["median_s"] / here["median_s"]
            for one, here in zip(timings["one rank"], timings[name], strict=True)
        ]
        row = {
            "name": name,
            "ranks": ranks,
            "rows": ROWS,
            "weights": timings[name][0]["weights"],
            "iteration_s": median(one["median_s"] for one in timings[name]),
            "communication_max_s": median(one["communication_max_s"] for one in timings[name]),
            "gain": median(gains),
            "gains": gains,
        }
        found.append(row)
        print(
            f"M, {ROWS} rows, {name}, {ranks} rank{'s' * (ranks > 1)}: "
            f"{1e3 * row['iteration_s']:.1f} ms, {1e3 * row['communication_max_s']:.1f} of them in "
            f"messages; {row['weights']:,} weights; {row['gain']:.2f} times one rank "
            f"({min(gains):.2f} to {max(gains):.2f})"
        )
    return found


def line(row: dict[str, Any]) -> str:
    """Return what a person reads of a case."""
    text = (
        f"{row['network']:10} {row['way']:>8}: {1e3 * row['iteration_s']:9.3f} ms "
        f"({1e3 * row['low_s']:.3f} to {1e3 * row['high_s']:.3f}), "
        f"{row['memory_bytes'] / 2**20:6.0f} MiB for {row['weights']:,} weights"
    )
    ratio = row["iteration_s"] / row["bound_s"]
    return f"{text}; {ratio:.2f} of the bound {1e3 * row['bound_s']:.3f} ms"


def measure(network: str, way: str, seconds: float) -> dict[str, Any]:
    """Measure one case in this process."""
    import torch  # noqa: TID251 - what is measured
    from threadpoolctl import threadpool_limits

    from evener.train.one_row import STEPS_HELD

    torch.set_num_threads(1)
    threadpool_limits(1)
    process = psutil.Process()
    before = process.memory_info().rss
    name, _, boundary = network.partition(" ")
    widths = WIDTHS[name]
    iterate, flat, weights = (
        autograd(widths) if way == "autograd" else evener_s(widths, boundary=bool(boundary))
    )
    iterate()
    peak = max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, process.memory_info().rss)
    whole = STEPS_HELD if way == "evener" else 1
    iterations, scalings = take_turns(iterate, lambda: flat.mul_(1.0), seconds, whole)
    low, middle, high = quantiles(iterations, n=4)
    bandwidth = 8 * len(flat) / median(scalings)
    return {
        "network": network,
        "way": way,
        "iteration_s": middle,
        "low_s": low,
        "high_s": high,
        "iterations": len(iterations),
        "weights": weights,
        "memory_bytes": peak - before,
        "bandwidth_bytes_per_s": bandwidth,
        "bound_s": bytes_moved(widths, weights) / bandwidth,
    }


def bytes_moved(widths: tuple[int, ...], weights: int) -> int:
    """Return what an iteration must read and write; every neuron sees the whole input.

    Example:
        >>> bytes_moved((3, 5, 2), 25)  # 15 * 12 and 10 * 16
        340
    """
    return 16 * weights - 4 * widths[0] * widths[1]


def take_turns(
    iterate: Act, scale: Act, seconds: float, whole: int
) -> tuple[list[float], list[float]]:
    """Time two acts in turns, each often enough that the clock does not matter.

    Args:
        iterate: the one.
        scale: the other.
        seconds: how long, and longer until there are two figures of the first.
        whole: least number of the first that a figure is the mean of.
    """
    iterations: list[float] = []
    scalings: list[float] = []
    count, others = many(iterate), many(scale)
    turns = -(-whole // count)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(iterations) < 2:
        spent = 0.0
        for _ in range(turns):
            began = time.perf_counter()
            for _ in range(count):
                iterate()
            spent += time.perf_counter() - began
            began = time.perf_counter()
            for _ in range(others):
                scale()
            scalings.append((time.perf_counter() - began) / others)
        iterations.append(spent / (turns * count))
    return iterations, scalings


def many(act: Act) -> int:
    """Return how often an act goes into about ten milliseconds."""
    began = time.perf_counter()
    for _ in range(3):
        act()
    return max(1, int(0.01 * 3 / (time.perf_counter() - began)))


def evener_s(widths: tuple[int, ...], *, boundary: bool) -> "tuple[Act, Tensor, int]":
    """Return an iteration of the fused descent, the weights in a row, and how many there are."""
    import torch  # noqa: TID251 - what is measured

    from evener.artifacts.topology import Topology
    from evener.comm.alone import Alone
    from evener.train.activations import Activation
    from evener.train.ranked import RankedNetwork
    from evener.train.shape import Shape
    from evener.train.sharding import count_weights

    topology = Topology(shards=SHARDS, halo=1) if boundary else Topology()
    sigmoid: Activation = "sigmoid"
    shape = Shape(widths, (sigmoid,) * (len(widths) - 1), topology)
    ranked = RankedNetwork(shape, Alone())
    row, wanted = torch.rand(1, widths[0]), torch.rand(1, widths[-1])
    weights = count_weights(topology, widths)
    return lambda: ranked.descend(row, wanted, RATE), ranked.parameters.flat, weights


def autograd(widths: tuple[int, ...]) -> "tuple[Act, Tensor, int]":
    """Return the same of a plain network in PyTorch."""
    from itertools import pairwise

    import torch  # noqa: TID251 - what is measured
    from torch import nn  # noqa: TID251 - what is measured

    layers = [[nn.Linear(before, here), nn.Sigmoid()] for before, here in pairwise(widths)]
    net = nn.Sequential(*(module for layer in layers for module in layer))
    row, wanted = torch.rand(1, widths[0]), torch.rand(1, widths[-1])
    optimiser = torch.optim.SGD(net.parameters(), lr=RATE)

    def iterate() -> None:
        optimiser.zero_grad()
        loss = (net(row) - wanted).square().sum() / 2
        loss.backward()
        optimiser.step()

    largest = max((param.detach() for param in net.parameters()), key=len)
    return iterate, largest.view(-1), sum(one * two for one, two in pairwise(widths))


if __name__ == "__main__":
    main()
