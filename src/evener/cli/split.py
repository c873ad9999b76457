"""`evener split NET --cuts BLOCKS -o FOLDER`: write the parts of a network as ONNX files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evener.cli import options, output, targets, values
from evener.cli.records import as_cutting
from evener.cli.verb import Verb

if TYPE_CHECKING:
    from evener.workflow import Cutting


@click.command(
    cls=Verb,
    examples=(
        "evener split resnet50 --cuts 4,11 -o resnet50-parts",
        "evener split model.onnx --cuts 0 -o halves --json",
    ),
    what_next="Run the files one after the other with whatever reads ONNX: each reads what the one "
    "before it hands on. evener plan NET --explain lists the cuts.",
)
@click.argument("net", callback=values.through(values.read_name))
@options.cuts_option(required=True)
@click.option(
    "-o",
    "folder",
    metavar="FOLDER",
    required=True,
    callback=values.through(targets.read_new_folder),
    help="Write the files into this folder, which must not exist yet.",
)
@options.granularity_option
@options.max_live_option
@options.shape_option
@options.fix_option
@options.state_option
@options.json_option
@as_cutting
def command(
    *,
    net: str,
    cuts: tuple[int, ...],
    folder: Path,
    cutting: "Cutting",
    as_json: bool,
) -> None:
    """Write the parts of a network as files.

    NET is an ONNX file or the name of a built-in network. Its parts become NAME.0.onnx, NAME.1.onnx
    and so on, beside NAME.split.json, which names what each part reads and hands on.
    """
    from evener import workflow

    with output.progress() as report:
        split = workflow.split_network(
            net, cuts=cuts, folder=folder, cutting=cutting, progress=report
        )
    if as_json:
        output.print_json(split)
        return
    from evener.cli.tables import lay_out

    output.print_for_people(lay_out(split))
    output.note(f"wrote {folder}")
