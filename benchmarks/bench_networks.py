"""Measure the plan of each network against baselines and peers, and record the machine.

Usage: python benchmarks/bench_networks.py [NET ...] [--rounds 15] [--runtimes onnxruntime]
       [--little 0.4] [--max-latency-share 0.65] [--shape NAME=SIZES ...]
       [--precision int8 --max-error 0.02 [--calibration NET=FILE.npz ...]] -o FILE

A shape goes to the networks that have an input of that name. In lower precision, ranges are settled
and answers judged by the frames of --calibration, and for a network without by random ones: rates
do not depend on them, and the error is then that of random frames. The record says which.
"""

import argparse
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
import numpy as np
from record import commit

import evener
from evener.artifacts.comparison import Comparison
from evener.artifacts.files import write_whole
from evener.artifacts.processors import Machine
from evener.cli.values import read_shape
from evener.errors import InputError
from evener.network.frames import random_frames
from evener.workflow import Contest, Cutting, Engines, PrecisionWish
from evener.workflow.compared import together
from evener.workflow.several import each_its_own

FIVE: Final = ("alexnet", "googlenet", "resnet50", "shufflenet", "vgg19")
CALIBRATION_FRAMES: Final = 64  # random ones, of which half settle the ranges and half judge


def main() -> int:
    """Run the benchmark and write its record."""
    options = read_options(sys.argv[1:])
    before = [f"{load:.2f}" for load in os.getloadavg()]
    try:
        comparison = compare(options)
    except InputError as error:
        print(f"bench_networks.py: {error}", file=sys.stderr)
        return 2
    loads = [f"{load:.2f}" for load in os.getloadavg()]
    record = {
        "command": " ".join(["python", "benchmarks/bench_networks.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "load": {"before": before, "after": loads, "of": "the last 1, 5 and 15 minutes"},
        "machine": describe(evener.find_processors()),
        "shapes": options.shapes,
        "precision": describe_precision(options),
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
    for row in comparison.rows:
        if row.deviation is not None:
            print(
                f"{row.network}: {row.name} at {row.rate_hz:.2f} /s with an error of "
                f"{row.deviation.error:.2g}"
            )
    print(f"geometric mean: {comparison.ratio_best:.3f}; over {comparison.ratio_means}")
    return 0


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; what cannot be read ends with how to give it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("nets", nargs="*", default=FIVE)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--runtimes", type=lambda text: text.split(","))
    parser.add_argument("--little", type=float)
    parser.add_argument("--max-latency-share", type=float)
    parser.add_argument("--shape", dest="shapes", action="append", default=[], type=_shape)
    parser.add_argument("--precision", choices=["int8", "fp16", "auto"])
    parser.add_argument("--max-error", type=float)
    parser.add_argument("--calibration", action="append", default=[], type=_frames_of)
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.shapes = dict(options.shapes)
    options.calibration = dict(options.calibration)
    if (options.precision is None) != (options.max_error is None):
        parser.error("--precision and --max-error go together: what a precision may cost")
    strangers = [net for net in options.calibration if net not in options.nets]
    if strangers or (options.calibration and options.precision is None):
        parser.error("--calibration NET=FILE.npz is for a NET given, in a --precision")
    return options


def compare(options: argparse.Namespace) -> Comparison:
    """Measure network by network, each with its own shapes and calibration."""
    contest = Contest(rounds=options.rounds, max_latency_share=options.max_latency_share)
    found = []
    for net, own in zip(
        options.nets, each_its_own(options.nets, Cutting(shapes=options.shapes)), strict=True
    ):
        with calibrated(net, own, options) as wish:
            found.append(
                evener.bench_networks(
                    [net],
                    little=options.little,
                    contest=contest,
                    cutting=own,
                    engines=Engines(runtimes=options.runtimes, precision=wish),
                )
            )
    return together(found)


@contextmanager
def calibrated(
    net: str, cutting: Cutting, options: argparse.Namespace
) -> Iterator[PrecisionWish | None]:
    """Give the wish for a network's precision; frames that are made up are there meanwhile."""
    if options.precision is None:
        yield None
        return
    with TemporaryDirectory() as place:
        path = options.calibration.get(net) or _random_calibration(net, cutting, Path(place))
        yield PrecisionWish(
            precision=options.precision, max_error=options.max_error, calibration=path
        )


def describe(machine: Machine) -> dict[str, object]:
    """Say what a reader needs to judge the figures: processors, cores, caches, versions."""
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "processors": machine.processors,
        "runtimes": machine.runtimes,
    }


def describe_precision(options: argparse.Namespace) -> dict[str, object] | None:
    """Say which precision was allowed at which cost, and by which frames; None in f32."""
    if options.precision is None:
        return None
    made_up = f"{CALIBRATION_FRAMES} random frames, seed 0"
    return {
        "precision": options.precision,
        "max_error": options.max_error,
        "calibration": {
            net: str(options.calibration[net]) if net in options.calibration else made_up
            for net in options.nets
        },
    }


def _random_calibration(net: str, cutting: Cutting, folder: Path) -> Path:
    inputs = cutting.load(net).inputs
    frames = random_frames(inputs, CALIBRATION_FRAMES, seed=0)
    arrays = {
        tensor.name: np.stack(column)
        for tensor, column in zip(inputs, zip(*frames, strict=True), strict=True)
    }
    np.savez(folder / "frames.npz", **arrays)  # type: ignore[arg-type] # takes arrays by any name
    return folder / "frames.npz"


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    try:
        return read_shape(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _frames_of(text: str) -> tuple[str, Path]:
    net, _, file = text.rpartition("=")
    if not net or not file:
        raise argparse.ArgumentTypeError(f"'{text}' names no frames: write NET=FILE.npz")
    return net, Path(file)


if __name__ == "__main__":
    sys.exit(main())
