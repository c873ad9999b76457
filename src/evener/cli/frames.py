"""The options of a run that say where frames come from and where answers go."""

from collections.abc import Callable
from functools import reduce
from math import isfinite
from pathlib import Path
from typing import Any, Final

import click

from evener.cli import targets
from evener.cli.options import CommandT
from evener.cli.values import read_names, read_path, through
from evener.errors import InputError

_SOURCES: Final = (
    *(".npz", ".csv", ".tsv", ".parquet", ".jsonl", ".ndjson"),
    *(".csv.gz", ".tsv.gz", ".jsonl.gz", ".ndjson.gz"),
    *(".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"),
    *(".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm"),
)


def read_frames(text: str) -> int | Path:
    """Read how many frames to make up, or what to read them from.

    Example:
        >>> read_frames("100"), read_frames("rows.csv.gz")
        (100, PosixPath('rows.csv.gz'))
    """
    if text.isdecimal() and int(text) > 0:
        return int(text)
    camera, _, number = text.partition(":")
    if text == "-" or (camera == "camera" and number.isdecimal()):
        return Path(text)
    if text.endswith("/") or text.lower().endswith(_SOURCES) or (text and Path(text).is_dir()):
        return Path(text)
    raise InputError(
        f"'{text}' is neither a count from 1 nor frames: give an .npz file, a .csv, .csv.gz or "
        ".parquet table, .jsonl lines, a picture or a folder of them, a video, camera:0, or - for "
        "lines from standard input"
    )


def read_numbers(text: str) -> tuple[float, ...]:
    """Read numbers with commas between them.

    Example:
        >>> read_numbers("0.5, 0.25,1")
        (0.5, 0.25, 1.0)
    """
    try:
        numbers = tuple(map(float, text.split(",")))
    except ValueError:
        numbers = ()
    if not numbers or not all(map(isfinite, numbers)):
        raise InputError(f"'{text}' are no numbers: write 0.5 or 0.5,0.5,0.5")
    return numbers


def read_factor(text: str) -> float:
    """Read a single number.

    Example:
        >>> read_factor("0.5")
        0.5
    """
    number, *others = read_numbers(text)
    if others:
        raise InputError(f"'{text}' are {len(others) + 1} numbers: write one, such as 0.5")
    return number


def frame_options(command: CommandT) -> CommandT:
    """Add the options of sources and of files of answers; see `as_reading` and `as_writing`."""
    return reduce(lambda made, option: option(made), reversed(_OPTIONS), command)


_OPTIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    click.option(
        "--frames",
        metavar="N|PATH",
        callback=through(read_frames),
        required=True,
        help="How many random frames; or what to read them from: an .npz file, a table (.csv, "
        ".csv.gz, .parquet), lines (.jsonl, or - for standard input), a folder of pictures, a "
        "picture, a video, or camera:0.",
    ),
    click.option(
        "--limit",
        type=click.IntRange(min=1),
        metavar="N",
        help="Read at most so many frames.  [default: all]",
    ),
    click.option(
        "--columns",
        metavar="NAMES",
        callback=through(read_names),
        help="Columns of a table that the network reads, in its order, such as age,colour=red.  "
        "[default: those that it learned from, else all but --id]",
    ),
    click.option(
        "id_column",
        "--id",
        metavar="COLUMN",
        help="Column of a table that goes with each answer.",
    ),
    click.option(
        "--preset",
        type=click.Choice(["imagenet", "unit", "signed", "raw"]),
        help="What the values of a picture become: with the mean and spread of ImageNet, 0 to 1, "
        "-1 to 1, or 0 to 255.  [default: imagenet; unit for grey, raw for integers]",
    ),
    click.option(
        "--scale",
        callback=through(read_factor),
        metavar="X",
        help="Multiply a picture's values, 0 to 255, by this first.  [default: the preset's]",
    ),
    click.option(
        "--mean",
        metavar="NUMBERS",
        callback=through(read_numbers),
        help="Then subtract this, one number or one a channel.  [default: the preset's]",
    ),
    click.option(
        "--std",
        metavar="NUMBERS",
        callback=through(read_numbers),
        help="Then divide by this, one number or one a channel.  [default: the preset's]",
    ),
    click.option(
        "--fit",
        type=click.Choice(["crop", "stretch", "pad"]),
        help="How a picture gets the network's size: the middle of it, all of it out of "
        "proportion, or all of it with black beside.  [default: crop]",
    ),
    click.option(
        "--out",
        metavar="FILE",
        callback=through(targets.read_answers),
        help="Write the answers: .npz and .jsonl hold all of each, .csv and .parquet a row of what "
        "it predicts.",
    ),
    click.option(
        "--labels",
        metavar="FILE",
        callback=through(read_path),
        help="Name the classes as this text file does, one a line.  [default: as the network's "
        "card does, else by number]",
    ),
    click.option(
        "timeline",
        "--trace",
        metavar="FILE.json",
        callback=through(targets.read_timeline),
        help="Write when each stage ran each frame, for evener show and ui.perfetto.dev.",
    ),
    click.option(
        "--annotate",
        metavar="FOLDER",
        callback=through(targets.read_new_folder),
        help="Write each picture into this new folder, with what was predicted on it.",
    ),
)
