"""`evener init FOLDER`: begin a project with a commented evener.toml."""

import json
import os
import shlex
import tomllib
from pathlib import Path
from typing import Final

import click

from evener.cli import output
from evener.cli.verb import Verb
from evener.errors import InputError, InvalidFileError

DIGITS: Final = "digits"
TEMPLATE: Final = """\
# A project of Evener: evener build reads this file from the folder that it is given.
# docs/requirements.md explains every requirement. Keys that are commented out show their defaults.

[data]
source = {source}  # "digits" is built in; else a CSV or NPZ file, relative to this folder
target = {target}  # what to predict
# test_share = 0.2        # rows kept for the verdict
# validation_share = 0.2  # rows kept to choose by
# seed = 0

[requirements]            # hard, unless it ends in "?"
{requirements}

[search]
# candidates = 6          # networks that are tried
# epochs = 15             # passes over the training rows for each
# budget = "10 min"       # longest time for all of them
# seed = 0

[train]
# epochs = 60             # passes over the training rows for the chosen one
# batch = 32
# learning_rate = 0.003
# seed = 0

[plan]
# objective = "throughput"  # or "latency"
# processors = "all"        # or a list of names from: evener processors
"""
FOR_DIGITS: Final = """\
accuracy = ">= 0.97"
latency_p99 = "<= 20 ms"
throughput = ">= 200 /s"
size = "<= 2 MB ?\""""
FOR_TABLE: Final = """\
accuracy = ">= 0.8 ?"     # raise it to what you need, and drop the "?" to insist
latency_p99 = "<= 20 ms"
size = "<= 2 MB ?\""""


@click.command(
    cls=Verb,
    examples=(
        "evener init my-digits",
        "evener init iris --data iris.csv --target species",
    ),
    what_next="Read and change FOLDER/evener.toml, then: evener build FOLDER.",
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--data",
    default=DIGITS,
    show_default=True,
    metavar="digits|FILE.csv",
    help="The dataset: built in, or a table whose first line names its columns.",
)
@click.option("--target", help="The column to predict.  [default: the last one]")
def command(*, folder: Path, data: str, target: str | None) -> None:
    """Begin a project in a folder.

    A commented evener.toml is written into FOLDER; one that is already there is never
    overwritten.
    """
    from evener.artifacts import files
    from evener.artifacts.project import FILE_NAME, parse_project

    path = folder / FILE_NAME
    if path.exists():
        raise InvalidFileError(
            f"{path} is already there and is not overwritten; choose another folder",
            path=str(path),
        )
    if data == DIGITS:
        if target not in (None, "label"):
            raise InputError(f"--target {target}: the digits have the one target 'label'")
        source, column, requirements = DIGITS, "label", FOR_DIGITS
    else:
        column = _target(Path(data), target)
        source = os.path.relpath(data, folder)
        requirements = FOR_TABLE
    text = TEMPLATE.format(
        source=json.dumps(source, ensure_ascii=False),  # so written, TOML reads the same text
        target=json.dumps(column, ensure_ascii=False),
        requirements=requirements,
    )
    parse_project(tomllib.loads(text))
    files.write_whole(path, text.encode())
    output.note(f"wrote {path}; next: evener build {shlex.quote(str(folder))}")


def _target(table: Path, target: str | None) -> str:
    """Return the column to predict; the table's last one where none is named."""
    from evener.data.csv_file import read_header
    from evener.data.table import missing_target

    if table.suffix.lower() not in (".csv", ".tsv"):
        raise InputError(
            f"--data {table} is neither 'digits' nor a .csv or .tsv file; for an NPZ file, begin "
            "with the digits and change data.source"
        )
    columns = read_header(table)
    if target is None:
        return columns[-1]
    if target not in columns:
        raise missing_target(target, columns, str(table), "column")
    return target
