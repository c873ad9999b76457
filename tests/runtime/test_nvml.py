"""Counters of NVIDIA devices; there are none where the driver or the package is missing."""

import sys
from types import SimpleNamespace

import pytest

from evener.runtime.nvml import energy_readers


class NVMLError(Exception):
    pass


def library(*, devices: int = 2, driver: bool = True, counts: bool = True) -> SimpleNamespace:
    def init() -> None:
        if not driver:
            raise NVMLError("driver not loaded")

    def drawn_mj(device: int) -> int:
        if not counts:
            raise NVMLError("not supported")
        return 1500 + device

    return SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=init,
        nvmlDeviceGetCount=lambda: devices,
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetTotalEnergyConsumption=drawn_mj,
    )


def test_each_device_has_a_reader_in_joules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", library())

    assert [read() for read in energy_readers()] == [pytest.approx(1.5), pytest.approx(1.501)]


@pytest.mark.parametrize("missing", [{"driver": False}, {"counts": False}, {"devices": 0}])
def test_without_a_driver_or_a_device_that_counts_there_is_none(
    missing: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", library(**missing))

    assert list(energy_readers()) == []


def test_without_the_package_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)

    assert list(energy_readers()) == []
