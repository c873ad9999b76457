"""What was measured of a machine, and rates between the sizes that were measured."""

from pathlib import Path
from typing import Any

import pytest

from evener.artifacts.calibration import Calibration, Link, Rate, rate_at
from evener.artifacts.files import load, save
from evener.errors import InputError

RATES = (Rate(10.0, 100.0), Rate(1000.0, 1.0))


@pytest.mark.parametrize(
    ("size", "expected"), [(1, 100.0), (10, 100.0), (100, 10.0), (1000, 1.0), (1e6, 1.0)]
)
def test_a_rate_lies_on_a_line_in_logarithms_and_ends_at_the_outermost(
    size: float, expected: float
) -> None:
    assert rate_at(RATES, size) == pytest.approx(expected)


def make(**changes: tuple[Rate, ...] | Link) -> Calibration:
    figures: dict[str, Any] = {
        "processor": "here",
        "updates": RATES,
        "reads": RATES,
        "products": RATES,
        "dense_layer_s": 1e-5,
        "sharded_layer_s": 2e-5,
        "shard_s": 1e-6,
    }
    return Calibration(**(figures | changes))


def test_a_calibration_is_a_file(tmp_path: Path) -> None:
    link = Link(name="a wire", latency_s=1e-6, gap_s=1e-7, bandwidth_bytes_per_s=1e9, measured=True)
    value = make(link=link)

    save(tmp_path / "calibration.json", value)

    assert load(tmp_path / "calibration.json", Calibration).value == value


@pytest.mark.parametrize(
    "rates", [(), tuple(reversed(RATES)), (RATES[0], RATES[0]), (Rate(1.0, 0.0),)]
)
def test_rates_that_are_no_table_are_refused(rates: tuple[Rate, ...]) -> None:
    with pytest.raises(InputError, match="calibration of here: reads are .* by rising sizes"):
        make(reads=rates)


@pytest.mark.parametrize("figures", [(0.0, 0.0, 1.0), (1.0, -1.0, 1.0), (1.0, 0.0, 0.0)])
def test_a_link_that_takes_no_time_is_refused(figures: tuple[float, float, float]) -> None:
    latency_s, gap_s, bandwidth = figures
    with pytest.raises(InputError, match="latency and bandwidth are above 0"):
        Link(name="x", latency_s=latency_s, gap_s=gap_s, bandwidth_bytes_per_s=bandwidth)
