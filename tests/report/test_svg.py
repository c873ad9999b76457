"""What every chart is drawn with."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.report.svg import canvas, label, powers_of_ten, round_ticks


@given(st.floats(0, 1e6), st.floats(1e-3, 1e6))
def test_ticks_enclose_the_range_with_few_equal_steps(low: float, extent: float) -> None:
    high = low + extent

    ticks = round_ticks(low, high)

    steps = [next_ - one for one, next_ in pairwise(ticks)]
    slack = 1e-6 * steps[0]
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert 2 <= len(ticks) <= 7
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.97, 1.0])
def test_one_value_alone_still_makes_an_axis(value: float) -> None:
    ticks = round_ticks(value, value)

    assert ticks[0] <= value <= ticks[-1]
    assert len(ticks) >= 2


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(5, 50, [1, 10, 100]), (10, 10, [10, 100]), (100, 1000, [100, 1000]), (1, 1, [1, 10])],
)
def test_powers_of_ten_enclose_the_range(low: float, high: float, expected: list[float]) -> None:
    assert powers_of_ten(low, high) == expected


def test_a_long_text_is_cut_and_whole_in_its_tooltip() -> None:
    text = label(0, 0, "a" * 50, room=64)

    assert text.text == "aaaaaaaaa…"
    assert text[0].tag == "title"
    assert text[0].text == "a" * 50


def test_a_chart_names_and_describes_itself() -> None:
    chart = canvas("rates", 50, title="Rates", description="One bar.")

    assert chart.get("aria-labelledby") == "rates-title rates-desc"
    assert [(one.tag, one.get("id"), one.text) for one in chart] == [
        ("title", "rates-title", "Rates"),
        ("desc", "rates-desc", "One bar."),
    ]
