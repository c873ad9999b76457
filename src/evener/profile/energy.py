"""Meter what this machine draws: by counters of energy, or by sensors of power, where it has any.

Linux shows the counters of Intel and AMD processors as powercap (RAPL) or hwmon, the sensors of
boards (such as INA3221) as hwmon; NVIDIA's library counts what its devices draw. What a meter
covers differs, from the processor alone to the whole board, so its name stands beside every figure.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Final, Protocol

from evener.runtime.nvml import energy_readers

COUNTED_S: Final = 0.1  # counters are set about every millisecond: an error of a per cent
SAMPLED_S: Final = 1.0  # sensors of boards measure every few to 100 ms
_EVERY_S: Final = 0.02
_IDLE_S: Final = 2.0
_TOTALS: Final = ("VDD_IN", "POM_5V_IN")  # rails that feed a whole board


class Meter(Protocol):
    """What tells how much energy was drawn in an interval; one interval at a time."""

    @property
    def name(self) -> str:
        """What it covers, for people, such as "RAPL psys"."""
        ...

    @property
    def least_s(self) -> float:
        """Shortest interval that it tells much about, in seconds."""
        ...

    def start(self) -> None:
        """Begin an interval."""
        ...

    def stop(self) -> float | None:
        """End it; return the joules drawn in it, or None if it was too short."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """A counter of energy.

    Attributes:
        name: of what it counts.
        read_j: reads it, in joules.
        wraps_j: what it counts up to before it begins at 0 again.
    """

    name: str
    read_j: Callable[[], float]
    wraps_j: float = inf


class CountingMeter:
    """Reads counters of energy at both ends of an interval; see `Meter`.

    Args:
        sources: the counters, of parts of the machine that do not overlap.
        clock: the time, in seconds.
    """

    least_s = COUNTED_S

    def __init__(
        self, sources: Sequence[Source], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = ", ".join(source.name for source in sources)
        self._sources = sources
        self._clock = clock
        self._start_s = 0.0
        self._start_j: list[float] = []

    def start(self) -> None:
        """Begin an interval."""
        self._start_s = self._clock()
        self._start_j = [source.read_j() for source in self._sources]

    def stop(self) -> float | None:
        """End it; a counter may have wrapped once."""
        counted_j = 0.0
        for source, start_j in zip(self._sources, self._start_j, strict=True):
            drawn_j = source.read_j() - start_j
            counted_j += drawn_j + source.wraps_j if drawn_j < 0 else drawn_j
        return counted_j if self._clock() - self._start_s >= self.least_s else None


class SamplingMeter:
    """Adds up what sensors of power show during an interval, in a thread; see `Meter`.

    Args:
        name: what it covers.
        sensors: each reads the power of a part of the machine, in watts.
        clock: the time, in seconds.
        wait: waits for an event, or so many seconds; returns whether the event came.
    """

    least_s = SAMPLED_S

    def __init__(
        self,
        name: str,
        sensors: Sequence[Callable[[], float]],
        *,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self.name = name
        self._sensors = sensors
        self._clock = clock
        self._wait = wait
        self._over = threading.Event()
        self._samples: list[tuple[float, float]] = []
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin an interval."""
        self._over.clear()
        self._samples = [self._sample()]
        self._thread = threading.Thread(target=self._watch, name="power sensors", daemon=True)
        self._thread.start()

    def stop(self) -> float | None:
        """End it; return the area below the samples."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._samples.append(self._sample())
        spans = list(pairwise(self._samples))
        if self._samples[-1][0] - self._samples[0][0] < self.least_s:
            return None
        return sum((end - start) * (was_w + is_w) / 2 for (start, was_w), (end, is_w) in spans)

    def _watch(self) -> None:
        while not self._wait(self._over, _EVERY_S):
            self._samples.append(self._sample())

    def _sample(self) -> tuple[float, float]:
        return self._clock(), sum(sensor() for sensor in self._sensors)


@dataclass(frozen=True, slots=True)
class Metering:
    """A meter, and what it shows of the idle machine.

    Attributes:
        meter: the meter.
        idle_w: the power that is there anyway.
    """

    meter: Meter
    idle_w: float

    def per_run_j(self, drawn_j: float | None, *, seconds: float, runs: int) -> float | None:
        """Return what one of some runs drew beyond the idle machine; None if that is not known.

        Example:
            >>> Metering(CountingMeter([]), idle_w=2.0).per_run_j(50.0, seconds=10.0, runs=3)
            10.0
        """
        return None if drawn_j is None else max(0.0, drawn_j - self.idle_w * seconds) / runs


def find_meter(sysfs: Path = Path("/sys")) -> Meter | None:
    """Return the meter of this machine that covers most; None if there is none.

    A board's sensors come first, then the counters of processors with those of NVIDIA devices.

    Args:
        sysfs: where Linux describes the hardware.
    """
    sensors = _board_sensors(sysfs / "class/hwmon")
    if sensors:
        return SamplingMeter(f"sensors of {', '.join(sensors)}", list(sensors.values()))
    counters = _rapl(sysfs / "class/powercap") or _hwmon_counters(sysfs / "class/hwmon")
    sources = [*counters, *_nvidia()]
    return CountingMeter(sources) if sources else None


def idle_power_w(meter: Meter, *, sleep: Callable[[float], None] = time.sleep) -> float | None:
    """Meter the machine while this process does nothing, in watts; whoever else works counts too.

    Args:
        meter: the meter.
        sleep: does nothing for some seconds.
    """
    seconds = max(_IDLE_S, meter.least_s)
    meter.start()
    sleep(seconds)
    drawn_j = meter.stop()
    return None if drawn_j is None else drawn_j / seconds


def _rapl(folder: Path) -> list[Source]:
    """Return the counters of the whole platform, or those of each package and its memory."""
    found: dict[str, list[Source]] = {}
    for zone in sorted(folder.glob("intel-rapl:*")):
        name, counter = _text(zone / "name"), zone / "energy_uj"
        if _number(counter) is None:  # only root may read some
            continue
        wraps_uj = _number(zone / "max_energy_range_uj")
        source = Source(
            name=f"RAPL {name}",
            read_j=_reader(counter, 1e-6),
            wraps_j=inf if wraps_uj is None else wraps_uj * 1e-6,
        )
        found.setdefault(name.split("-")[0], []).append(source)
    return found.get("psys") or [*found.get("package", ()), *found.get("dram", ())]


def _hwmon_counters(folder: Path) -> list[Source]:
    """Return the counters of each socket, as the driver amd_energy shows them."""
    return [
        Source(name=f"{_text(chip / 'name')} {label}", read_j=_reader(counter, 1e-6))
        for chip in sorted(folder.glob("hwmon*"))
        for counter in sorted(chip.glob("energy*_input"))
        for label in [_text(counter.with_name(counter.name.replace("input", "label")))]
        if label.startswith("Esocket") and _number(counter) is not None
    ]


def _board_sensors(folder: Path) -> dict[str, Callable[[], float]]:
    """Return the rail that feeds all where one is known by name, else all rails of INA chips."""
    rails: dict[str, Callable[[], float]] = {}
    for chip in sorted(folder.glob("hwmon*")):
        name = _text(chip / "name")
        if not name.startswith("ina"):
            continue
        for power in sorted(chip.glob("power*_input")):
            label = _text(power.with_name(power.name.replace("input", "label"))) or power.name
            rails[f"{name} {label}"] = _reader(power, 1e-6)
        for current in sorted(chip.glob("curr*_input")) if name == "ina3221" else ():
            voltage = current.with_name(current.name.replace("curr", "in"))
            label = _text(voltage.with_name(voltage.name.replace("input", "label")))
            if _number(voltage) is not None:
                rails[f"{name} {label or current.name}"] = _product(current, voltage)
    totals = {name: read for name, read in rails.items() if name.split(" ")[1] in _TOTALS}
    return totals or rails


def _nvidia() -> list[Source]:
    return [
        Source(name=f"NVIDIA {number}", read_j=read_j)
        for number, read_j in enumerate(energy_readers())
    ]


def _reader(path: Path, scale: float) -> Callable[[], float]:
    return lambda: int(path.read_text()) * scale


def _product(current: Path, voltage: Path) -> Callable[[], float]:
    """Multiply milliamperes by millivolts."""
    return lambda: int(current.read_text()) * int(voltage.read_text()) * 1e-6


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
