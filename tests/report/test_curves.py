"""Curves tell what was measured from what is projected."""

from itertools import pairwise
from xml.etree.ElementTree import Element

import pytest

from evener.report.curves import Curve, Mark, curves

DRAWN = [
    Curve("ours", [Mark(1, 10.0), Mark(100, 0.1, measured=False)]),
    Curve("theirs", [Mark(1, 1000.0), Mark(10, 100.0)]),
]


def draw(**options: str) -> Element:
    return curves("c", DRAWN, title="T", x_axis="ranks", y_axis="seconds", **options)  # type: ignore[arg-type] # scales are words


def test_measured_points_are_filled_and_projected_ones_are_open() -> None:
    circles = list(draw().iter("circle"))

    assert [one.get("class") for one in circles] == ["chosen", "chosen", "chosen", "point"]
    titles = [one.findtext("title") for one in circles]
    assert titles[2:] == ["ours: 10 at 1, measured", "ours: 0.1 at 100, projected"]


def test_both_axes_are_logarithmic() -> None:
    ours = [one for one in draw().iter("circle") if "ours" in (one.findtext("title") or "")]

    xs = [float(one.get("cx", "")) for one in ours]
    theirs = [one for one in draw().iter("circle") if "theirs" in (one.findtext("title") or "")]
    assert float(theirs[1].get("cx", "")) == pytest.approx(sum(xs) / 2)
    ys = [float(one.get("cy", "")) for one in (theirs[0], theirs[1], ours[0])]
    assert ys[1] - ys[0] == pytest.approx(ys[2] - ys[1])


def test_an_interval_is_a_line_on_a_linear_scale() -> None:
    drawn = [Curve("a", [Mark(1, 0.9, half=0.05), Mark(10, 0.95)])]

    chart = curves("c", drawn, title="T", x_axis="x", y_axis="y", y_scale="linear")

    assert len([one for one in chart.iter("line") if one.get("class") == "spread"]) == 1


def test_names_at_the_ends_do_not_lie_on_one_another() -> None:
    drawn = [Curve(name, [Mark(1, 1.0), Mark(10, 1.0)]) for name in ("a", "b", "c")]

    chart = curves("c", drawn, title="T", x_axis="x", y_axis="y", y_scale="linear")

    heights = [float(one.get("y", "")) for one in chart.iter("text") if one.text in ("a", "b", "c")]
    assert sorted(heights) == heights
    assert min(later - one for one, later in pairwise(heights)) >= 12


def test_both_axes_can_be_linear() -> None:
    drawn = [Curve("a", [Mark(0.5, 1.0), Mark(0.75, 1.5), Mark(1.0, 2.0)])]

    chart = curves(
        "c", drawn, title="T", x_axis="x", y_axis="y", x_scale="linear", y_scale="linear"
    )

    xs = [float(one.get("cx", "")) for one in chart.iter("circle")]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1])
