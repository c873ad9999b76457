"""Switch off one part of the search at a time: what does each add, on digits?

Usage: python benchmarks/ablation.py [--seeds 8] [--search-seeds 6] [--table-seeds 100]
       [--only "no pruning,..."] [--kinds algorithm,search,tables] [--minutes 30] [--fresh]
       [-o FILE]

Three searches, each whole and with one part switched off, or on where the whole has it not:

* the paper's Algorithm 1 (`ablation_algorithm.PARTS`), on a shortened Table I. Hyperparameters are
  the same for all, so that they do not hide the rest; two parts draw them, from the edge of chaos
  of a table that is probed on the training split, and evenly from Table I. A part that saves or
  costs training stands beside one that is trained as much.
* `evener search` with its defaults, but shorter and over narrower layers (`ablation_search.PARTS`).
  What it ends with is trained in full, three times.
* its algorithms with the cache of networks that are known, and without. A training is drawn from a
  network's own seed, so that one that is trained again comes to the same, and a search without the
  cache takes the course of one with it, only later: both are read off the same proposals. On the
  tables of NAS-Bench-201, where a training is a look, there is room for many seeds.

Digits are split into fewer rows to learn from than usual and more to test, so that differences can
be seen. Differences from the whole are of equal seeds, and intervals are Student's. Every run is a
piece that is kept in `.cache/ablation`; none is begun after `--minutes`, and the same command goes
on where it was. With `-o NAME.json` it also writes NAME.md.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final, TypeVar

import ablation_algorithm as algorithm
import ablation_page as page
import ablation_search as searches
import msgspec
import numpy as np
from ablation_algorithm import Run
from ablation_page import Found
from ablation_search import Searched
from nasbench_tables import TABLES
from pieces import Pieces
from record import circumstances, exit_with, write_record
from sections import markdown

from evener.artifacts.files import digest, file_sha256, write_whole
from evener.artifacts.project import DataSection
from evener.artifacts.search_section import SearchSection
from evener.data.dataset import Dataset
from evener.data.load import load_dataset
from evener.errors import InputError
from evener.search.chaos.coevolving_states import CoEvolution
from evener.search.chaos.table import PAPER, Probed, probe_table
from evener.train.rows import standardised_rows
from evener.workflow.steps import code_version

HERE: Final = Path(__file__).parent
KEPT: Final = HERE.parent / ".cache" / "ablation"
DATA: Final = DataSection(source="digits", validation_share=0.2, test_share=0.5)
PROBE_STEPS: Final = 60
KINDS: Final = ("algorithm", "search", "tables")
_PACKAGES: Final = ("artifacts", "data", "search", "train", "workflow")
_OWN: Final = (__file__, "ablation_algorithm.py", "ablation_search.py")
PieceT = TypeVar("PieceT")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is wanted as far as there is time, print what it came to and write it."""
    options = read_options(arguments)
    until_s = time.monotonic() + 60 * options.minutes
    here = Path(__file__).parent
    code = digest([code_version(*_PACKAGES), *(file_sha256(here / name) for name in _OWN)])
    pieces = Pieces(options.kept, until_s, fresh=options.fresh, code=code)
    found = find(pieces, options)
    rows = page.rows_of(found)
    for row in rows:
        print(page.told(row))
    for line in pieces.missing:
        print(line)
    if options.out is not None:
        dataset = digits()
        record = {
            "rows": dataset.row_counts,
            "table": msgspec.to_builtins(algorithm.TABLE),
            "search": msgspec.to_builtins(searches.SECTION),
            "found": msgspec.to_builtins(rows),
            "runs": {"algorithm": found.runs, "search": found.searches},  # of tables too many
            "missing": pieces.missing,
        }
        write_record(options.out, record)
        text = markdown(page.sections(rows, dataset.row_counts, pieces.missing, circumstances()))
        write_whole(options.out.with_suffix(".md"), text.encode())
    return int(pieces.out_of_time)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line.

    Raises:
        InputError: no such part or kind, or fewer seeds than an interval takes.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--seeds", type=int, default=8, help="of Algorithm 1")
    add("--search-seeds", type=int, default=6, help="of `evener search`")
    add("--table-seeds", type=int, default=100, help="of searches of a table")
    add("--minutes", type=float, default=30.0, help="begin no run later")
    add("--fresh", action="store_true", help="do again what is kept")
    add("--only", help="parts, separated by commas, the whole beside them; all if left out")
    add("--kinds", default=",".join(KINDS), help="of searches, separated by commas")
    add("--kept", type=Path, default=KEPT, help="folder of runs that are done")
    add("-o", "--out", type=Path)
    options = parser.parse_args(arguments)
    options.kinds = options.kinds.split(",")
    options.only = options.only.split(",") if options.only else None
    known = {*algorithm.PARTS, *searches.PARTS, *searches.CACHED, *searches.TABLE_ALGORITHMS}
    for given, there in ((options.only or (), known), (options.kinds, KINDS)):
        for one in given:
            if one not in there:
                raise InputError(f"there is no '{one}'; give {', '.join(sorted(there))}")
    seeds = (options.seeds, options.search_seeds, options.table_seeds)
    if min(seeds) < 2:
        raise InputError(f"{', '.join(map(str, seeds))} seeds: an interval takes 2 or more of each")
    return options


def find(pieces: Pieces, options: argparse.Namespace) -> Found:
    """Run each part from each seed, all parts of a seed before the next seed.

    Args:
        pieces: makes and keeps the runs.
        options: of the command line.
    """
    only, kinds = options.only, options.kinds
    own, other = (file_sha256(Path(str(one.__file__))) for one in (algorithm, searches))
    looked_up = digest([other, file_sha256(HERE / "nasbench_tables.py")])
    runs: dict[str, dict[int, Run]] = {}
    found: dict[str, dict[int, Searched]] = {}
    tables: dict[str, dict[str, dict[int, Searched]]] = {}
    for seed in range(max(options.seeds, options.search_seeds)):
        if "algorithm" in kinds and seed < options.seeds:
            for name in _wanted(algorithm.PARTS, only):
                make = partial(_run, algorithm.PARTS[name], seed)
                run = pieces.get(f"algorithm {name}, seed {seed}", Run, make, code=own)
                _put(runs, name, seed, run)
        if "search" in kinds and seed < options.search_seeds:
            for name, section in searches_of(only).items():
                search = partial(_searched, section, seed)
                piece = pieces.get(f"search {name}, seed {seed}", Searched, search, code=other)
                _put(found, name, seed, piece)
    if "tables" in kinds:
        for table in TABLES:
            for name in _wanted(searches.TABLE_ALGORITHMS, only):
                look = partial(_looked_up, name, table, options.table_seeds)
                some = pieces.get(
                    f"table {table} {name}",
                    list[Searched],
                    look,
                    seeds=options.table_seeds,
                    code=looked_up,
                )
                if some is not None:
                    tables.setdefault(table, {})[name] = dict(enumerate(some))
    return Found(runs=runs, searches=found, tables=tables)


def searches_of(only: Sequence[str] | None) -> dict[str, SearchSection]:
    """Return what to search digits by; the default algorithm of the whole stands there once.

    Args:
        only: parts that are wanted; all if None.
    """
    every = {**searches.PARTS, **searches.CACHED}
    del every[page.DEFAULT]
    return {name: every[name] for name in _wanted(every, only)}


def _wanted(names: Mapping[str, object] | Sequence[str], only: Sequence[str] | None) -> list[str]:
    some = [one for one in names if only is None or one in only]
    return list(dict.fromkeys(["whole", *some])) if some and "whole" in names else some


def _put(found: dict[str, dict[int, PieceT]], name: str, seed: int, piece: PieceT | None) -> None:
    if piece is not None:
        found.setdefault(name, {})[seed] = piece


@cache
def digits() -> Dataset:
    """Return the digits, with more rows to test than usual."""
    return load_dataset(DATA, Path())


@cache
def _probed() -> Probed:
    learned = standardised_rows(digits(), "train").inputs.numpy().astype(np.float32)
    _, wanted = digits().examples("train")
    return probe_table(PAPER, CoEvolution(learned, wanted, "classes", PROBE_STEPS, seed=0))


def _run(part: algorithm.Part, seed: int) -> Run:
    return algorithm.run(part, digits(), _probed(), seed)


def _searched(section: SearchSection, seed: int) -> Searched:
    return searches.search(section, digits(), seed)


def _looked_up(name: str, table: str, seeds: int) -> list[Searched]:
    return [searches.search_table(name, table, seed) for seed in range(seeds)]


if __name__ == "__main__":
    exit_with(main)
