"""The stages of a run are drawn over time, in as many characters as there are."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evener.artifacts.timeline import LaneSpans, Timeline, save_timeline
from evener.cli.gantt import gantt, window
from evener.errors import InputError

Evener = Callable[..., tuple[int, str, str]]


def lane(stage: int, *spans: tuple[int, float, float]) -> LaneSpans:
    frames, begun_s, ended_s = zip(*spans, strict=True)
    return LaneSpans(
        stage=stage,
        processor="cpu0",
        cores=(stage,),
        frames=frames,
        begun_s=begun_s,
        ended_s=ended_s,
    )


TWO = Timeline(
    network="tiny",
    lanes=(lane(0, (8, 0, 10), (9, 10, 20)), lane(1, (8, 10, 15), (9, 20, 40))),
    frames=[8, 9],
    granted_s=[0, 5],
    emitted_s=[15, 40],
)
LONG = Timeline(
    network="long",
    lanes=(lane(0, *((n, n, n + 1) for n in range(100))),),
    frames=range(100),
    granted_s=range(100),
    emitted_s=range(1, 101),
)


def test_a_column_is_some_time_and_a_frame_as_wide_as_it_took() -> None:
    first, second, axis, said = (line.plain for line in gantt(TWO, 0, 40, width=17 + 40))

    assert first == "stage 0 cpu0 [0] " + "█8████████" + "▒9▒▒▒▒▒▒▒▒" + "·" * 20
    assert second == "stage 1 cpu0 [1] " + "·" * 10 + "█8███" + "·" * 5 + "▒9" + "▒" * 18
    assert axis == " " * 17 + "0 µs" + " " * 32 + "40 s"
    assert said == ("2 of 2 answers to tiny; a column is 1 s; █ even and ▒ odd frames, · waits")


@pytest.mark.parametrize("width", [1, 40, 200])
def test_every_row_has_the_same_width_however_narrow_the_terminal(width: int) -> None:
    rows = [line.plain for line in gantt(TWO, 0, 40, width=width)][:3]

    assert {len(row) for row in rows} == {max(width, 17 + 20)}


def test_spans_shorter_than_a_column_are_seen() -> None:
    short = Timeline(
        network="n",
        lanes=(lane(0, (0, 50, 50.001)),),
        frames=[0],
        granted_s=[0],
        emitted_s=[100],
    )

    row = next(iter(gantt(short, 0, 100, width=17 + 20))).plain
    assert row.removeprefix("stage 0 cpu0 [0] ") == "·" * 10 + "█" + "·" * 9


def test_the_middle_is_drawn_unless_a_frame_is_named() -> None:
    assert window(LONG, None, 12) == (44, 56)
    assert window(LONG, 3, 2) == (3, 5)
    assert window(LONG, 95, 12) == (95, 100)
    assert window(LONG, None, 1000) == (0, 100)


def test_a_frame_that_the_run_did_not_answer_is_refused() -> None:
    with pytest.raises(InputError, match="answered no frame 7; it answered 2 frames from 8 to 9"):
        window(TWO, 7, 1)
    with pytest.raises(InputError, match="the timeline holds no frame"):
        window(Timeline(network="n", lanes=(), frames=[], granted_s=[], emitted_s=[]), None, 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the file of a timeline."""
    path = tmp_path / "t.json"
    save_timeline(path, LONG)
    return path


@pytest.mark.parametrize("words", [("trace",), ()])
def test_show_draws_a_timeline(words: tuple[str, ...], evener: Evener, file: Path) -> None:
    code, out, err = evener("show", *words, file, "--from", "30", "--frames", "2")

    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert {len(lines[0]), len(lines[1])} == {110}
    assert "█30" in lines[0]
    assert "▒31" in lines[0]
    assert "30 s" in lines[1]


def test_show_draws_into_a_file_too(evener: Evener, file: Path) -> None:
    svg = file.with_name("t.svg")

    code, _, err = evener("show", file, "--svg", svg)
    again, _, _ = evener("show", file, "--svg", svg)  # over its own

    assert (code, again, err) == (0, 0, f"wrote {svg}\n")
    assert svg.read_bytes().startswith(b"<svg")


def test_show_prints_a_timeline_for_programs(evener: Evener, file: Path) -> None:
    printed = json.loads(evener("show", file, "--json")[1])

    assert printed["network"] == "long"
    assert printed["lanes"][0]["frames"][:2] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("trace", "t.json", "--from", "100"), "answered no frame 100; it answered 100 frames"),
        (("trace", "plan.json"), "plan.json holds no timeline of this version of Evener"),
        (("plan.json", "--svg", "t.svg"), "--from and --svg are for what evener run --trace wrote"),
        (("t.json", "t.json"), "give one file, or trace and one file"),
        (("trace", "t.json", "--svg", "notes.svg"), "holds no SVG drawing made by Evener"),
        (("trace", ""), "the name is empty"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    arguments: tuple[str, ...],
    message: str,
    evener: Evener,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(file.parent)
    Path("plan.json").write_text('{"kind": "plan"}')
    Path("notes.svg").write_text("notes")

    code, out, err = evener("show", *arguments)

    assert (code, out) == (2, "")
    assert message in err
    assert not Path("t.svg").exists()


def test_run_overwrites_no_file_that_is_no_timeline(
    evener: Evener, tmp_path: Path, workflow_calls: dict[str, object]
) -> None:
    target = tmp_path / "settings.json"
    target.write_text("{}")

    code, _, err = evener("run", "x", "--frames", "9", "--trace", target)

    assert code == 2
    assert "is already there, holds no timeline made by Evener, and is not overwritten" in err
    assert not workflow_calls
