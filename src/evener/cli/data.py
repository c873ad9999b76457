"""`evener data describe|convert`: what data become, or pictures into rows that training reads."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from evener.cli import options, output, targets, values
from evener.cli.verb import Verb
from evener.errors import InputError
from evener.units import count

if TYPE_CHECKING:
    from evener.data.convert import Colours
    from evener.data.pixels import Fit


_LARGEST: Final = 4096  # pixels a side


def read_size(text: str) -> tuple[int, int]:
    """Read width and height.

    Example:
        >>> read_size("28x32")
        (28, 32)
    """
    width, _, height = text.partition("x")
    sizes = [int(one) if one.isascii() and one.isdigit() else 0 for one in (width, height)]
    if min(sizes) < 1 or max(sizes) > _LARGEST:
        raise InputError(
            f"'{text}' is no size: write WIDTHxHEIGHT, such as 28x28, up to {_LARGEST}"
        )
    return sizes[0], sizes[1]


@click.command(
    cls=Verb,
    examples=(
        "evener data describe my-project",
        "evener data describe titanic.csv --target survived",
        "evener data convert photos/ -o photos.npz --size 32x32",
        "evener data convert photos/ -o photos.csv --size 28x28 --colours rgb --fit pad",
        "evener data convert photos/ -o photos.txt --size 8x8 --json",
    ),
    what_next="Train on the rows: evener train --shape 1024,256,5 --data photos.npz; or name the "
    "file as data.source in a project's evener.toml.",
)
@click.argument("action", type=click.Choice(["describe", "convert"]))
@click.argument("source", callback=values.through(values.read_path))
@click.option(
    "-o",
    "target",
    metavar="FILE",
    callback=values.through(targets.read_rows),
    help="Convert: write the rows: .npz and .csv with labels in them; .txt with a row of numbers "
    "for each picture, and beside it .labels.txt with a 1 in the place of its class.",
)
@click.option(
    "--size",
    metavar="WxH",
    default="28x28",
    show_default=True,
    callback=values.through(read_size),
    help="Width and height that each picture gets.",
)
@click.option(
    "--colours",
    type=click.Choice(["grey", "rgb"]),
    default="grey",
    show_default=True,
    help="Whether a pixel is one number or three.",
)
@click.option(
    "--fit",
    type=click.Choice(["crop", "stretch", "pad"]),
    default="crop",
    show_default=True,
    help="How a picture gets its size: the middle of it, all of it out of proportion, or all of it "
    "with black beside.",
)
@click.option(
    "--target",
    "column",
    metavar="NAME",
    help="Describe a file: the column or array to predict.  [default: label]",
)
@options.json_option
def command(
    *,
    action: str,
    source: Path,
    target: Path | None,
    size: tuple[int, int],
    colours: str,
    fit: str,
    column: str | None,
    as_json: bool,
) -> None:
    """Look at data, or convert pictures.

    To describe, SOURCE is a project or a file that a project could name. To convert, it is a folder
    of pictures; those in folders of their own are labelled with its name. Each picture becomes a
    row of numbers from 0 to 1, pixel by pixel from the top left.
    """
    if action == "describe":
        if target is not None:
            raise InputError("-o is for data convert, and describing writes nothing; leave it out")
        _describe(source, column, as_json=as_json)
        return
    if target is None:
        raise InputError("data convert writes a file: name it, such as -o photos.npz")
    if column is not None:
        raise InputError("--target is for data describe; pictures are labelled by their folders")
    targets.spare(target, source)
    from evener.data.convert import convert_pictures

    found = convert_pictures(
        source,
        target,
        size=size,
        colours=cast("Colours", colours),
        fit=cast("Fit", fit),
    )
    if as_json:
        output.print_json(found)
        return
    lines = [f"{count(found.rows, 'picture')} as rows of {count(found.features, 'number')}"]
    if found.classes:
        lines.append(f"classes: {', '.join(found.classes)}")
    output.print_for_people(*lines, *(f"wrote {path}" for path in found.files))


def _describe(source: Path, column: str | None, *, as_json: bool) -> None:
    """Print the facts of a project's data, or of a file."""
    from evener.artifacts.project import FILE_NAME, DataSection, load_project
    from evener.cli.tables import lay_out
    from evener.workflow.facts import describe_data

    if (source / FILE_NAME).is_file() or source.name == FILE_NAME:
        if column is not None:
            raise InputError("a project names its target itself: leave out --target")
        folder = source if source.is_dir() else source.parent
        facts = describe_data(load_project(folder).data, folder)
    else:
        facts = describe_data(DataSection(source=str(source), target=column or "label"), Path())
    if as_json:
        output.print_json(facts)
    else:
        output.print_for_people(lay_out(facts))
