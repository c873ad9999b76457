"""Make the board files of the package from the published tables of their measurements.

Usage: python benchmarks/make_boards.py TABLES [--into src/evener/boards]

TABLES is a folder with the CSV files of github.com/Ehsan-aghapour/CO-UP-Profiling in the folders
`khadas-vim3/` and `rk3399pro/`. Each row of a `Layers*.csv` names a network, a processor (B big
cores, L LITTLE cores, G GPU, N NPU), the level of its clock, a part (`Layer`), what was measured
(`in`: loading the frame, `task`: the part itself, `out`: fetching the answer), milliseconds, and
milliwatts of the whole board. Rows that were measured more than once are averaged. The same tables
make the same files.

The script also fits each board's cost model, and prints the cross-validated error of every set of
features that it tried; see `fit_boards.py`.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, isnan, nan
from pathlib import Path
from statistics import fmean, median
from typing import Final

from fit_boards import Fitted, Networks, fit_sets, timed_networks

from evener.artifacts.board_file import FEATURES

SOURCE: Final = "github.com/Ehsan-aghapour/CO-UP-Profiling"
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
CPU_MHZ: Final = ("408", "600", "816", "1008", "1200", "1416", "1608", "1800")
GPU_MHZ: Final = ("200", "300", "400", "600", "800")
Row = Mapping[str, str]


@dataclass(frozen=True)
class Level:
    """A clock of a processor, and how a table names it.

    Attributes:
        mhz: the clock; None where no source says.
        freq: the level in the column `Freq`.
        host: the level of the host in the column `Freq_Host`.
    """

    mhz: str | None
    freq: str
    host: str


@dataclass(frozen=True)
class Part:
    """What was measured of one part of a network on one processor, means over the rows."""

    time_ms: float
    power_mw: float  # nan if none was read


@dataclass(frozen=True)
class Source:
    """A board, and where its tables lie.

    Attributes:
        name: of the file and the folder of tables.
        head: what the board is, in TOML.
        layers: tables of times, in the folder.
        transfers: table of transfers, if there is one.
        levels: the clocks of each processor to keep, lowest first.
        notes: what more to say at the head of the file.
    """

    name: str
    head: str
    layers: Sequence[str]
    transfers: str | None
    levels: Mapping[str, Sequence[Level]]
    notes: str


NOTES: Final = f"""\
Made by benchmarks/make_boards.py from {SOURCE}.
Whole boards were measured, one part on one processor at a time: milliseconds of each part, and
milliwatts of the board meanwhile. Input is loading the frame, paid by the first part; fetching the
answer (0.2 to 2 ms) is left out. idle_mw is the lowest power in the tables, when one core loads a
frame: an idle board draws at most that.
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
        levels=dict.fromkeys("BGL", (Level(None, "max", "max"),)),
        notes="""\
alexnet, mobilenet, resnet50: means of the two measurements in Layers_P2_Alex_Mobile_Res50.csv; the
others: Layers_Yujie_Inceptions.csv, measured once. All at the highest clock, of which the tables do
not say what it is. No transfers were published for this board.
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
clocks_mhz = [{cpu}]

[processors.G]
kind = "gpu"
model = "Mali-T860"
runtime = "armcl"
precision = "f32"
clocks_mhz = [{gpu}]

[processors.L]
kind = "cpu"
model = "Cortex-A53"
cores = [0, 1, 2, 3]
runtime = "armcl"
precision = "f32"
clocks_mhz = [{little}]

[processors.N]
kind = "npu"
model = "RK3399Pro NPU"
runtime = "rknn"
precision = "unknown"
""".format(cpu=", ".join(CPU_MHZ), gpu=", ".join(GPU_MHZ), little=", ".join(CPU_MHZ[:6])),
        layers=("Layers.csv",),
        transfers="Transfers.csv",
        levels={
            "B": [Level(mhz, str(index), "-1") for index, mhz in enumerate(CPU_MHZ)],
            "G": [Level(mhz, str(index), "7") for index, mhz in enumerate(GPU_MHZ)],
            "L": [Level(mhz, str(index), "-1") for index, mhz in enumerate(CPU_MHZ[:6])],
            "N": [Level(None, "7", "7")],
        },
        notes="""\
Times and powers: Layers.csv, measured once, at every level of the clocks. The tables number the
levels (B 0 to 7, L 0 to 5, G 0 to 4) and do not name their clocks: these are the ones that runs of
the same authors on this board used (github.com/Ehsan-aghapour/PipeAll-GA,
ProfileResult_measured.csv), of each processor as many as it has levels.
GPU and NPU have a big core as their host, here at its highest clock whatever clock B has in a plan.
The level of the NPU is that of its host alone: its times do not depend on it.
Transfers: Transfers.csv, the median over all its networks and parts for each ordered pair of
processors. The NPU was measured for mobilenet and yolov3 only, one part at a time as a model of its
own: run whole it is quicker (mobilenet 30 ms by the same authors; its parts add up to 67 ms).
Transfers.csv has no pair with the NPU, so moving tensors to and from it is free here.
""",
    ),
)


def main() -> None:
    """Write every board file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tables", type=Path, help="folder of folders of CSV files")
    parser.add_argument("--into", type=Path, default=Path("src/evener/boards"))
    given = parser.parse_args()
    networks = timed_networks()
    for source in SOURCES:
        path = given.into / f"{source.name}.toml"
        rows = [row for name in source.layers for row in read(given.tables / source.name / name)]
        found = measured(rows, source.levels)
        fitted = fit_sets(part_times(found), networks)
        for one in fitted:
            print(
                f"{source.name}: {one.name}: error of parts {_percent(one.part_error)}, of "
                f"networks {_percent(one.network_error)} (median, 90th percentile)"
            )
        moved = (
            () if source.transfers is None else read(given.tables / source.name / source.transfers)
        )
        text = board_text(source, rows, found, networks, fitted[0], moved)
        path.write_text(text, encoding="utf-8")
        print(f"{path}: {path.stat().st_size} bytes")


Found = Mapping[tuple[str, str], Mapping[Level, Sequence[Part]]]
"""The input and each part, by network and processor, and by level."""


def measured(rows: Iterable[Row], levels: Mapping[str, Sequence[Level]]) -> Found:
    """Average what was measured at each level that is kept.

    Args:
        rows: of tables of times.
        levels: what to keep, by processor.
    """
    wanted = {
        (processor, level.freq, level.host): level
        for processor, kept in levels.items()
        for level in kept
    }
    same: dict[tuple[str, str], dict[Level, dict[int, list[Row]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in rows:
        level = wanted.get((row["Component"], row["Freq"], row["Freq_Host"]))
        index = int(row["Layer"])
        if row["Metric"] == "in" and index == 0:
            index = -1
        elif row["Metric"] != "task":
            continue
        if level is not None:
            same[NETWORKS[row["Graph"]], row["Component"]][level][index].append(row)
    return {
        which: {
            level: [mean(parts[index]) for index in range(-1, len(parts) - 1)]
            for level, parts in of.items()
        }
        for which, of in sorted(same.items())
    }


def mean(rows: Sequence[Row]) -> Part:
    """Average rows that measured the same; those without a power only in time."""
    powers = [float(row["Power"]) for row in rows if row["Power"]]
    return Part(
        time_ms=fmean(float(row["Time"]) for row in rows),
        power_mw=fmean(powers) if powers else nan,
    )


def part_times(found: Found) -> dict[tuple[str, str | None], dict[str, list[float]]]:
    """Return the milliseconds of each part, by place and network."""
    times: dict[tuple[str, str | None], dict[str, list[float]]] = defaultdict(dict)
    for (network, processor), of in found.items():
        for level, (_, *parts) in of.items():
            times[processor, level.mhz][network] = [part.time_ms for part in parts]
    return times


def board_text(
    source: Source,
    rows: Iterable[Row],
    found: Found,
    networks: Networks,
    fitted: Fitted,
    moved: Iterable[Row],
) -> str:
    """Return the text of a board's file.

    Args:
        source: the board.
        rows: of its tables of times.
        found: what was measured at the levels that are kept.
        networks: what the parts of some networks compute.
        fitted: the cost model.
        moved: rows of its table of transfers.
    """
    idle_mw = floor(10 * min(float(row["Power"]) for row in rows if row["Power"])) / 10
    lines = [f"# {line}" for line in (NOTES + source.notes).splitlines()]
    lines += ["", f'name = "{source.name}"', f'source = "{SOURCE}"', f"idle_mw = {idle_mw}"]
    lines += [source.head.rstrip("\n")]
    if transfers := list(transfer_lines(moved)):
        lines += [
            "",
            "# Milliseconds that a processor pays to hand a frame to another.",
            *transfers,
        ]
    lines += ["", *parts_lines(networks, {network for network, _ in found})]
    lines += ["", *model_lines(source, found, fitted)]
    for (network, processor), of in found.items():
        *lower, highest = source.levels[processor]
        lines += ["", f"[networks.{network}.{processor}]", *times_lines(of[highest])]
        for level in reversed(lower):
            where = f"networks.{network}.{processor}.levels.{level.mhz}"
            lines += ["", f"[{where}]", *times_lines(of[level])]
    return "\n".join(lines) + "\n"


def read(path: Path) -> list[Row]:
    """Return the rows of a table, blank ones left out."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if any(row.values())]


def times_lines(parts: Sequence[Part]) -> Iterator[str]:
    """Write what loading a frame and each part cost; a power that was not read is a median."""
    first, *tasks = parts
    powers = [task.power_mw for task in tasks]
    unread = [str(index) for index, power in enumerate(powers) if isnan(power)]
    typical = median(power for power in powers if not isnan(power))
    yield f"input_ms = {in_ms(first.time_ms)}"
    yield f"input_mw = {in_mw(first.power_mw)}"
    yield from listed("part_ms", [in_ms(task.time_ms) for task in tasks])
    if unread:
        yield f"# No power was read of the parts {', '.join(unread)}: the median of the others."
    yield from listed("part_mw", [in_mw(typical if isnan(power) else power) for power in powers])


def transfer_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Write the median of each ordered pair."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row["Src"]][row["Dest"]].append(float(row["Time"]))
    for sender, takers in sorted(found.items()):
        yield f"[transfers_ms.{sender}]"
        yield from (f"{taker} = {in_ms(median(times))}" for taker, times in sorted(takers.items()))


def parts_lines(networks: Networks, timed: Iterable[str]) -> Iterator[str]:
    """Write what the parts of each network compute."""
    yield '# How many blocks of the rule "paper" each part takes, and the multiply-accumulates of'
    yield "# the network that was timed: our reading of the Arm Compute Library's examples."
    for name in sorted(timed):
        if name in networks.macs:
            yield f"[parts.{name}]"
            yield f"blocks = [{', '.join(map(str, networks.blocks[name]))}]"
            yield from listed("macs", [str(macs) for macs in networks.macs[name]])


def model_lines(source: Source, found: Found, fitted: Fitted) -> Iterator[str]:
    """Write the cost model, the medians of loading and of powers beside it."""
    yield "# Milliseconds per unit of each feature, fitted to the parts below: see docs/boards.md."
    yield "# Errors: median and 90th percentile of |predicted / measured - 1|, each network"
    yield "# predicted from the others. input_ms (of input_bytes), input_mw, block_mw are medians"
    yield "# over networks and parts."
    yield "[cost_model]"
    yield from listed("features", [f'"{name}"' for name in FEATURES], a_line=5)
    yield f"part_error = [{', '.join(f'{error:.3f}' for error in fitted.part_error)}]"
    yield f"network_error = [{', '.join(f'{error:.3f}' for error in fitted.network_error)}]"
    yield f"input_bytes = {3 * 224 * 224 * 4}"  # of the frame that most of the networks read
    for processor, levels in source.levels.items():
        for level in reversed(levels):
            if (processor, level.mhz) not in fitted.rates:
                continue
            inner = "" if level is levels[-1] else f".levels.{level.mhz}"
            of = [at[level] for (_, name), at in found.items() if name == processor]
            powers = [one.power_mw for _, *parts in of for one in parts if not isnan(one.power_mw)]
            yield f"[cost_model.rates.{processor}{inner}]"
            yield f"input_ms = {in_ms(median(first.time_ms for first, *_ in of))}"
            yield f"input_mw = {in_mw(median(first.power_mw for first, *_ in of))}"
            yield f"block_mw = {in_mw(median(powers))}"
            rates = fitted.rates[processor, level.mhz]
            yield f"ms = [{', '.join(f'{rate:.4g}' for rate in rates)}]"


def in_ms(time_ms: float) -> str:
    """Write a time, to a tenth of a microsecond."""
    return f"{time_ms:.4f}"


def in_mw(power_mw: float) -> str:
    """Write a power."""
    return f"{power_mw:.1f}"


def listed(key: str, values: Sequence[str], *, a_line: int = 10) -> list[str]:
    """Write a TOML array over several lines."""
    rows = [values[start : start + a_line] for start in range(0, len(values), a_line)]
    return [f"{key} = [", *(f"  {', '.join(row)}," for row in rows), "]"]


def _percent(errors: Iterable[float]) -> str:
    return " and ".join(f"{error:.1%}" for error in errors)


if __name__ == "__main__":
    main()
