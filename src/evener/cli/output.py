"""Where words go: results to stdout, progress and notes to stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
import msgspec

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Report = Callable[[str, int, int], None]
_WIDTH_OF_FILES = 110


def print_json(value: object) -> None:
    """Print one JSON object; figures that are not finite become null."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=1).decode())


def print_for_people(*parts: "RenderableType") -> None:
    """Print tables and lines, in colour where stdout is a terminal."""
    console = _console(stderr=False)
    for part in parts:
        console.print(part)


def note(message: str) -> None:
    """Say something beside the result."""
    click.echo(message, err=True)


@contextmanager
def progress() -> Iterator[Report]:
    """Show how far the work is: a bar on a terminal, else a line where the step changes.

    Yields:
        A function that takes what is done now, how many are done, and of how many (0: unknown).
    """
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=_console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None)

        def report(message: str, done: int, total: int) -> None:
            bar.update(task, description=message, completed=done, total=total or None)

        yield report


def _lines() -> Report:
    said = ""

    def report(message: str, _done: int, _total: int) -> None:
        nonlocal said
        if message != said:
            said = message
            note(message)

    return report


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else _WIDTH_OF_FILES)
