"""Progress is told on stderr: line by line in a file, as a bar on a terminal."""

import io
import sys

import pytest

from evener.cli import output
from evener.cli.layout import table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_in_a_file_each_step_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    with output.progress() as report:
        report("timing", 0, 2)
        report("timing", 1, 2)
        report("planning", 0, 0)

    assert capsys.readouterr() == ("", "timing\nplanning\n")


def test_a_step_that_lasts_is_said_again_after_some_seconds() -> None:
    said: list[str] = []
    clock = iter(range(0, 1000, 2))  # two seconds at each look
    report = output.lines(said.append, lambda: next(clock))

    for done in range(1, 9):
        report(f"block {done}", done, 8)

    assert said == ["block 1 (1/8)", "block 6 (6/8)"]


def test_on_a_terminal_there_is_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    with output.progress() as report:
        report("timing", 3, 7)

    assert "timing" in terminal.getvalue()
    assert "3/7" in terminal.getvalue()


@pytest.mark.parametrize("columns", ["20", "40", "58"])
def test_a_narrow_terminal_loses_nothing_of_a_table(
    columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    cells = [f"cell{index}" for index in range(9)]

    output.print_for_people(table("title", cells, [[f"{cell}-body" for cell in cells]]))

    shown = terminal.getvalue()
    assert all(cell in shown for cell in cells)
    assert shown.count("body") == len(cells)


def test_a_long_word_in_a_narrow_table_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)

    output.print_for_people(
        table(
            "title", ["name", "runtimes"], [["a b c d e f g h i j k l m", "onnxruntime, openvino"]]
        )
    )

    assert "…" not in terminal.getvalue()


def test_without_colours_nothing_is_bold_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured, plain = Terminal(), Terminal()

    monkeypatch.setattr(sys, "stdout", coloured)
    output.print_for_people(table("title", ["a"], [["b"]]))
    monkeypatch.setattr(sys, "stdout", plain)
    monkeypatch.setenv("NO_COLOR", "1")
    output.print_for_people(table("title", ["a"], [["b"]]))

    assert "\x1b[1m" in coloured.getvalue()
    assert "title" in plain.getvalue()
    assert "\x1b" not in plain.getvalue()


def test_figures_that_are_not_finite_become_null(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"rate_hz": float("nan"), "size": 1e999})

    assert capsys.readouterr().out == '{\n "rate_hz": null,\n "size": null\n}\n'
