"""Hold the energies of the board files against whole runs that their authors measured.

Usage: python benchmarks/board_energy.py TABLES [-o FILE]

TABLES is a folder with `khadas-vim3/Evaluations*.csv` and `rk3399pro/Evaluations*.csv`
(github.com/Ehsan-aghapour/CO-UP-Profiling: frames one after another, each part on a processor at a
clock of its own), and `rk3399pro-measured-runs/ProfileResult_measured.csv`
(github.com/Ehsan-aghapour/PipeAll-GA: pipelines of GoogLeNet). A frame is predicted to take what
its parts draw beyond the idle board, and what the idle board draws in its time: that of all its
parts where frames follow one another, that of the slowest stage in a pipeline. Only runs at clocks
that the board files have are compared: a GPU has a big core at its highest clock as its host.
"""

import argparse
import ast
import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from make_boards import NETWORKS
from measured_tables import PART_OF_BLOCK, Run, StageOf, read_runs
from record import write_record

from evener.artifacts.board import Board, Cost, add, load_board

Costs = Mapping[tuple[str, float | None], tuple[Cost, ...]]
"""What each part of a network costs, by processor and clock."""
HIGHEST_MHZ = 1800
BELOW_IDLE_W = 3.1  # a pipeline whose power is read below this was misread


@dataclass(frozen=True)
class Compared:
    """A run, measured and predicted.

    Attributes:
        group: what kind of run it is.
        energy: joules a frame, measured and predicted.
        time: seconds a frame, measured and predicted.
    """

    group: str
    energy: tuple[float, float]
    time: tuple[float, float]


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of one kind.

    Attributes:
        runs: how many.
        energy: spread of predicted over measured energy.
        time: spread of predicted over measured time.
    """

    runs: int
    energy: dict[str, float]
    time: dict[str, float]


def main() -> int:
    """Compare, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", type=Path, help="folder of folders of CSV files")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    found = summarise(compare(options.tables))
    for group, row in found.items():
        energy, time = row.energy, row.time
        print(
            f"{group}, {row.runs} runs: predicted / measured energy {energy['median']:.3f} "
            f"({energy['quartile_low']:.3f} to {energy['quartile_high']:.3f}; 5 to 95 % "
            f"{energy['percent_5']:.3f} to {energy['percent_95']:.3f}), time {time['median']:.3f}"
        )
    if options.out:
        write_record(options.out, {"predicted_over_measured": msgspec.to_builtins(found)})
    return 0


def compare(tables: Path) -> list[Compared]:
    """Predict every run that the board files can tell of."""
    found: list[Compared] = []
    for name in ("khadas-vim3", "rk3399pro"):
        board = load_board(name)
        for path in sorted((tables / name).glob("Evaluations*.csv")):
            with path.open(newline="", encoding="utf-8") as file:
                found.extend(one_after_another(board, csv.DictReader(file)))
    runs = read_runs(tables / "rk3399pro-measured-runs" / "ProfileResult_measured.csv")
    return [*found, *pipelined(load_board("rk3399pro"), runs)]


def one_after_another(board: Board, rows: Iterable[Mapping[str, str]]) -> Iterator[Compared]:
    """Predict runs of one frame after another."""
    for row in rows:
        network = NETWORKS.get(row["graph"], "")
        order = "".join(letter for letter in row["order"] if letter.isalpha())
        if not row["total_e"] or network not in board.networks:
            continue  # a blank row, a run that failed, a network that was not timed
        costs = costs_of(board, network)
        places = [
            place(board, processor, level)
            for processor, level in zip(order, levels_of(row["freq"], len(order)), strict=True)
        ]
        if len(order) != board.timed(network).parts or not all(one in costs for one in places):
            continue
        parts = [costs[one][part] for part, one in enumerate(places)]
        energy_j = [part.energy_j for part in parts]
        if any(one is None for one in energy_j):
            continue
        time_s = sum(part.time_s for part in parts)
        whole_j = sum(one or 0.0 for one in energy_j) + (board.idle_w or 0.0) * time_s
        kinds = len(set(order))
        with_npu = ", with the NPU" if "N" in order else ""
        clocks = "" if all(one == "max" for one in levels_of(row["freq"], 1)) else " at each clock"
        yield Compared(
            f"{board.name}: one after another on {kinds} processor{'s' * (kinds > 1)}"
            f"{clocks}{with_npu}",
            ((float(row["total_e"]) - float(row["output_e"])) / 1e3, whole_j),
            (float(row["total_time"]) / 1e3, time_s),
        )


def levels_of(text: str, parts: int) -> list[object]:
    """Read the column `freq`: a level for each part, or "max" or "min" for all of them."""
    if "max" in text or "min" in text:
        return ["max" if "max" in text else "min"] * parts
    return list(ast.literal_eval(text))


def place(board: Board, processor: str, level: object) -> tuple[str, float | None]:
    """Return a processor and the clock of a level; one that no file has where the host differs."""
    clocks = next(one.clocks_hz for one in board.processors if one.name == processor)
    hosted = processor in "GN"
    match level:
        case "max":
            return processor, clocks[-1] if clocks else None
        case "min":
            return processor, clocks[0] if clocks and not hosted else -1.0
        case (7,) if processor == "N":
            return processor, None
        case (int() as own, 7) if hosted and clocks:
            return processor, clocks[own]
        case (int() as own,) if not hosted:
            return processor, clocks[own]
        case _:
            return processor, -1.0


def pipelined(board: Board, runs: Iterable[Run]) -> Iterator[Compared]:
    """Predict pipelines of GoogLeNet that stand in the table: no NPU, no part cut in two."""
    costs = costs_of(board, "googlenet")
    for run in runs:
        setting = run.setting
        hosted = "G" not in run.order or (setting.gpu_host, setting.big_mhz) == ("B", HIGHEST_MHZ)
        if "N" in run.order or run.cuts_a_part or not hosted or not run.power_w > BELOW_IDLE_W:
            continue
        clocks_hz = {
            "B": setting.big_mhz * 1e6,
            "L": setting.little_mhz * 1e6,
            "G": setting.gpu_mhz * 1e6,
        }
        stages = [
            whole(costs[stage.processor, clocks_hz[stage.processor]], stage) for stage in run.stages
        ]
        period_s = max(stage.time_s for stage in stages)
        dynamic_j = sum(stage.energy_j or 0.0 for stage in stages)
        count = len(stages)
        yield Compared(
            f"{board.name}: pipelines of {count} stage{'s' * (count > 1)}",
            (run.power_w / run.rate_hz, dynamic_j + (board.idle_w or 0.0) * period_s),
            (1 / run.rate_hz, period_s),
        )


def whole(costs: tuple[Cost, ...], stage: StageOf) -> Cost:
    """Add up the parts of a stage."""
    first, last = PART_OF_BLOCK[stage.first], PART_OF_BLOCK[stage.last]
    total = costs[first]
    for cost in costs[first + 1 : last + 1]:
        total = add(total, cost)
    return total


def costs_of(board: Board, network: str) -> Costs:
    """Look up what a board's file says of a network."""
    return {(one.processor, one.clock_hz): one.costs for one in board.timed(network).timings}


def summarise(found: Iterable[Compared]) -> dict[str, Group]:
    """Return the spread of predicted over measured, by kind of run."""
    groups: dict[str, list[Compared]] = defaultdict(list)
    for one in found:
        groups[one.group].append(one)
    return {
        group: Group(
            runs=len(of),
            energy=spread([one.energy[1] / one.energy[0] for one in of]),
            time=spread([one.time[1] / one.time[0] for one in of]),
        )
        for group, of in sorted(groups.items())
    }


def spread(values: list[float]) -> dict[str, float]:
    """Return the median, quartiles and tails of values."""
    names = ("percent_5", "quartile_low", "median", "quartile_high", "percent_95")
    return dict(zip(names, np.percentile(values, (5, 25, 50, 75, 95)).tolist(), strict=True))


if __name__ == "__main__":
    raise SystemExit(main())
