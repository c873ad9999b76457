"""Redo the Pipe-All paper: its Table 1, its Figures 2, 7a and 7b, and its four averages.

Usage: python benchmarks/pipe_all.py [--quick] [--fresh] [--minutes 8] [--little 0.4]
       [--networks alexnet,...] [--boards khadas-vim3,...] [-o benchmarks/results/pipe_all]

Writes OUT.md, OUT.html (with charts) and OUT.json, beside the paper's own numbers. Each network is
looked at in three ways: by prediction from a board's table, by the real pipeline over simulated
processors of the board, and by real computing on this machine, half of whose cores are throttled to
`--little` of their time where this process may do that.

Every piece is kept in `.cache/pipe_all` as soon as it is done, and not done again while neither the
code nor the options change. No piece is begun after `--minutes`: then what is missing is named, the
exit code is 1, and the same command goes on where it was.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Final

import pipe_all_page as page
import pipe_all_ways as ways
from pieces import Pieces
from pipe_all_paper import TABLE_1, Found, averages
from record import circumstances, write_record
from sections import html, markdown

from evener.artifacts.board import Board, load_board
from evener.artifacts.files import digest, file_sha256, write_whole
from evener.errors import InputError
from evener.workflow.little import Little, little_cores
from evener.workflow.steps import code_version

HERE: Final = Path(__file__).parent
KEPT: Final = HERE.parent / ".cache" / "pipe_all"
BOARDS: Final = ("khadas-vim3", "rk3399pro")  # the paper's first
QUICK: Final = ("squeezenet", "mobilenet")
_SOURCES: Final = ("pipe_all_ways.py", "pipe_all_paper.py", "board_networks.py")
_PACKAGES: Final = ("artifacts", "network", "plan", "profile", "run", "runtime", "workflow")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make every piece that there is time for, and write what was found."""
    options = read_options(arguments)
    code = digest([code_version(*_PACKAGES), *(file_sha256(HERE / name) for name in _SOURCES)])
    pieces = Pieces(
        options.kept, time.monotonic() + 60 * options.minutes, fresh=options.fresh, code=code
    )
    network = cache(ways.build)
    first = load_board(BOARDS[0])

    def search(name: str) -> ways.Search:
        return ways.search(network(name), first)

    def predict(name: str, board: Board) -> Found:
        return ways.predict(network(name), board)

    def simulate(name: str, board: Board) -> Found:
        return ways.simulate(network(name), board, frames=options.frames)

    def compute(name: str) -> Found:
        return ways.compute(network(name), place=place, throttled=throttled, rounds=options.rounds)

    def simulated(board: Board) -> list[Found | None]:
        return [
            pieces.get(
                f"simulated {name} {board.name}",
                Found,
                partial(simulate, name, board),
                board=board,
                frames=options.frames,
            )
            for name in options.networks
        ]

    searches = [
        pieces.get(f"search {name}", ways.Search, partial(search, name), board=first)
        for name in options.networks
    ]
    found = [
        pieces.get(
            f"predicted {name} {board.name}", Found, partial(predict, name, board), board=board
        )
        for board in options.boards
        for name in options.networks
    ]
    found += simulated(options.boards[0])
    if options.quick:
        pieces.missing.append("computing on this machine itself: left out by --quick")
    else:
        with cores_of(options.little, pieces.missing) as (place, throttled):
            found += [
                pieces.get(
                    f"computed {name}",
                    Found,
                    partial(compute, name),
                    place=place,
                    rounds=options.rounds,
                )
                for name in options.networks
            ]
    for board in options.boards[1:]:
        found += simulated(board)
    write(options.out, searches, found, pieces.missing)
    return int(pieces.out_of_time)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line: networks as the paper names them, boards as loaded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="two networks, one board, no computing by itself")
    add("--fresh", action="store_true", help="do again what is kept")
    add("--minutes", type=float, default=8.0, help="begin no piece later")
    add("--little", type=float, default=0.4, help="share of time of throttled cores; 1 for none")
    add("--networks", help="names of the paper's networks, with commas")
    add("--boards", help="names or files of boards, with commas")
    add("--frames", type=int, default=24, help="fewest of a simulated run of several lanes")
    add("--rounds", type=int, default=7, help="of real computing")
    add("--kept", type=Path, default=KEPT, help="folder of pieces that are done")
    add("-o", "--out", type=Path, default=HERE / "results" / "pipe_all")
    options = parser.parse_args(arguments)
    named = QUICK if options.quick else tuple(TABLE_1)
    options.networks = options.networks.split(",") if options.networks else named
    unknown = [name for name in options.networks if name not in TABLE_1]
    if unknown:
        parser.error(f"the paper has no network {', '.join(unknown)}: it has {', '.join(TABLE_1)}")
    of_boards = BOARDS[:1] if options.quick else BOARDS
    try:
        options.boards = [
            load_board(name)
            for name in (options.boards.split(",") if options.boards else of_boards)
        ]
    except InputError as error:
        parser.error(str(error))
    return options


@contextmanager
def cores_of(share: float, missing: list[str]) -> Iterator[tuple[str, Little | None]]:
    """Throttle half of the cores to a share of their time; leave all equal where that cannot be.

    Args:
        share: below 1; 1 for equal cores.
        missing: is told why cores could not be throttled.

    Yields:
        What to call the machine, and its throttled cores.
    """
    with ExitStack() as stack:
        throttled = None
        if share < 1:
            try:
                throttled = stack.enter_context(little_cores(share))
            except InputError as error:
                missing.append(f"throttled cores: {error}; all were equal")
        if throttled is None:
            yield "this machine, equal cores", None
        else:
            yield f"this machine, half of its cores at {share:.0%} of their time", throttled


def write(
    out: Path,
    searches: Sequence[ways.Search | None],
    found: Sequence[Found | None],
    missing: Sequence[str],
) -> None:
    """Write the three files."""
    searched = [one for one in searches if one is not None]
    present = [one for one in found if one is not None]
    parts = page.sections(searched, present, missing, circumstances())
    places = dict.fromkeys((one.basis, one.place) for one in present)
    means = [
        {
            "basis": basis,
            "place": place,
            **averages(one for one in present if (one.basis, one.place) == (basis, place)),
        }
        for basis, place in places
    ]
    write_record(
        out.with_suffix(".json"),
        {"averages": means, "table_1": searched, "found": present, "missing": missing},
    )
    write_whole(out.with_suffix(".md"), markdown(parts).encode())
    write_whole(out.with_suffix(".html"), html(parts).encode())
    print(f"wrote {out}.md, .html and .json; missing: {'; '.join(missing) or 'nothing'}")


if __name__ == "__main__":
    sys.exit(main())
