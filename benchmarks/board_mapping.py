"""Check which blocks the board files say that a table's parts are made of.

Usage: python benchmarks/board_mapping.py TABLES [-o FILE]

TABLES is as for `make_boards.py`. GoogLeNet has 13 blocks and 11 parts, SqueezeNet 19 and 10. Every
way to join neighbouring blocks into as many parts is judged by how well it explains the times of
parts: the cost model of each processor at its highest clock, fitted to *other* networks,
predicts the joined blocks, and the mean squared logarithm of predicted over measured is taken.
MobileNet has too many ways to try (20 million), and AlexNet and ResNet-50 only one.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from board_networks import TIMED
from fit_boards import Floats, Networks, fit_rates, groups_of, timed_networks
from make_boards import SOURCES, Source, measured, part_times, read
from record import write_record

from evener.network.blocks import cut_into_blocks
from evener.network.features import block_features

CHECKED: Final = ("googlenet", "squeezenet")
_LEAST_MS: Final = 1e-3  # a head of views alone is predicted to take nothing


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How one way to join blocks stands among all.

    Attributes:
        board: name of the board.
        network: name of the network.
        ways: how many ways there are.
        place: of the board file's, from 1 for the best.
        error: of the board file's, the mean squared logarithm of predicted over measured.
        median_error: of all ways.
        best: how many blocks each part takes in the best way.
        best_error: its error.
    """

    board: str
    network: str
    ways: int
    place: int
    error: float
    median_error: float
    best: tuple[int, ...]
    best_error: float


def main() -> int:
    """Judge, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", type=Path, help="folder of folders of CSV files")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    networks = timed_networks()
    found = [one for source in SOURCES for one in standings(source, options.tables, networks)]
    for one in found:
        print(
            f"{one.board}, {one.network}: place {one.place} of {one.ways} ways, error "
            f"{one.error:.3f}; best {one.best_error:.3f} with {list(one.best)}; median "
            f"{one.median_error:.3f}"
        )
    if options.out:
        write_record(options.out, {"standings": msgspec.to_builtins(found)})
    return 0


def standings(source: Source, tables: Path, networks: Networks) -> Iterator[Standing]:
    """Judge every way to join the blocks of each network in a board's tables."""
    rows = [row for name in source.layers for row in read(tables / source.name / name)]
    times = part_times(measured(rows, source.levels))
    for network in CHECKED:
        make, counts = TIMED[network]
        whole = make()
        features = block_features(whole, cut_into_blocks(whole, "paper"))
        judged: list[tuple[Floats, Floats]] = []  # of each block predicted, of each part measured
        for processor, levels in source.levels.items():
            of = times[processor, levels[-1].mhz]
            others = [name for name in of if name in networks.features and name != network]
            if network in of and len(others) > 1:
                known = {name: np.array(of[name]) for name in others}
                rates = fit_rates(known, others, networks, groups_of(()))
                judged.append((features @ rates, np.array(of[network])))
        if judged:
            yield standing(source.name, network, counts, judged)


def standing(
    board: str, network: str, counts: Sequence[int], judged: Sequence[tuple[Floats, Floats]]
) -> Standing:
    """Judge every way to join some blocks, and find the place of one."""
    blocks = len(judged[0][0])
    errors: dict[tuple[int, ...], float] = {}
    for cuts in combinations(range(1, blocks), len(counts) - 1):
        starts = [0, *cuts]
        way = tuple(end - start for start, end in pairwise([*starts, blocks]))
        errors[way] = float(
            np.mean(
                [
                    np.mean(np.log(np.maximum(np.add.reduceat(own, starts), _LEAST_MS) / part) ** 2)
                    for own, part in judged
                ]
            )
        )
    best = min(errors, key=errors.__getitem__)
    own = errors[tuple(counts)]
    return Standing(
        board=board,
        network=network,
        ways=len(errors),
        place=1 + sum(error < own for error in errors.values()),
        error=own,
        median_error=float(np.median(list(errors.values()))),
        best=best,
        best_error=errors[best],
    )


if __name__ == "__main__":
    raise SystemExit(main())
