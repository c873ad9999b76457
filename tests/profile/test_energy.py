"""Meters of energy: counters that wrap, sensors that are sampled, and which a machine has."""

import sys
import threading
from collections.abc import Callable
from itertools import count
from math import inf
from pathlib import Path
from types import SimpleNamespace

import pytest

from evener.profile.energy import (
    CountingMeter,
    Meter,
    Metering,
    SamplingMeter,
    Source,
    find_meter,
    idle_power_w,
)


def source(*readings_j: float, wraps_j: float = inf) -> Source:
    left = iter(readings_j)
    return Source("c", lambda: next(left), wraps_j)


def ticks(*times_s: float) -> Callable[[], float]:
    left = iter(times_s)
    return lambda: next(left)


def test_counters_are_read_at_both_ends_and_added_up() -> None:
    meter = CountingMeter([source(10.0, 12.5), source(1.0, 2.0)], clock=ticks(0.0, 0.1))

    meter.start()

    assert meter.stop() == pytest.approx(3.5)


def test_a_counter_that_wrapped_goes_on_from_zero() -> None:
    meter = CountingMeter([source(98.0, 3.0, wraps_j=100.0)], clock=ticks(0.0, 1.0))

    meter.start()

    assert meter.stop() == pytest.approx(5.0)


def test_an_interval_too_short_tells_nothing() -> None:
    meter = CountingMeter([source(1.0, 2.0)], clock=ticks(0.0, 0.05))
    meter.start()
    assert meter.stop() is None

    sampling = SamplingMeter("s", [lambda: 5.0], clock=ticks(0.0, 0.5), wait=lambda *_: True)
    sampling.start()
    assert sampling.stop() is None


def test_sensors_are_sampled_until_the_end_and_the_area_below_counts() -> None:
    seen = threading.Event()
    waits = iter((False, False, True))

    def wait(over: threading.Event, seconds: float) -> bool:
        del over, seconds
        ended = next(waits)
        if ended:
            seen.set()
        return ended

    powers_w = iter([2.0, 4.0, 4.0, 0.0])
    meter = SamplingMeter("s", [lambda: next(powers_w)], clock=ticks(0.0, 1.0, 3.0, 4.0), wait=wait)

    meter.start()
    assert seen.wait(10)

    assert meter.stop() == pytest.approx(3.0 + 8.0 + 2.0)


def test_energy_of_a_run_is_what_lies_above_the_idle_machine() -> None:
    metering = Metering(CountingMeter([]), idle_w=3.0)

    assert metering.per_run_j(50.0, seconds=10.0, runs=4) == pytest.approx(5.0)
    assert metering.per_run_j(20.0, seconds=10.0, runs=4) == 0.0  # noise, not a gain
    assert metering.per_run_j(None, seconds=0.01, runs=4) is None


def test_idle_power_is_metered_while_nothing_is_done() -> None:
    slept: list[float] = []
    meter = CountingMeter([source(0.0, 14.0)], clock=ticks(0.0, 2.0))

    assert idle_power_w(meter, sleep=slept.append) == pytest.approx(7.0)
    assert slept == [2.0]


class Sysfs:
    """A folder in which Linux would describe hardware."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        file = self.root / "class" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def zone(self, number: str, name: str, energy_uj: int) -> None:
        self.write(f"powercap/intel-rapl:{number}/name", name)
        self.write(f"powercap/intel-rapl:{number}/energy_uj", str(energy_uj))
        self.write(f"powercap/intel-rapl:{number}/max_energy_range_uj", "262143328850")


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sysfs:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    return Sysfs(tmp_path)


def found(sysfs: Sysfs) -> Meter:
    meter = find_meter(sysfs.root)
    assert meter is not None
    return meter


def test_packages_and_their_memory_count_and_what_lies_within_them_does_not(sysfs: Sysfs) -> None:
    for number, name in {"0": "package-0", "0:0": "core", "0:1": "dram", "1": "package-1"}.items():
        sysfs.zone(number, name, 5_000_000)

    meter = found(sysfs)

    assert meter.name == "RAPL package-0, RAPL package-1, RAPL dram"
    meter.start()
    sysfs.zone("1", "package-1", 7_000_000)
    sysfs.zone("0:0", "core", 9_000_000)
    assert isinstance(meter, CountingMeter)
    meter.least_s = 0.0
    assert meter.stop() == pytest.approx(2.0)


def test_the_whole_platform_counts_alone(sysfs: Sysfs) -> None:
    sysfs.zone("0", "package-0", 1)
    sysfs.zone("1", "psys", 1)

    assert found(sysfs).name == "RAPL psys"


def test_sockets_of_amd_count_where_there_is_no_powercap(sysfs: Sysfs) -> None:
    sysfs.write("hwmon/hwmon2/name", "amd_energy")
    for number, label in ((1, "Ecore000"), (2, "Esocket0"), (3, "Esocket1")):
        sysfs.write(f"hwmon/hwmon2/energy{number}_label", label)
        sysfs.write(f"hwmon/hwmon2/energy{number}_input", "1000000")

    assert found(sysfs).name == "amd_energy Esocket0, amd_energy Esocket1"


def test_the_rail_that_feeds_a_board_counts_alone(sysfs: Sysfs) -> None:
    sysfs.write("hwmon/hwmon1/name", "ina3221")
    for number, label in ((1, "VDD_IN"), (2, "VDD_CPU")):
        sysfs.write(f"hwmon/hwmon1/in{number}_label", label)
        sysfs.write(f"hwmon/hwmon1/in{number}_input", "5000")
        sysfs.write(f"hwmon/hwmon1/curr{number}_input", "800")

    meter = found(sysfs)

    assert meter.name == "sensors of ina3221 VDD_IN"
    assert isinstance(meter, SamplingMeter)
    assert [sensor() for sensor in meter._sensors] == [pytest.approx(4.0)]


def test_without_such_a_rail_all_of_ina_chips_count_and_other_chips_do_not(sysfs: Sysfs) -> None:
    sysfs.write("hwmon/hwmon0/name", "nvme")
    sysfs.write("hwmon/hwmon0/power1_input", "9000000")
    sysfs.write("hwmon/hwmon1/name", "ina226")
    sysfs.write("hwmon/hwmon1/power1_input", "1500000")

    meter = found(sysfs)

    assert isinstance(meter, SamplingMeter)
    assert meter.name == "sensors of ina226 power1_input"
    assert [sensor() for sensor in meter._sensors] == [pytest.approx(1.5)]


def test_nvidia_devices_count_beside_processors(
    sysfs: Sysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn_mj = count(1000, 500)
    fake = SimpleNamespace(
        NVMLError=RuntimeError,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetTotalEnergyConsumption=lambda _: next(drawn_mj),
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    sysfs.zone("0", "package-0", 1)

    meter = found(sysfs)

    assert meter.name == "RAPL package-0, NVIDIA 0"
    assert isinstance(meter, CountingMeter)
    meter.least_s = 0.0
    meter.start()
    assert meter.stop() == pytest.approx(0.5)


def test_a_machine_without_any_has_no_meter(sysfs: Sysfs) -> None:
    sysfs.write("powercap/intel-rapl:0/name", "package-0")  # and a counter that cannot be read

    assert find_meter(sysfs.root) is None
