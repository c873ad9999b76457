"""`evener bench NET...`: hold the plan against what needs no planner, in one run."""

from typing import TYPE_CHECKING

import click
import msgspec

from evener.cli import options, output
from evener.cli.verb import Verb
from evener.units import show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from evener.workflow import BenchResult


@click.command(
    cls=Verb,
    examples=(
        "evener bench squeezenet",
        'evener bench resnet50 googlenet --rounds 7 --max-latency "80 ms" --json',
    ),
    what_next="See where the time goes: evener run NET --frames 100 shows how busy each stage is.",
)
@click.argument("nets", nargs=-1, required=True, metavar="NET...")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    metavar="R",
    default=5,
    show_default=True,
    help="How often each way is run; the ways take turns.",
)
@click.option(
    "--max-latency",
    "max_latency_s",
    metavar="TIME",
    callback=options.through(options.read_time),
    help='Only ways at most this slow (p99), such as "80 ms".',
)
@options.optimisation_option
@options.processors_option
@options.shape_option
@options.json_option
def command(
    *,
    nets: tuple[str, ...],
    rounds: int,
    max_latency_s: float | None,
    optimisation: str,
    processors: tuple[str, ...] | None,
    shapes: options.Shapes,
    as_json: bool,
) -> None:
    """Race the plan against the baselines.

    The plan of each NET is measured beside a single processor, all cores and copies.
    NET is an ONNX file or the name of a built-in network. Rates are the median over the rounds,
    with the lowest and highest; the ratio is the plan's rate over the best other way's.
    """
    from evener import workflow

    with output.progress() as report:
        result = workflow.bench_networks(
            nets,
            rounds=rounds,
            max_latency_s=max_latency_s,
            optimisation=optimisation,
            processors=processors,
            shapes=dict(shapes),
            progress=report,
        )
    if as_json:
        output.print_json(msgspec.to_builtins(result))
    else:
        output.print_for_people(*_for_people(result))


def _for_people(result: "BenchResult") -> "list[RenderableType]":
    from evener.cli.tables import table

    rows = [
        (
            row.network,
            row.name,
            row.kind,
            show(row.rate_hz, "rate"),
            f"{show(row.rate_low_hz, 'rate')} - {show(row.rate_high_hz, 'rate')}",
            show(row.latency_p50_s, "time"),
            show(row.latency_p99_s, "time"),
        )
        for row in result.rows
    ]
    columns = ("network", "name", "kind", ">rate", ">low - high", ">p50", ">p99")
    ratios = [
        f"{network}: the plan reaches {median:.3f} of the best other way ({low:.3f} - {high:.3f})"
        for network, (median, low, high) in result.ratios.items()
    ]
    total = f"over all networks (geometric mean): {result.ratio_best:.3f}"
    return [table("frames per second, by the wall clock", columns, rows), *ratios, total]
