"""Measured rates as bars."""

import msgspec
import pytest

from evener.report.bars import rates
from evener.report.content import ReportContent


def test_a_bar_is_as_long_as_its_rate(content: ReportContent) -> None:
    rows = content.comparison.rows

    chart = rates(rows)

    assert chart is not None
    widths = [float(one.get("width", "")) for one in chart.iter("rect")]
    ratios = [width / row.rate_hz for width, row in zip(widths, rows, strict=True)]
    assert ratios == pytest.approx([ratios[0]] * 4, rel=1e-3)
    assert [one.get("class") for one in chart.iter("rect")] == ["bar-plan", "bar", "bar", "bar"]


def test_spread_and_prediction_are_shown_and_told(content: ReportContent) -> None:
    chart = rates(content.comparison.rows)

    assert chart is not None
    assert len([one for one in chart.iter("line") if one.get("class") == "spread"]) == 4 * 3
    assert len(list(chart.iter("polygon"))) == 3  # one row has no prediction
    description = chart[1].text or ""
    assert "2 stages: 45200 /s (43844 /s to 46104 /s), predicted 47600 /s;" in description


def test_nothing_measured_is_no_chart() -> None:
    assert rates(()) is None


def test_rates_of_nought_are_drawn_as_such(content: ReportContent) -> None:
    still = msgspec.structs.replace(
        content.comparison.rows[2], rate_hz=0.0, rate_low_hz=0.0, rate_high_hz=0.0
    )

    chart = rates([still])

    assert chart is not None
    assert [one.get("width") for one in chart.iter("rect")] == ["0"]
