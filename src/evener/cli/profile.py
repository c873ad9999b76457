"""`evener profile NET`: measure every segment of a network on every processor."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from evener.cli import options, output, targets, values
from evener.cli.precision import precision_options
from evener.cli.records import as_cutting, as_engines
from evener.cli.verb import Verb

if TYPE_CHECKING:
    from evener.workflow import Cutting, Engines


@click.command(
    cls=Verb,
    examples=(
        "evener profile squeezenet",
        "evener profile model.onnx --shape images=1,3,640,640 -o model.profile.json",
        "evener profile model.onnx --precision int8 --calibration photos.npz --max-error 0.02",
    ),
    what_next="Plan with it: evener plan NET finds what was kept, and evener plan NET --profile "
    "FILE takes a file, also one from another machine.",
)
@click.argument("net", callback=values.through(values.read_name))
@options.granularity_option
@options.max_live_option
@options.processors_option
@options.runtimes_option()
@options.shape_option
@options.fix_option
@options.state_option
@precision_options
@click.option(
    "-o",
    "target",
    metavar="FILE",
    callback=values.through(targets.artifact("profile")),
    help="Write the profile to this file too.",
)
@click.option("--fresh", is_flag=True, help="Measure again, whatever was kept.")
@options.json_option
@as_cutting
@as_engines
def command(
    *,
    net: str,
    cutting: "Cutting",
    engines: "Engines",
    target: Path | None,
    fresh: bool,
    as_json: bool,
) -> None:
    """Time a network on each processor.

    Every segment of NET is timed, or interpolated between those that were.
    NET is an ONNX file or the name of a built-in network. What was measured is kept for this
    user and used again by plan, run and bench.
    """
    from evener import workflow
    from evener.artifacts import files

    targets.spare(target, net)
    with output.progress() as report:
        kept = workflow.profile_network(
            net, cutting=cutting, engines=engines, fresh=fresh, progress=report
        )
    if target is not None:
        files.save(target, kept.value, made_from=kept.made_from, took_s=kept.made.took_s)
        output.note(f"wrote {target}")
    if as_json:
        content = msgspec.to_builtins(kept)
        profile = content.pop("value")
        kind = {"kind": kept.value.kind, "schema": kept.value.schema}
        output.print_json(kind | content | {"content": profile})
        return
    from evener.cli.tables import lay_out

    output.print_for_people(lay_out(kept.value))
