"""Measure the plan of each network against baselines and peers, and record the machine.

Usage: python benchmarks/bench_networks.py [NET ...] [--rounds 15] [--runtimes onnxruntime]
       [--little 0.4] [--max-latency-share 0.65] [--shape NAME=SIZES ...] [--granularity node]
       [--precision int8 --max-error 0.02 [--calibration NET=FILE.npz ...]]
       [--minutes 60] [--fresh] -o FILE

A shape goes to the networks that have an input of that name. In lower precision, ranges are settled
and answers judged by the frames of --calibration, and for a network without by random ones: rates
do not depend on them, and the error is then that of random frames. The record says which.

Each network is a piece that is kept in `.cache/bench_networks` as soon as it is done, and not
measured again while neither the code nor the options change; no piece is begun after `--minutes`.
Then what is missing is named, the exit code is 1, and the same command goes on where it was.

Where half of the cores are throttled by a quota in periods of 2.5 ms, frames of less than 10 ms
feel single periods. So geometric means are given of all networks and of those with longer frames.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
import numpy as np
from pieces import Pieces
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
from evener.workflow.steps import code_version

FIVE: Final = ("alexnet", "googlenet", "resnet50", "shufflenet", "vgg19")
KEPT: Final = Path(__file__).parent.parent / ".cache" / "bench_networks"
SHORT_S: Final = 0.010  # of a frame on the best single processor
_PACKAGES: Final = ("artifacts", "network", "plan", "profile", "run", "runtime", "workflow")
CALIBRATION_FRAMES: Final = 64  # random ones, of which half settle the ranges and half judge


def main() -> int:
    """Run the benchmark and write its record."""
    options = read_options(sys.argv[1:])
    before = [f"{load:.2f}" for load in os.getloadavg()]
    pieces = Pieces(
        options.kept,
        time.monotonic() + 60 * options.minutes,
        fresh=options.fresh,
        code=code_version(*_PACKAGES),
    )
    try:
        found = compare(options, pieces)
    except InputError as error:
        print(f"bench_networks.py: {error}", file=sys.stderr)
        return 2
    if not found:
        print(f"bench_networks.py: nothing was measured: {pieces.missing}", file=sys.stderr)
        return 1
    comparison = together(found)
    longer = [one for one in found if frame_s(one) >= SHORT_S]
    loads = [f"{load:.2f}" for load in os.getloadavg()]
    record = {
        "command": " ".join(["python", "benchmarks/bench_networks.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "load": {"before": before, "after": loads, "of": "the last 1, 5 and 15 minutes"},
        "machine": describe(evener.find_processors()),
        "shapes": options.shapes,
        "granularity": options.granularity,
        "precision": describe_precision(options),
        "missing": pieces.missing,
        "comparison": comparison,
        "means_of_longer_frames": means(longer),
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
        if (best := limit.over_best) is not None:
            print(
                f"{limit.network}: {best.median:.3f} ({best.low:.3f} - {best.high:.3f}) of the "
                f"best other that keeps it, {best.over}"
            )
    for row in comparison.rows:
        if row.deviation is not None:
            print(
                f"{row.network}: {row.name} at {row.rate_hz:.2f} /s with an error of "
                f"{row.deviation.error:.2g}"
            )
    print(f"geometric mean: {comparison.ratio_best:.3f}; over {told(comparison.ratio_means)}")
    print(f"of frames of {SHORT_S * 1e3:g} ms or more: over {told(means(longer))}")
    if pieces.missing:
        print(f"missing: {pieces.missing}")
    return int(bool(pieces.missing))


def frame_s(comparison: Comparison) -> float:
    """Return how long a frame of one network takes on the best single processor, in seconds."""
    return next(row.latency_p50_s for row in comparison.rows if row.kind == "single")


def means(comparisons: Sequence[Comparison]) -> dict[str, float]:
    """Return geometric means over networks of the plan's rate over each rival; "best" is any.

    Rivals that did not take part in each network are left out; there are none of no network.
    """
    rivals = set.intersection(*({*one.ratio_means} for one in comparisons)) if comparisons else ()
    found = {
        over: geometric_mean(one.ratio_means[over] for one in comparisons)
        for over in sorted(rivals)
    }
    return found | (
        {"best": geometric_mean(one.ratio_best for one in comparisons)} if comparisons else {}
    )


def told(ratios: dict[str, float]) -> str:
    """Say ratios for people."""
    return ", ".join(f"{over} {ratio:.3f}" for over, ratio in ratios.items()) or "none"


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; what cannot be read ends with how to give it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("nets", nargs="*", default=FIVE)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--runtimes", type=lambda text: text.split(","))
    parser.add_argument("--little", type=float)
    parser.add_argument("--max-latency-share", type=float)
    parser.add_argument("--shape", dest="shapes", action="append", default=[], type=_shape)
    parser.add_argument("--granularity", choices=["paper", "strict", "node"], default="paper")
    parser.add_argument("--precision", choices=["int8", "fp16", "auto"])
    parser.add_argument("--max-error", type=float)
    parser.add_argument("--calibration", action="append", default=[], type=_frames_of)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no network later")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    parser.add_argument("--kept", type=Path, default=KEPT, help="folder of what is measured")
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


def compare(options: argparse.Namespace, pieces: Pieces) -> list[Comparison]:
    """Measure network by network, each with its own shapes and calibration.

    Args:
        options: of the command line.
        pieces: keeps what is measured.

    Returns:
        Those that are measured; of the others `pieces` knows why not.

    Raises:
        InputError: a network cannot be read, or no network has an input of a shape given.
    """
    cutting = Cutting(shapes=options.shapes, granularity=options.granularity)
    cuttings = each_its_own(options.nets, cutting)
    found = [
        pieces.get(
            Path(net).stem,
            Comparison,
            partial(measure, net, own, options),
            net=net,
            shapes=own.shapes,
            granularity=own.granularity,
            rounds=options.rounds,
            runtimes=options.runtimes,
            little=options.little,
            max_latency_share=options.max_latency_share,
            precision=options.precision,
            max_error=options.max_error,
            calibration=str(options.calibration.get(net)),
        )
        for net, own in zip(options.nets, cuttings, strict=True)
    ]
    return [one for one in found if one is not None]


def measure(net: str, cutting: Cutting, options: argparse.Namespace) -> Comparison:
    """Measure one network."""
    contest = Contest(rounds=options.rounds, max_latency_share=options.max_latency_share)
    with calibrated(net, cutting, options) as wish:
        return evener.bench_networks(
            [net],
            little=options.little,
            contest=contest,
            cutting=cutting,
            engines=Engines(runtimes=options.runtimes, precision=wish),
        )


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
