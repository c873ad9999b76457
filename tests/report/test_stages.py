"""A plan as a drawing."""

import msgspec
import pytest

from evener.report.content import ReportContent
from evener.report.stages import stages


def test_each_stage_is_a_box_and_each_lane_two_bars(content: ReportContent) -> None:
    chart = stages(content.plan, content.trace)

    styles = [one.get("class") for one in chart.iter("rect")]
    assert styles == ["box", *["bar-plan", "outline"] * 2, "box", "bar-plan", "outline"]
    assert len([one for one in chart.iter("polygon") if one.get("class") == "arrow-tip"]) == 1


def test_bars_are_as_long_as_their_times(content: ReportContent) -> None:
    chart = stages(content.plan, content.trace)

    width = {
        style: [
            float(one.get("width", "")) for one in chart.iter("rect") if one.get("class") == style
        ]
        for style in ("bar-plan", "outline")
    }
    assert width["bar-plan"][0] / width["bar-plan"][2] == pytest.approx(44 / 19, rel=1e-3)
    assert width["bar-plan"][0] / width["outline"][0] == pytest.approx(44 / 42, rel=1e-3)


def test_it_says_where_each_lane_runs_and_how_long(content: ReportContent) -> None:
    chart = stages(content.plan, content.trace)

    texts = [one.text for one in chart.iter("text")]
    assert texts[:3] == [
        "stage 1: blocks 0 to 4",
        "cpu0 · cores 2, 3 · onnxruntime",
        "44 µs (42 µs predicted)",
    ]
    assert "stage 2: block 5" in texts
    assert "stage 2, block 5, on cpu1 · cores 0, 1 · onnxruntime, 20 µs" in (chart[1].text or "")


def test_a_lane_of_many_cores_and_two_runtimes_is_told_whole(content: ReportContent) -> None:
    stage = content.plan.stages[1]
    parts = tuple(
        msgspec.structs.replace(stage.lanes[0].parts[0], runtime=runtime)
        for runtime in ("onnxruntime", "openvino")
    )
    lane = msgspec.structs.replace(stage.lanes[0], cores=(0, 1, 2, 3, 4, 5), parts=parts)
    plan = msgspec.structs.replace(
        content.plan, stages=(msgspec.structs.replace(stage, lanes=(lane,)),)
    )

    chart = stages(plan, content.trace)

    texts = [one.text for one in chart.iter("text")]
    assert "cpu1 · cores 0, 1, 2, 3, 4, 5 · onnxruntime + openvino" in texts
    assert not [text for text in texts if (text or "").endswith("…")]


def test_a_lane_that_was_not_measured_shows_its_prediction_only(content: ReportContent) -> None:
    trace = msgspec.structs.replace(content.trace, stages=())

    chart = stages(content.plan, trace)

    assert "42 µs predicted" in [one.text for one in chart.iter("text")]
    assert "bar-plan" not in [one.get("class") for one in chart.iter("rect")]


def test_boxes_do_not_overlap(content: ReportContent) -> None:
    chart = stages(content.plan, content.trace)

    boxes = [one for one in chart.iter("rect") if one.get("class") == "box"]
    first_end = float(boxes[0].get("y", "")) + float(boxes[0].get("height", ""))
    second_end = float(boxes[1].get("y", "")) + float(boxes[1].get("height", ""))
    assert float(boxes[1].get("y", "")) > first_end
    assert second_end <= float(chart.get("viewBox", "").split()[3])
