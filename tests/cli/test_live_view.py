"""While a run runs, a terminal shows what its stages do, and nothing else does."""

import io
import sys
from collections.abc import Sequence

import pytest
from rich.console import Console

from evener.artifacts.plan import Lane
from evener.cli import live_view
from evener.run.glance import Glance
from evener.run.record import LaneProgress, Record


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in the place of stderr."""  # no fixture: pytest then puts its own there
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    return made


def lane(frames: int, *, at: int | None, processor: str = "cpu0") -> LaneProgress:
    return LaneProgress(
        stage=0,
        lane=Lane(processor=processor, cores=(0, 1), parts=(), time_s=1.0),
        frame_id=at,
        since_s=10.0,
        frames=frames,
        recent_s=[0.1] * frames,
    )


class Run:
    """A run that answers ten frames between any two looks, a tenth of a second apart."""

    def __init__(self) -> None:
        self.record = Record(clock=self.clock)
        self.now_s = 0.0

    def clock(self) -> float:
        return self.now_s

    def progress(self) -> Sequence[LaneProgress]:
        for _ in range(10):
            self.record.granted.append(self.now_s)
            self.record.emitted.append(self.now_s + 0.25)
        self.now_s += 0.1
        return ()


def text(*looks: Glance) -> str:
    console = Console(file=io.StringIO(), width=100)
    for part in live_view.drawn(*looks):
        console.print(part)
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()


def test_two_looks_make_a_line_of_figures_and_one_for_each_lane() -> None:
    before = Glance(
        at_s=10, emitted=0, in_flight=2, dropped=0, latency_s=None, lanes=(lane(0, at=None),)
    )
    now = Glance(
        at_s=11,
        emitted=5,
        in_flight=2,
        dropped=3,
        latency_s=0.02,
        lanes=(lane(5, at=None), lane(0, at=7, processor="gpu0")),
    )

    first, second, third = text(before, now).splitlines()

    assert first.rstrip() == "5 /s, latency 20 ms (median), 2 in flight, 3 dropped"
    assert second.split()[:4] == ["stage", "0", "cpu0", "[0,1]"]
    assert second.split()[-3:] == ["50%", "busy", "waits"]
    assert third.split()[-4:] == ["100%", "busy", "frame", "7"]


def test_a_terminal_shows_how_far_a_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)

    with live_view.progress(stages=True) as (report, watch):
        assert watch is not None
        with watch(Run()):
            report("running", 1, 10)
            report("running", 2, 10)

    assert "2/10" in terminal.getvalue()


def test_what_is_drawn_is_over_several_looks_and_begins_anew_with_another_run() -> None:
    stages, run = live_view._Stages(), Run()
    with stages.watch(run):
        assert not list(stages.rows())  # nothing to compare the first look with
        figures, _ = list(stages.rows())
        run.record = Record(clock=run.clock)  # the run itself, after the one to warm up
        nothing = list(stages.rows())

    assert str(figures).startswith("100 /s, latency 250 ms (median), 0 in flight")
    assert not nothing
    assert not list(stages.rows())


def test_programs_see_no_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal_of(monkeypatch)

    with live_view.progress(stages=False) as (_, watch):
        assert watch is None


def test_a_file_sees_no_stages(capsys: pytest.CaptureFixture[str]) -> None:
    with live_view.progress(stages=True) as (report, watch):
        report("running", 0, 0)
        assert watch is None

    assert capsys.readouterr() == ("", "running\n")
