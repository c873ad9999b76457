"""Make the board files of the package from the published tables of their measurements.

Usage: python benchmarks/make_boards.py TABLES [--into src/evener/boards]

TABLES is a folder with the CSV files of github.com/Ehsan-aghapour/CO-UP-Profiling in the folders
`khadas-vim3/` and `rk3399pro/`. Each row of a `Layers*.csv` names a network, a processor (B big
cores, L LITTLE cores, G GPU, N NPU), its clock, a part (`Layer`), what was measured (`in`: loading
the frame, `task`: the part itself, `out`: fetching the answer), milliseconds, and milliwatts of the
whole board. Rows of the highest clock are kept, rows that were measured more than once are
averaged, and powers below what the board draws idle are dropped as outliers. The same tables make
the same files, byte for byte.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import fmean, median
from typing import Final

SOURCE: Final = "github.com/Ehsan-aghapour/CO-UP-Profiling"
IDLE_MW: Final = 3100.0
NETWORKS: Final = {
    "Alex": "alexnet",
    "Google": "googlenet",
    "MobileV1": "mobilenet",
    "ResV1_50": "resnet50",
    "SqueezeV1": "squeezenet",
    "InceptionV3": "inception-v3",
    "InceptionV4": "inception-v4",
    "InceptionResnetV2": "inception-resnet-v2",
    "YOLOv3": "yolov3",
}
Row = Mapping[str, str]


@dataclass(frozen=True)
class Part:
    """What was measured of one part of a network on one processor, means over the rows."""

    time_ms: float
    power_mw: float  # nan if every power was an outlier


@dataclass(frozen=True)
class Source:
    """A board, and where its tables lie.

    Attributes:
        name: of the file and the folder of tables.
        head: what the board is, in TOML.
        layers: tables of times, in the folder.
        transfers: table of transfers, if there is one.
        highest: clock and host clock of the rows to keep, by processor.
        notes: what more to say at the head of the file.
    """

    name: str
    head: str
    layers: Sequence[str]
    transfers: str | None
    highest: Mapping[str, tuple[str, str]]
    notes: str


NOTES: Final = f"""\
Made by benchmarks/make_boards.py from {SOURCE}.
Whole boards were measured, at the highest clock, one part on one processor at a time: milliseconds
of each part, and milliwatts of the board meanwhile. nan: no power is known; readings below 3.1 W,
about what an RK3399Pro draws idle, are dropped. Input is loading the frame, paid by the first
part; fetching the answer (0.2 to 2 ms) is left out.
"""
SOURCES: Final = (
    Source(
        name="khadas-vim3",
        head="""\
maker = "Khadas"
model = "VIM3 (Amlogic A311D)"

[processors.B]
kind = "cpu"
model = "Cortex-A73"
cores = [2, 3, 4, 5]
runtime = "armcl"
precision = "f32"

[processors.G]
kind = "gpu"
model = "Mali-G52"
runtime = "armcl"
precision = "f32"

[processors.L]
kind = "cpu"
model = "Cortex-A53"
cores = [0, 1]
runtime = "armcl"
precision = "f32"
""",
        layers=("Layers_P2_Alex_Mobile_Res50.csv", "Layers_Yujie_Inceptions.csv"),
        transfers=None,
        highest=dict.fromkeys("BGL", ("max", "max")),
        notes="""\
alexnet, mobilenet, resnet50: means of the two measurements in Layers_P2_Alex_Mobile_Res50.csv; the
others: Layers_Yujie_Inceptions.csv, measured once. No transfers were published for this board.
""",
    ),
    Source(
        name="rk3399pro",
        head="""\
maker = "Rockchip"
model = "RK3399Pro"

[processors.B]
kind = "cpu"
model = "Cortex-A72"
cores = [4, 5]
runtime = "armcl"
precision = "f32"

[processors.G]
kind = "gpu"
model = "Mali-T860"
runtime = "armcl"
precision = "f32"

[processors.L]
kind = "cpu"
model = "Cortex-A53"
cores = [0, 1, 2, 3]
runtime = "armcl"
precision = "f32"

[processors.N]
kind = "npu"
model = "RK3399Pro NPU"
runtime = "rknn"
precision = "unknown"
""",
        layers=("Layers.csv",),
        transfers="Transfers.csv",
        highest={"B": ("7", "-1"), "G": ("4", "7"), "L": ("5", "-1"), "N": ("7", "7")},
        notes="""\
Times and powers: Layers.csv, measured once. Transfers: Transfers.csv, the median over all its
networks and parts for each ordered pair of processors. The NPU was measured for mobilenet and
yolov3 only, one part at a time as a model of its own: run whole it is quicker (mobilenet 30 ms by
the same authors; its parts add up to 67 ms). Transfers.csv has no pair with the NPU, so moving
tensors to and from it is free here.
""",
    ),
)


def main() -> None:
    """Write every board file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tables", type=Path, help="folder of folders of CSV files")
    parser.add_argument("--into", type=Path, default=Path("src/evener/boards"))
    given = parser.parse_args()
    for source in SOURCES:
        path = given.into / f"{source.name}.toml"
        path.write_text(board_text(source, given.tables / source.name), encoding="utf-8")
        print(f"{path}: {path.stat().st_size} bytes")


def board_text(source: Source, folder: Path) -> str:
    """Return the text of a board's file.

    Args:
        source: the board.
        folder: its tables.
    """
    lines = [f"# {line}" for line in (NOTES + source.notes).splitlines()]
    lines += ["", f'name = "{source.name}"', f'source = "{SOURCE}"', source.head.rstrip("\n")]
    if source.transfers is not None:
        lines += ["", "# Milliseconds that a processor pays to hand a frame to another."]
        lines += transfer_lines(read(folder / source.transfers))
    rows = [row for name in source.layers for row in read(folder / name)]
    for (network, processor), parts in sorted(measured(rows, source.highest).items()):
        first = parts.pop(("in", 0))
        tasks = [parts["task", index] for index in range(len(parts))]
        lines += ["", f"[networks.{network}.{processor}]"]
        lines += [f"input_ms = {in_ms(first.time_ms)}", f"input_mw = {in_mw(first.power_mw)}"]
        lines += listed("part_ms", [in_ms(task.time_ms) for task in tasks])
        lines += listed("part_mw", [in_mw(task.power_mw) for task in tasks])
    return "\n".join(lines) + "\n"


def read(path: Path) -> list[Row]:
    """Return the rows of a table, blank ones left out."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if any(row.values())]


def measured(
    rows: Iterable[Row], highest: Mapping[str, tuple[str, str]]
) -> dict[tuple[str, str], dict[tuple[str, int], Part]]:
    """Average what was measured at the highest clock.

    Args:
        rows: of tables of times.
        highest: clock and host clock to keep, by processor.

    Returns:
        By network and processor, then by ("in", 0) or ("task", part).
    """
    found: dict[tuple[str, str], dict[tuple[str, int], list[Row]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        processor, key = row["Component"], (row["Metric"], int(row["Layer"]))
        clocks = row["Freq"], row["Freq_Host"]
        if clocks == highest[processor] and (key[0] == "task" or key == ("in", 0)):
            found[NETWORKS[row["Graph"]], processor][key].append(row)
    return {
        which: {key: mean(same) for key, same in parts.items()} for which, parts in found.items()
    }


def mean(rows: Sequence[Row]) -> Part:
    """Average rows that measured the same, outliers of power left out."""
    powers = [float(row["Power"]) for row in rows if row["Power"]]
    above = [power for power in powers if power >= IDLE_MW]
    return Part(
        time_ms=fmean(float(row["Time"]) for row in rows),
        power_mw=fmean(above) if above else nan,
    )


def transfer_lines(rows: Iterable[Row]) -> list[str]:
    """Return the median of each ordered pair in TOML."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row["Src"]][row["Dest"]].append(float(row["Time"]))
    return [
        line
        for sender, takers in sorted(found.items())
        for line in (
            f"[transfers_ms.{sender}]",
            *(f"{taker} = {in_ms(median(times))}" for taker, times in sorted(takers.items())),
        )
    ]


def in_ms(time_ms: float) -> str:
    """Write a time, to a tenth of a microsecond."""
    return f"{time_ms:.4f}"


def in_mw(power_mw: float) -> str:
    """Write a power."""
    return f"{power_mw:.1f}"


def listed(key: str, values: Sequence[str]) -> list[str]:
    """Write a TOML array, ten values a line."""
    rows = [values[start : start + 10] for start in range(0, len(values), 10)]
    return [f"{key} = [", *(f"  {', '.join(row)}," for row in rows), "]"]


if __name__ == "__main__":
    main()
