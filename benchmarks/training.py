"""Time iterations of training on one core, beside what memory allows and beside PyTorch's autograd.

Usage: python benchmarks/training.py [--seconds S] [-o FILE]

One row of a batch, one thread, squared error, plain gradient descent. S, M and L are the networks
of Table I of Surajiwale et al., dense; "L boundary" is L as 1,024 shards that see one neuron of
either neighbour, all on this core. An iteration must read every weight to go forward, read it to go
back (but for the first layer), and read and write it to update it: 16 bytes a weight, 12 in the
first layer. The bound is that over the bandwidth of scaling the weights in place, which reads and
writes each: iterations and scalings take turns, and figures are medians. Each network is a process
of its own, whose memory is what it grew by. The machine should be idle.
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
    if options.out is not None:
        found = {"seconds": options.seconds, "rows": rows}
        write_record(
            options.out, {**found, "autograd_ratio": ratio, "autograd_memory_share": memory}
        )


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

    import evener.train  # noqa: F401 - as a training begins

    torch.set_num_threads(1)
    process = psutil.Process()
    before = process.memory_info().rss
    name, _, boundary = network.partition(" ")
    widths = WIDTHS[name]
    iterate, flat, weights = (
        autograd(widths) if way == "autograd" else evener_s(widths, boundary=bool(boundary))
    )
    iterate()
    peak = max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, process.memory_info().rss)
    iterations, scalings = take_turns(iterate, lambda: flat.mul_(1.0), seconds)
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


def take_turns(iterate: Act, scale: Act, seconds: float) -> tuple[list[float], list[float]]:
    """Time two acts in turns, each often enough that the clock does not matter."""
    times: tuple[list[float], list[float]] = ([], [])
    counts = [many(act) for act in (iterate, scale)]
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(times[0]) < 5:
        for act, count, found in zip((iterate, scale), counts, times, strict=True):
            began = time.perf_counter()
            for _ in range(count):
                act()
            found.append((time.perf_counter() - began) / count)
    return times


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
