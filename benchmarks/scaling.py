"""Redo Tables I to IV of the Blue Gene paper: what runs here is timed, the rest is projected.

Usage: python benchmarks/scaling.py [--quick] [--fresh] [--minutes 6] [--models S,M,L]
       [--seconds 2] [-o benchmarks/results/scaling]

Writes OUT.md, OUT.html (with charts) and OUT.json, beside the paper's own numbers. Timed are: the
dense network and every number of shards on one rank, on one core; and two ranks over MPI where it
is installed, the dense network in each way in which values or sums can travel. Projected by the
cost model, from a calibration of the same run, are as many ranks as there are shards. Whatever a
time is of, the weights that are trained stand beside it.

Every piece is kept in `.cache/scaling` as soon as it is done, and not done again while neither the
code nor the options change. No piece is begun after `--minutes`: then what is missing is named, the
exit code is 1, and the same command goes on where it was.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import scaling_page as page
from pieces import Pieces
from record import circumstances, write_record
from scaling_paper import LINKS, MODELS, TIMES_S, Point, sigmoids, workers
from scaling_rank import Timing
from sections import html, markdown

from evener.artifacts.calibration import Calibration, Link
from evener.artifacts.files import digest, file_sha256, write_whole
from evener.artifacts.topology import Halo, Topology
from evener.errors import EvenerError
from evener.train.carriage import Carriage, adds_up
from evener.train.cost_model import iteration_cost
from evener.train.shape import Shape
from evener.workflow.ranks import find_launcher, freely
from evener.workflow.steps import code_version

HERE: Final = Path(__file__).parent
KEPT: Final = HERE.parent / ".cache" / "scaling"
HALOS: Final[tuple[Halo, ...]] = (1, 16, "full")
TOGETHER: Final = 32  # shards of the network that one rank and two ranks train alike
OTHER_WAYS: Final[tuple[Carriage, ...]] = ("gather", "sums", "broadcast")
"""What may travel between the ranks of a dense network, beside the cheapest, layer by layer."""

_SOURCES: Final = ("scaling_rank.py", "scaling_paper.py")
_PACKAGES: Final = ("artifacts", "comm", "train")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make every piece that there is time for, and write what was found."""
    options = read_options(arguments)
    code = digest([code_version(*_PACKAGES), *(file_sha256(HERE / name) for name in _SOURCES)])
    pieces = Pieces(
        options.kept, time.monotonic() + 60 * options.minutes, fresh=options.fresh, code=code
    )
    calibration = pieces.get("calibration", Calibration, calibrate)
    points: list[Point] = []
    for model in options.models:
        for one in to_measure(model, quick=options.quick):
            timing = pieces.get(
                str(one), Timing, partial(measure, one, options.seconds), seconds=options.seconds
            )
            if timing is not None:
                points.append(measured(one, timing, calibration))
    if calibration is not None:
        links = [*([calibration.link] if calibration.link else []), *LINKS]
        points += [
            project(model, shards, halo, link, calibration)
            for model in options.models
            for shards in workers(model)
            for halo in HALOS
            for link in links
            if shards > 1
        ]
        points += [
            project("L", shards, "full", link, calibration, carriage=carriage)
            for shards in workers("L")
            for link in links
            for carriage in other_ways("L")
            if "L" in options.models
        ]
    parts = page.sections(points, calibration, pieces.missing, circumstances())
    write_record(
        options.out.with_suffix(".json"),
        {"calibration": calibration, "points": points, "missing": pieces.missing},
    )
    write_whole(options.out.with_suffix(".md"), markdown(parts).encode())
    write_whole(options.out.with_suffix(".html"), html(parts).encode())
    print(f"wrote {options.out}.md, .html and .json; missing: {pieces.missing or 'nothing'}")
    return int(pieces.out_of_time)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="model S, and its largest number of shards, only")
    add("--fresh", action="store_true", help="do again what is kept")
    add("--minutes", type=float, default=6.0, help="begin no piece later")
    add("--models", help="S, M and L, with commas")
    add("--seconds", type=float, default=2.0, help="how long to time each")
    add("--kept", type=Path, default=KEPT, help="folder of pieces that are done")
    add("-o", "--out", type=Path, default=HERE / "results" / "scaling")
    options = parser.parse_args(arguments)
    named = ["S"] if options.quick else list(MODELS)
    options.models = options.models.split(",") if options.models else named
    unknown = [name for name in options.models if name not in MODELS]
    if unknown:
        parser.error(f"the paper has no model {', '.join(unknown)}: it has {', '.join(MODELS)}")
    return options


@dataclass(frozen=True, slots=True)
class Asked:
    """A network to be timed.

    Attributes:
        model: S, M or L.
        ranks: that compute it.
        shards: of the network.
        halo: of the network.
        carriage: what travels between the ranks of a dense one.
    """

    model: str
    ranks: int
    shards: int
    halo: Halo
    carriage: Carriage = "cheapest"

    def __str__(self) -> str:
        """Name it, as its piece is called."""
        return f"{self.model} {self.shards} shards halo {self.halo} {self.carriage} on {self.ranks}"


def to_measure(model: str, *, quick: bool = False) -> list[Asked]:
    """Return what is timed of a model."""
    shards = list(TIMES_S[model])
    if quick:
        shards = shards[-1:]
    return [
        Asked(model, 1, 1, "full"),
        *(Asked(model, 1, count, 1) for count in shards if count > 1),
        Asked(model, 2, TOGETHER, 1),
        Asked(model, 2, TOGETHER, 16),
        Asked(model, 2, 2, "full"),
        *(Asked(model, 2, 2, "full", carriage) for carriage in other_ways(model)),
    ]


def other_ways(model: str) -> list[Carriage]:
    """Return what else may travel than what is cheapest; what comes to the same is left out."""

    def choice(carriage: Carriage) -> list[bool]:
        widths = MODELS[model]
        return [
            adds_up(Topology(shards=2), widths, layer, 2, carriage)
            for layer in range(1, len(widths))
        ]

    return [one for one in OTHER_WAYS if one == "broadcast" or choice(one) != choice("cheapest")]


def calibrate() -> Calibration:
    """Let `evener selfcheck` measure this machine: with ranks where MPI is installed."""
    try:
        find_launcher()
    except EvenerError as error:
        print(f"no MPI: {error}", end=" ", flush=True)
        command = ["selfcheck", "--json"]
    else:
        command = ["selfcheck", "--mpi", "--json"]
    printed = run([sys.executable, "-m", "evener", *command])
    return msgspec.convert(msgspec.json.decode(printed)["calibration"], Calibration)


def measure(asked: Asked, seconds: float) -> Timing:
    """Time a network in processes of its own, so that its memory is given back.

    Raises:
        MissingExtraError: two ranks, and no MPI.
        EvenerError: a process failed.
    """
    command = [
        *(sys.executable, str(HERE / "scaling_rank.py")),
        *("--widths", ",".join(map(str, MODELS[asked.model])), "--seconds", str(seconds)),
        *("--shards", str(asked.shards), "--halo", str(asked.halo)),
        *("--carriage", asked.carriage),
    ]
    if asked.ranks > 1:
        command = [find_launcher(), "-n", str(asked.ranks), *command]
    return msgspec.json.decode(run(command), type=Timing)


def run(command: Sequence[str]) -> bytes:
    """Run a program and return what it printed.

    Raises:
        EvenerError: it failed; with the end of what it said.
    """
    environment = freely() | {"OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, capture_output=True, env=environment, check=False)
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise EvenerError(f"{' '.join(command)} ended with {ended.returncode}: {' '.join(said)}")
    return ended.stdout


def measured(asked: Asked, timing: Timing, calibration: Calibration | None) -> Point:
    """Put a timing beside what the cost model says of it."""
    predicted = None
    if calibration is not None and (asked.ranks == 1 or calibration.link is not None):
        shape = shape_of(asked.model, asked.shards, asked.halo)
        predicted = iteration_cost(shape, calibration, ranks=asked.ranks, carriage=asked.carriage)
    return Point(
        model=asked.model,
        halo=asked.halo,
        carriage=asked.carriage,
        shards=asked.shards,
        ranks=asked.ranks,
        basis="measured",
        link="MPI on this machine" if asked.ranks > 1 else "",
        weights=timing.weights,
        iteration_s=timing.median_s,
        low_s=timing.low_s,
        high_s=timing.high_s,
        communication_max_s=timing.communication_max_s,
        communication_mean_s=timing.communication_mean_s,
        bytes_per_iteration=timing.bytes_per_iteration,
        predicted_s=None if predicted is None else predicted.iteration_s,
    )


def project(
    model: str,
    shards: int,
    halo: Halo,
    link: Link,
    calibration: Calibration,
    *,
    carriage: Carriage = "cheapest",
) -> Point:
    """Predict an iteration of one row on as many ranks as there are shards."""
    cost = iteration_cost(
        shape_of(model, shards, halo),
        calibration,
        ranks=shards,
        link=link,
        carriage=carriage,
    )
    return Point(
        model=model,
        halo=halo,
        carriage=carriage,
        shards=shards,
        ranks=shards,
        basis="projected",
        link=link.name,
        weights=cost.weights,
        iteration_s=cost.iteration_s,
        low_s=cost.iteration_s,
        high_s=cost.iteration_s,
        communication_max_s=cost.communication_max_s,
        communication_mean_s=cost.communication_mean_s,
        bytes_per_iteration=cost.bytes_per_iteration,
    )


def shape_of(model: str, shards: int, halo: Halo) -> Shape:
    """Return one of the paper's networks: sigmoids, and every shard is fed the whole input."""
    widths = MODELS[model]
    return Shape(widths, sigmoids(widths), Topology(shards=shards, halo=halo))


if __name__ == "__main__":
    sys.exit(main())
