"""`evener bench NET...`: hold the plan against what needs no planner, in one run."""

from typing import TYPE_CHECKING

import click
import msgspec

from evener.cli import options, output
from evener.cli.verb import Verb

if TYPE_CHECKING:
    from evener.runtime.session import Optimisation


@click.command(
    cls=Verb,
    examples=(
        "evener bench squeezenet",
        'evener bench resnet50 googlenet --rounds 7 --max-latency "80 ms" --json',
    ),
    what_next="See where the time goes: evener run NET --frames 100 shows how busy each stage is.",
)
@click.argument(
    "nets",
    nargs=-1,
    required=True,
    metavar="NET...",
    callback=options.through(options.read_name),
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    metavar="R",
    default=15,
    show_default=True,
    help="How often each is run; they take turns.",
)
@click.option(
    "--max-latency",
    "max_latency_s",
    metavar="TIME",
    callback=options.through(options.read_time),
    help='Only plans predicted to be at most this slow, such as "80 ms".',
)
@options.optimisation_option
@options.processors_option
@options.runtimes_option(options.EQUAL_RUNTIMES)
@options.shape_option
@options.fix_option
@options.state_option
@options.json_option
def command(
    *,
    nets: tuple[str, ...],
    rounds: int,
    max_latency_s: float | None,
    optimisation: "Optimisation",
    processors: tuple[str, ...] | None,
    runtimes: tuple[str, ...] | None,
    shapes: options.Shapes,
    fixed: dict[str, float],
    states: dict[str, str],
    as_json: bool,
) -> None:
    """Race the plan against the baselines.

    The plan of each NET is measured beside a single processor, all cores and copies.
    NET is an ONNX file or the name of a built-in network. Rates are the median over the rounds,
    with their quartiles; the ratio is that of the plan's rate to the best other's, round by round.
    """
    from evener import workflow

    with output.progress() as report:
        result = workflow.bench_networks(
            nets,
            rounds=rounds,
            max_latency_s=max_latency_s,
            optimisation=optimisation,
            processors=processors,
            runtimes=runtimes,
            shapes=dict(shapes),
            fixed=fixed,
            states=states,
            progress=report,
        )
    if as_json:
        output.print_json(msgspec.to_builtins(result))
    else:
        from evener.cli.tables import lay_out

        output.print_for_people(lay_out(result))
