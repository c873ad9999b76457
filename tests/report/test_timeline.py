"""A timeline is drawn as bars of frames over time."""

from xml.etree import ElementTree as ET

import pytest

from evener.artifacts.timeline import LaneSpans, Timeline
from evener.report.timeline import timeline_chart, timeline_file

LANE = LaneSpans(
    stage=0,
    processor="cpu0",
    cores=(0, 1),
    frames=[0, 1, 2],
    begun_s=[0, 2, 4],
    ended_s=[1, 4, 5],
)
TIMELINE = Timeline(
    network="a <b>",
    lanes=(LANE,),
    frames=[0, 1, 2],
    granted_s=[0, 1, 2],
    emitted_s=[1, 4, 5],
)


def test_each_frame_is_a_bar_as_long_as_it_took() -> None:
    bars = list(timeline_chart(TIMELINE, 0, 5).iter("rect"))

    widths = [float(bar.get("width", "")) for bar in bars]
    assert widths == pytest.approx([78.4, 156.8, 78.4])
    assert [bar.get("class") for bar in bars] == ["bar-plan", "bar", "bar-plan"]
    assert [title.text for bar in bars for title in bar] == [
        "frame 0: 1 s",
        "frame 1: 2 s",
        "frame 2: 1 s",
    ]


def test_what_is_before_or_after_is_left_out_or_cut() -> None:
    bars = list(timeline_chart(TIMELINE, 3, 4.5).iter("rect"))

    assert [float(bar.get("x", "")) for bar in bars] == pytest.approx([4, 265.33])


def test_the_file_is_a_drawing_of_its_own() -> None:
    drawn = timeline_file(TIMELINE, 0, 5)

    root = ET.fromstring(drawn)  # noqa: S314 - our own
    assert drawn.startswith(b"<svg")
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert ".bar-plan" in (root[0].text or "")
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text == "a <b>: when each stage ran each frame"
