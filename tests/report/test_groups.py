"""Groups of bars on one scale."""

import pytest

from evener.report.groups import Bar, Group, groups

FOUND = [
    Group("alexnet", [Bar("Peak", 9.0), Bar("Pipe-All", 21.0, chosen=True)]),
    Group("resnet50", [Bar("Peak", 4.0), Bar("Pipe-All", 10.5, chosen=True)]),
]


def test_all_groups_share_one_scale() -> None:
    chart = groups("rates", FOUND, dimension="rate", title="Rates")

    assert chart is not None
    widths = [float(one.get("width", "")) for one in chart.iter("rect")]
    values = [bar.value for group in FOUND for bar in group.bars]
    ratios = [width / value for width, value in zip(widths, values, strict=True)]
    assert ratios == pytest.approx([ratios[0]] * 4, rel=1e-3)


def test_the_chosen_bar_stands_out() -> None:
    chart = groups("rates", FOUND, dimension="rate", title="Rates")

    assert chart is not None
    assert [one.get("class") for one in chart.iter("rect")] == ["bar", "bar-plan"] * 2


def test_a_screen_reader_hears_every_value() -> None:
    chart = groups("latencies", FOUND[:1], dimension="time", title="Latencies")

    assert chart is not None
    assert [chart[0].text, chart[1].text] == ["Latencies", "alexnet: Peak 9 s, Pipe-All 21 s."]


def test_no_text_leaves_the_canvas() -> None:
    chart = groups("rates", FOUND, dimension="rate", title="Rates")

    assert chart is not None
    height = float(chart.get("viewBox", "").split()[3])
    assert all(float(one.get("y", "")) < height for one in chart.iter("text"))


def test_values_of_nought_are_drawn_as_such() -> None:
    chart = groups("rates", [Group("n", [Bar("b", 0.0)])], dimension="rate", title="Rates")

    assert chart is not None
    assert [one.get("width") for one in chart.iter("rect")] == ["0"]


def test_nothing_to_show_is_no_chart() -> None:
    assert groups("rates", [Group("n", [])], dimension="rate", title="Rates") is None
