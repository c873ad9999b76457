"""A timeline is a file that tracing tools read, and that says what was noted."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.artifacts.timeline import (
    HEAD,
    LaneSpans,
    Timeline,
    is_timeline,
    load_timeline,
    save_timeline,
)
from evener.errors import InvalidFileError

TINY = Timeline(
    network="tiny",
    lanes=(
        LaneSpans(
            stage=0,
            processor="cpu0",
            cores=(0, 1),
            frames=[3, 4],
            begun_s=[0.001, 0.003],
            ended_s=[0.003, 0.0045],
        ),
        LaneSpans(
            stage=1, processor="gpu0", cores=(), frames=[4, 3], begun_s=[5, 6], ended_s=[5.5, 7]
        ),
    ),
    frames=[3, 4],
    granted_s=[0, 0.002],
    emitted_s=[7, 7.5],
)


def events(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return found


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "t.json"

    save_timeline(path, TINY)

    read = load_timeline(path)
    assert read.network == "tiny"
    assert [(one.stage, one.processor, one.cores) for one in read.lanes] == [
        (0, "cpu0", (0, 1)),
        (1, "gpu0", ()),
    ]
    assert [list(one.frames) for one in read.lanes] == [[3, 4], [4, 3]]
    assert list(read.lanes[0].ended_s) == pytest.approx([0.003, 0.0045], abs=1e-9)
    assert list(read.frames) == [3, 4]
    assert list(read.emitted_s) == pytest.approx([7, 7.5])
    assert path.read_bytes().startswith(HEAD)


def test_a_stage_is_a_process_and_a_lane_a_thread_by_name(tmp_path: Path) -> None:
    save_timeline(tmp_path / "t.json", TINY)

    named = [
        (event["pid"], event["name"], event["args"]["name"])
        for event in events(tmp_path / "t.json")
        if event["ph"] == "M"
    ]
    assert named == [
        (0, "process_name", "frames"),
        (1, "process_name", "stage 0"),
        (1, "thread_name", "cpu0 [0, 1]"),
        (2, "process_name", "stage 1"),
        (2, "thread_name", "gpu0 []"),
    ]


def test_times_are_microseconds(tmp_path: Path) -> None:
    save_timeline(tmp_path / "t.json", TINY)

    first = next(event for event in events(tmp_path / "t.json") if event["ph"] == "X")
    assert (first["name"], first["ts"], first["dur"]) == ("frame 3", 1000, 2000)


def test_a_frame_waits_between_its_stages_and_for_its_turn(tmp_path: Path) -> None:
    save_timeline(tmp_path / "t.json", TINY)

    waits: dict[str, list[float]] = {}
    for event in events(tmp_path / "t.json"):
        if event["ph"] in "be" and event["id"] == 3:
            waits.setdefault(event["name"], []).append(event["ts"] / 1e6)
    assert waits == {
        "frame 3": [0, 7],
        "waits for stage 0": [0, 0.001],
        "waits for stage 1": [0.003, 6],
        "waits for its turn": [7, 7],
    }


@given(
    st.lists(
        st.tuples(st.floats(0, 1, allow_subnormal=False), st.floats(0, 1, allow_subnormal=False)),
        min_size=2,
        max_size=20,
    )
)
def test_rounding_lets_no_span_reach_into_the_next(steps: list[tuple[float, float]]) -> None:
    begun_s, ended_s, now_s = [], [], 0.0
    for waits_s, works_s in steps:
        begun_s.append(now_s + waits_s)
        ended_s.append(begun_s[-1] + works_s)
        now_s = ended_s[-1]
    frames = list(range(len(steps)))
    lane = LaneSpans(
        stage=0, processor="p", cores=(), frames=frames, begun_s=begun_s, ended_s=ended_s
    )
    timeline = Timeline(
        network="n", lanes=(lane,), frames=frames, granted_s=begun_s, emitted_s=ended_s
    )
    from evener.artifacts import timeline as module

    spans = [event for event in module._events(timeline) if event["ph"] == "X"]

    for one, following in pairwise(spans):
        assert round(one["ts"] + one["dur"], 3) <= following["ts"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "holds no timeline of this version of Evener; make one with evener run --trace"),
        ('{"otherData": {"form": "evener timeline 9"}}', "holds no timeline of this version"),
        (
            '{"otherData": {"form": "evener timeline 1", "network": "n"}, "traceEvents": [{}]}',
            r"is a damaged timeline \(KeyError\('ph'\)\); make it again",
        ),
        ("[", "is not JSON"),
    ],
)
def test_what_is_no_timeline_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(content)

    with pytest.raises(InvalidFileError, match=message):
        load_timeline(tmp_path / "t.json")


def test_a_trace_of_events_is_told_from_an_artifact() -> None:
    assert is_timeline({"traceEvents": []})
    assert not is_timeline({"kind": "plan"})
