"""`evener init FOLDER`: begin a project with a commented evener.toml."""

import json
import os
import shlex
import tomllib
import unicodedata
from pathlib import Path
from typing import Final

import click

from evener.cli import output, values
from evener.cli.verb import Verb
from evener.errors import InputError, InvalidFileError

DIGITS: Final = "digits"
_ARRAY: Final = "label"  # of an NPZ file, where no other is named
TEMPLATE: Final = """\
# A project of Evener: evener build reads this file from the folder that it is given.
# docs/requirements.md explains every requirement. Keys that are commented out show their defaults.

[data]
# docs/data.md says what can be read, and what becomes of it.
source = {source}  # "digits" is built in; else a table, an NPZ file or a folder of pictures
target = {target}  # what to predict; if it is not found out rightly, say task = "numbers"
# drop = []               # columns that are not read
# only = []               # "column=value" reads those rows alone
# text = []               # columns whose words are features
# text_features = 5000    # most words, or runs of 2 words too with text_run = 2
# bins = 0                # 16 lets networks read numbers by bins as well, which mostly helps them
# size = [32, 32]         # width and height of the pictures of a folder
# colours = "rgb"         # or "grey"
# test_share = 0.2        # rows kept for the verdict; or test_source = "test.csv" has them
# validation_share = 0.2  # rows kept to choose by; or split_column = "part" says all parts
# seed = 0                # labels of one column are divided by separator = " "

[requirements]            # hard, unless it ends in "?"
{requirements}

[search]
# algorithm = "screened"  # "nsga2", "paper", "regularized", "islands", "random", "coevolution"
# population = 10         # networks of a generation; all of them with evaluations = 60
# generations = 6         # preset = "table1" has the paper's settings
# epochs = 15             # passes over the training rows for each network; rows = 9000 takes some
#                         # batch = 16 for these alone
# budget = "10 min"       # longest time for all of them
# networks = "auto"       # "layers", or "blocks" of convolutions where rows are pictures
# stages = 3              # of blocks, each with channels = [8, 16, 32]
# blocks = 2              # most of a stage
# depth = 4               # most hidden layers; units that they may have with widths = [32, 64]
# max_nodes = 1024        # most units of all hidden layers
# activations = ["relu", "gelu"]
# links = "any"           # or "chain", for layers one behind another
# shards = []             # [1, 2, 4]: into how many shards a chain's layers may be divided
# halos = []              # ["full", 1, 8]: neurons of its neighbours that a shard may see
# density = 0.75          # of links in the first networks
# start = "critical"      # or "ordered", "chaotic", "random": where weights begin
# probe = false           # whether the data's edge of chaos is measured before the search
# base_models = []        # networks that the first generation begins with, such as "64-32 relu"
# recipes = false         # whether learning rates and the like evolve too
# cost = "macs"           # made small beside the error; "weights", "period", "latency", "energy"
#                         # or several: ["latency", "weights"]
# crossover = 0.9         # of "paper": probability of two parents; and mutation = 0.05 of a bit
# parents = 4             # of "paper": how many breed
# elite = 1               # of "paper": how many live on
# operators = "fixed"     # or "learned" from children; and band = [0.2, 0.6] of what is new
# sets = 3                # of "coevolution": weight sets of each network
# compete = false         # whether their layers compete, credit = "mean" or another way to judge
#                         # cycles = 9 follow a cut; error_threshold = 0.3 allows cuts
#                         # fitness_threshold = 0.1 ends them; certainty = 0.95 makes them rarer
# inherit = false         # whether children begin from what their parents learned
# halving = false         # whether the better third of the networks trains on, twice
# finalists = 3           # networks that are trained in full before one is chosen
# seeds = 3               # how often each of them is
# together = 8            # networks that a process trains in one batch
# device = "cpu"          # or "cuda"
# seed = 0

[train]
# epochs = 60             # passes over the training rows for the chosen one
# batch = 32
# learning_rate = 0.003
# class_weight = "none"   # "balanced" if rare classes are to count as much as common ones
# dropout = 0.0           # share of hidden units that a step leaves out, such as 0.3
# shift = 0               # by how many places pictures are moved at random, at most
# mirror = false          # whether left and right of a picture change places at random
# deliver = "network"     # "recommended": a simple model where it answers validation rows better
# prune = 0.0             # share of the hidden units that goes after the epochs, such as 0.5
# refit = true            # whether the chosen network learns from the validation rows too
# seed = 0
# ranks = 1               # processes that train it together, by MPI
# replicas = 1            # copies of it that share the ranks, and the rows of a batch
# halo = "full"           # or how many neurons of its neighbours a shard sees, with shards = 8

[plan]
# objective = "throughput"  # or "latency"
# processors = "all"        # or a list of names; those of a board with board = "khadas-vim3"

[serve]
# host = "127.0.0.1"      # this machine only; "0.0.0.0" for every network it is in
# port = 8080
# queue = 64              # most requests that may wait
"""
FOR_DIGITS: Final = """\
accuracy = ">= 0.97"
latency_p99 = "<= 20 ms"
throughput = ">= 200 /s"
size = "<= 2 MB ?\""""
FOR_TABLE: Final = """\
{metric:<26}# raise it to what you need, and drop the "?" to insist
latency_p99 = "<= 20 ms"
size = "<= 2 MB ?\""""
_METRICS: Final = {
    "classes": 'accuracy = ">= 0.8 ?"',
    "numbers": 'r2 = ">= 0.5 ?"',
    "labels": 'f1 = ">= 0.5 ?"',
}


@click.command(
    cls=Verb,
    examples=(
        "evener init my-digits",
        "evener init iris --data iris.csv --target species",
    ),
    what_next="Read and change FOLDER/evener.toml, then: evener build FOLDER.",
)
@click.argument("folder", callback=values.through(values.read_path))
@click.option(
    "--data",
    default=DIGITS,
    show_default=True,
    metavar="digits|FILE",
    callback=values.through(values.read_name),
    help="The dataset: built in, a .csv or .tsv table whose first line names its columns, or an "
    ".npz file of arrays.",
)
@click.option(
    "--target",
    help="The column or array to predict.  [default: the last column; the array 'label']",
)
def command(*, folder: Path, data: str, target: str | None) -> None:
    """Begin a project in a folder.

    A commented evener.toml is written into FOLDER; one that is already there is never
    overwritten.
    """
    from evener.artifacts import files
    from evener.artifacts.project import FILE_NAME, parse_project

    _check_folder(folder)
    path = folder / FILE_NAME
    if os.path.lexists(path):
        raise InvalidFileError(
            f"{path} is already there and is not overwritten; choose another folder",
            path=str(path),
        )
    if data == DIGITS:
        if target not in (None, "label"):
            raise InputError(f"--target {target}: the digits have the one target 'label'")
        source, column, requirements = DIGITS, "label", FOR_DIGITS
    else:
        from evener.data.guess import task_of

        column = _target(_tidy(Path(data)), target)
        source = _seen_from(folder, Path(data))
        task = task_of(_tidy(Path(data)), column) or "classes"
        requirements = FOR_TABLE.format(metric=_METRICS[task])
    text = TEMPLATE.format(
        source=json.dumps(source, ensure_ascii=False),  # so written, TOML reads the same text
        target=json.dumps(column, ensure_ascii=False),
        requirements=requirements,
    )
    parse_project(tomllib.loads(text))
    files.write_whole(path, text.encode())
    output.note(f"wrote {path}; next: evener build {shlex.quote(str(folder))}")


def _check_folder(folder: Path) -> None:
    # Checked before anything is made: a line break in a name breaks every message that holds it.
    if any(unicodedata.category(character) == "Cc" for character in str(folder)):
        raise InputError(f"the folder {str(folder)!r} has a control character in its name; drop it")
    if os.path.lexists(folder) and not os.path.isdir(folder):  # noqa: PTH112 - never raises
        raise InvalidFileError(f"{folder} is a file; name a folder", path=str(folder))


def _tidy(path: Path) -> Path:
    """Return a path without ".." in it; the file may itself be a link, and keeps its name."""
    return _direct(path) if ".." in path.parts else path


def _direct(file: Path) -> Path:
    return Path(os.path.realpath(file.parent), file.name)


def _seen_from(folder: Path, file: Path) -> str:
    """Write where a file is, relative to a folder; links on the way to either are followed."""
    source = os.path.relpath(_direct(file), os.path.realpath(folder))
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise InvalidFileError(
            f"the name {source!r} is not UTF-8, as evener.toml must be; rename the file",
            path=str(file),
        ) from error
    return source


def _target(table: Path, target: str | None) -> str:
    """Return what to predict: by default the last column of a table, or the array "label"."""
    from evener.data.csv_file import read_header
    from evener.data.table import missing_target

    if table.suffix.lower() == ".npz":
        from evener.data.npz_file import read_npz

        named = target or _ARRAY
        read_npz(table, (named,))  # refuses a file without it
        return named
    if table.suffix.lower() not in (".csv", ".tsv"):
        raise InputError(
            f"--data {table} is neither 'digits' nor a .csv, .tsv or .npz file; name one of them"
        )
    columns = read_header(table)
    if target is None:
        return columns[-1]
    if target not in columns:
        raise missing_target(target, columns, str(table), "column")
    return target
