"""Measure the plan of each network against baselines and peers, and record the machine.

Usage: python benchmarks/bench_networks.py [NET ...] [--rounds 15] [--runtimes onnxruntime]
       [--little 0.4] [--max-latency-share 0.65] -o FILE
"""

import argparse
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from record import commit

import evener
from evener.artifacts.files import write_whole
from evener.artifacts.processors import Machine

FIVE = ("alexnet", "googlenet", "resnet50", "shufflenet", "vgg19")


def describe(machine: Machine) -> dict[str, object]:
    """Say what a reader needs to judge the figures: processors, cores, caches, versions."""
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "processors": machine.processors,
        "runtimes": machine.runtimes,
    }


def main() -> int:
    """Run the benchmark and write its record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("nets", nargs="*", default=FIVE)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--runtimes", type=lambda text: text.split(","))
    parser.add_argument("--little", type=float)
    parser.add_argument("--max-latency-share", type=float)
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    before = [f"{load:.2f}" for load in os.getloadavg()]
    comparison = evener.bench_networks(
        options.nets,
        rounds=options.rounds,
        runtimes=options.runtimes,
        little=options.little,
        max_latency_share=options.max_latency_share,
    )
    loads = [f"{load:.2f}" for load in os.getloadavg()]
    record = {
        "command": " ".join(["python", "benchmarks/bench_networks.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "load": {"before": before, "after": loads, "of": "the last 1, 5 and 15 minutes"},
        "machine": describe(evener.find_processors()),
        "comparison": comparison,
    }
    write_whole(options.out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    for ratio in comparison.ratios:
        print(
            f"{ratio.network}: {ratio.median:.3f} ({ratio.low:.3f} - {ratio.high:.3f}) of the "
            f"best other, {ratio.over}"
        )
    for limit in comparison.limits:
        print(
            f"{limit.network}: p99 {limit.latency_p99_s:.4f} s of at most {limit.max_latency_s:.4f}"
        )
    print(f"geometric mean: {comparison.ratio_best:.3f}; over {comparison.ratio_means}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
