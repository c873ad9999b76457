"""Where words go: results to stdout, progress and notes to stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click
import msgspec

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Report = Callable[[str, int, int], None]
_WIDTH_OF_FILES: Final = 110
_QUIET_S: Final = 10.0


def print_json(value: object) -> None:
    """Print one JSON object; figures that are not finite become null."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=1).decode())


def print_for_people(*parts: "RenderableType") -> None:
    """Print tables and lines, in colour where stdout is a terminal."""
    console = _console(stderr=False)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))  # a path is never broken


def note(message: str) -> None:
    """Say something beside the result."""
    click.echo(message, err=True)


@contextmanager
def progress() -> Iterator[Report]:
    """Show how far the work is: a bar on a terminal, else a line now and then.

    Yields:
        A function that takes what is done now, how many are done, and of how many (0: unknown).
    """
    if not sys.stderr.isatty():
        yield lines(note, time.monotonic)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        "{task.description}",
        console=_console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None)

        def report(message: str, done: int, total: int) -> None:
            bar.update(task, description=message, completed=done, total=total or None)

        yield report


def lines(say: Callable[[str], None], clock: Callable[[], float]) -> Report:
    """Tell progress in lines: one when a step begins, further ones now and then while it lasts.

    Args:
        say: takes a line.
        clock: seconds that never go back.
    """
    total_before = -1
    said, said_at = "", 0.0

    def report(message: str, done: int, total: int) -> None:
        nonlocal total_before, said, said_at
        begins = message != said and (done == 0 or total != total_before)
        if begins or clock() - said_at >= _QUIET_S:
            say(f"{message} ({done}/{total})" if done else message)
            said, said_at = message, clock()
        total_before = total

    return report


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH_OF_FILES
    return Console(file=stream, highlight=False, markup=False, width=width)
