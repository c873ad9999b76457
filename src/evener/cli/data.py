"""`evener data convert IMAGES`: pictures into rows that training reads."""

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
        "evener data convert photos/ -o photos.npz --size 32x32",
        "evener data convert photos/ -o photos.csv --size 28x28 --colours rgb --fit pad",
        "evener data convert photos/ -o photos.txt --size 8x8 --json",
    ),
    what_next="Train on the rows: evener train --shape 1024,256,5 --data photos.npz; or name the "
    "file as data.source in a project's evener.toml.",
)
@click.argument("action", type=click.Choice(["convert"]))
@click.argument("images", callback=values.through(values.read_path))
@click.option(
    "-o",
    "target",
    metavar="FILE",
    required=True,
    callback=values.through(targets.read_rows),
    help="Write the rows: .npz and .csv with labels in them; .txt with a row of numbers for each "
    "picture, and beside it .labels.txt with a 1 in the place of its class.",
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
@options.json_option
def command(
    *,
    action: str,  # noqa: ARG001 - there is one so far
    images: Path,
    target: Path,
    size: tuple[int, int],
    colours: str,
    fit: str,
    as_json: bool,
) -> None:
    """Convert pictures into rows of numbers.

    IMAGES is a folder of pictures; those in folders of their own are labelled with its name. Each
    picture becomes a row of numbers from 0 to 1, pixel by pixel from the top left.
    """
    targets.spare(target, images)
    from evener.data.convert import convert_pictures

    found = convert_pictures(
        images,
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
