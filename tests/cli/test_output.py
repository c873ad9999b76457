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
