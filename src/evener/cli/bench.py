"""`evener bench NET...`: hold the plan against what needs no planner, in one run."""

from math import isfinite, nan
from typing import TYPE_CHECKING, Final

import click
import msgspec

from evener import units
from evener.cli import options, output, values
from evener.cli.precision import precision_options
from evener.cli.records import as_basis, as_contest, as_cutting, as_engines
from evener.cli.verb import Verb
from evener.errors import InputError

if TYPE_CHECKING:
    from evener.workflow import Basis, Contest, Cutting, Engines

LEAST_SHARE: Final = 0.01


def read_limit(text: str) -> tuple[float | None, float | None]:
    """Read a longest latency: in seconds, or as a share of the copies' 99th percentile.

    Example:
        >>> read_limit("40 ms"), read_limit("0.65x")
        ((0.04, None), (None, 0.65))
    """
    number = text.strip().removesuffix("x")
    if number == text.strip():
        return values.read_time(text), None
    try:
        share = float(number)
    except ValueError:
        share = nan
    if not (isfinite(share) and share > 0):
        raise InputError(f"'{text}' is no share: write such as 0.65x, with a number above 0")
    return None, share


def read_share(text: str) -> float:
    """Read a share of a core's time.

    Example:
        >>> read_share("0.4")
        0.4
    """
    share = units.parse(text, "number")
    if not LEAST_SHARE <= share < 1:
        raise InputError(f"'{text}' is not a share from {LEAST_SHARE} to below 1, such as 0.4")
    return share


@click.command(
    cls=Verb,
    examples=(
        "evener bench squeezenet",
        'evener bench resnet50 googlenet --rounds 7 --max-latency "80 ms" --json',
        "evener bench alexnet --little 0.4 --max-latency 0.65x",
        "evener bench alexnet googlenet --board khadas-vim3 --slowdown 2",
        "evener bench squeezenet detector.onnx --shape x=1,3,320,320",
        "evener bench model.onnx --precision int8 --calibration photos.npz --max-error 0.02",
    ),
    what_next="See where the time goes: evener run NET --frames 100 shows how busy each stage is.",
)
@click.argument(
    "nets",
    nargs=-1,
    required=True,
    metavar="NET...",
    callback=values.through(values.read_name),
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    metavar="R",
    help="How often each is run; they take turns.  [default: 15, on a board 3]",
)
@click.option(
    "--max-latency",
    "limit",
    metavar="TIME|SHAREx",
    callback=values.through(read_limit),
    help='Keep the latency of the plan below this, such as "80 ms"; 0.65x is that share of what '
    "99 of 100 frames take with copies, which is measured first. Exit code 1 if it is missed.",
)
@click.option(
    "--little",
    metavar="SHARE",
    callback=values.through(read_share),
    help="Throttle half of the fastest cores to this share of their time, for everything that is "
    "measured, as if the machine had little cores: 0.4 is 1 ms in 2.5 ms. Needs root.",
)
@options.optimisation_option
@options.processors_option
@options.runtimes_option(options.EQUAL_RUNTIMES)
@options.shape_option
@options.fix_option
@options.state_option
@precision_options
@options.simulation_options
@options.json_option
@as_contest
@as_cutting
@as_engines
@as_basis
def command(
    *,
    nets: tuple[str, ...],
    contest: "Contest",
    little: float | None,
    cutting: "Cutting",
    engines: "Engines",
    basis: "Basis",
    no_compute: bool,
    slowdown: float | None,
    as_json: bool,
) -> int:
    """Race the plan against its rivals.

    The plan of each NET is measured beside a single processor, all cores and copies, and beside
    OpenVINO's hints LATENCY and THROUGHPUT and its AUTO device where it is installed.
    NET is an ONNX file or the name of a built-in network. Rates are the median over the rounds,
    with their quartiles; the ratio is that of the plan's rate to the best other's, round by round.
    Of several networks, --shape, --fix and --state go to those that have the input or output.
    With --board all run on its simulated processors instead, and there are no peers.
    """
    from evener import workflow

    options.refuse_without_board(
        basis.board, slowdown, transfers=basis.transfers, no_compute=no_compute
    )
    if basis.board is not None and little is not None:
        raise click.UsageError(
            "--little throttles cores of this machine, and a board has little ones of its own: "
            "leave out --little or --board"
        )
    with output.progress() as report:
        if basis.board is None:
            result = workflow.bench_networks(
                nets,
                little=little,
                contest=contest,
                cutting=cutting,
                engines=engines,
                progress=report,
            )
        else:
            result = workflow.bench_on_board(
                nets,
                board=basis.board,
                transfers=basis.transfers,
                compute=not no_compute,
                slowdown=slowdown or 1.0,
                contest=contest,
                cutting=cutting,
                engines=engines,
                progress=report,
            )
    if as_json:
        output.print_json(msgspec.to_builtins(result))
    else:
        from evener.cli.tables import lay_out

        output.print_for_people(lay_out(result))
    return 0 if result.holds else 1
