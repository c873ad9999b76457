"""Progress is told on stderr: line by line in a file, as a bar on a terminal."""

import io
import sys

import pytest

from evener.cli import output


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


def test_figures_that_are_not_finite_become_null(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"rate_hz": float("nan"), "size": 1e999})

    assert capsys.readouterr().out == '{\n "rate_hz": null,\n "size": null\n}\n'
