"""Read the published tables that `measured_runs.py` compares: times of parts, and whole runs."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from typing import Final, NamedTuple

from evener.network.blocks import cut_into_blocks
from evener.network.model import load_network

# The clocks that a level of the table of parts stands for; the big cores host GPU and NPU there.
CPU_MHZ: Final = (408, 600, 816, 1008, 1200, 1416, 1608, 1800)
GPU_MHZ: Final = (200, 300, 400, 600, 800)
# The part of the table that each block of GoogLeNet is in: two parts are two blocks each, the
# second convolution with the 1x1 before it, and the last inception with the classifier.
PART_OF_BLOCK: Final = (0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10)
BLOCKS: Final = len(PART_OF_BLOCK)


class Setting(NamedTuple):
    """The state of the board in a run: clocks in MHz, and the cluster that hosts GPU and NPU."""

    little_mhz: int
    big_mhz: int
    gpu_mhz: int
    gpu_host: str
    npu_host: str

    def clock_mhz(self, cluster: str) -> int:
        """Return the clock of the big (B) or LITTLE (L) cores."""
        return self.big_mhz if cluster == "B" else self.little_mhz


class StageOf(NamedTuple):
    """A processor and the blocks that it runs, the last included."""

    processor: str
    first: int
    last: int


@dataclass(frozen=True)
class Run:
    """One measured run.

    Attributes:
        order: the processor of each block.
        setting: clocks and hosts.
        rate_hz: 1 over the mean time of the slowest stage.
        power_w: mean power of the whole board.
        stages: neighbouring blocks of one processor.
    """

    order: str
    setting: Setting
    rate_hz: float
    power_w: float
    stages: tuple[StageOf, ...]

    @property
    def period_ms(self) -> float:
        """Milliseconds of the slowest stage."""
        return 1e3 / self.rate_hz

    @property
    def cuts_a_part(self) -> bool:
        """Whether a stage ends inside a part of the table."""
        ends = [stage.last for stage in self.stages[:-1]]
        return any(PART_OF_BLOCK[end] == PART_OF_BLOCK[end + 1] for end in ends)


@dataclass(frozen=True)
class Table:
    """Milliseconds of GoogLeNet by processor, level of its clock and of its host's (-1: none).

    Attributes:
        block_ms: of each block; a part's time is shared out by multiply-accumulates.
        input_ms: of loading a frame.
    """

    block_ms: dict[tuple[str, int, int], tuple[float, ...]]
    input_ms: dict[tuple[str, int, int], float]

    def row(self, setting: Setting, processor: str) -> tuple[str, int, int]:
        """Return the row that fits a setting best.

        The GPU was tabled with the big cores as hosts only: a LITTLE host counts as big cores of
        the same clock.
        """
        if processor == "G":
            host = CPU_MHZ.index(setting.clock_mhz(setting.gpu_host))
            return processor, GPU_MHZ.index(setting.gpu_mhz), host
        return processor, CPU_MHZ.index(setting.clock_mhz(processor)), -1

    def tasks_ms(self, setting: Setting, stage: StageOf) -> float:
        """Return the time of a stage's blocks, loading excluded."""
        return sum(self.block_ms[self.row(setting, stage.processor)][stage.first : stage.last + 1])

    def load_ms(self, setting: Setting, processor: str) -> float:
        """Return the time of loading a frame."""
        return self.input_ms[self.row(setting, processor)]


def read_runs(path: Path) -> list[Run]:
    """Read the measured runs."""
    return [
        Run(
            order=row["order"],
            setting=Setting(
                int(row["freq_L_khz"]) // 1_000,
                int(row["freq_B_khz"]) // 1_000,
                int(row["freq_G_hz"]) // 1_000_000,
                *row["hosts_GPU_NPU"],
            ),
            rate_hz=float(row["fps"]),
            power_w=float(row["power_mw"] or "nan") / 1e3,
            stages=stages_of(row["order"]),
        )
        for row in _rows(path)
    ]


def stages_of(order: str) -> tuple[StageOf, ...]:
    """Return the stages of an order such as "GGNNNNBBLLLLL"."""
    names, sizes = zip(*((name, len(list(same))) for name, same in groupby(order)), strict=True)
    ends = list(accumulate(sizes))
    return tuple(
        StageOf(name, end - size, end - 1)
        for name, size, end in zip(names, sizes, ends, strict=True)
    )


def read_table(path: Path) -> Table:
    """Read the times of GoogLeNet's parts."""
    shares = _shares()
    parts: dict[tuple[str, int, int], dict[int, float]] = defaultdict(dict)
    inputs: dict[tuple[str, int, int], float] = {}
    for row in _rows(path):
        if row["Graph"] != "Google":
            continue
        key = row["Component"], int(row["Freq"]), int(row["Freq_Host"])
        if row["Metric"] == "task":
            parts[key][int(row["Layer"])] = float(row["Time"])
        elif row["Metric"] == "in":
            inputs[key] = float(row["Time"])
    return Table(
        block_ms={
            key: tuple(
                share * times[part] for share, part in zip(shares, PART_OF_BLOCK, strict=True)
            )
            for key, times in parts.items()
        },
        input_ms=inputs,
    )


def _shares() -> Sequence[float]:
    """Return what share of its part's work each block does."""
    macs = [block.macs for block in cut_into_blocks(load_network("googlenet"), "paper").blocks]
    of_part = [0] * (max(PART_OF_BLOCK) + 1)
    for part, count in zip(PART_OF_BLOCK, macs, strict=True):
        of_part[part] += count
    return [count / of_part[part] for part, count in zip(PART_OF_BLOCK, macs, strict=True)]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)
