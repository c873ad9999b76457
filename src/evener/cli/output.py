"""Where words go: results to stdout, progress and notes to stderr."""

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from evener.artifacts.files import encode
from evener.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Report = Callable[[str, int, int], None]
_WIDTH_OF_FILES: Final = 110
_WIDEST: Final = 10_000
_QUIET_S: Final = 10.0


class StdoutError(InputError):
    """Standard output cannot be written to."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"cannot write to standard output: {why}; send it to a file or program that takes it"
        )


def prepare() -> None:
    """Make the streams of this process fit for any result, before the work begins.

    Raises:
        StdoutError: standard output is closed.
    """
    if sys.stderr is None:  # closed: what is said there is lost, and nothing else is
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
    if sys.stdout is None:
        raise StdoutError("it is closed")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a file's name need not be UTF-8
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def writing() -> Iterator[None]:
    """Say that standard output is at fault if what is done inside fails to write to it.

    Raises:
        StdoutError: a write failed, other than for a reader that went away.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StdoutError(error.strerror or str(error)) from error


def print_json(value: object) -> None:
    """Print one JSON object; figures that are not finite become null."""
    text = msgspec.json.format(encode(value), indent=1).decode()
    with writing():
        click.echo(text)


def print_for_people(*parts: "RenderableType") -> None:
    """Print tables and lines, in colour where stdout is a terminal.

    Where a terminal is too narrow for a table, its lines are wrapped, and nothing is left out.
    """
    from rich.measure import Measurement

    console = _console(stderr=False)
    width = console.width
    for part in parts:
        needed = Measurement.get(console, console.options.update(width=_WIDEST), part).minimum
        console.width = max(width, needed)
        with writing():  # not by rich, which ends the program where a reader went away
            with console.capture() as captured:
                console.print(part, soft_wrap=isinstance(part, str))  # a path is never broken
            click.echo(captured.get(), nl=False, color=True)  # rich knows what stdout takes


def width() -> int:
    """Return how many characters a line of stdout has."""
    return _console(stderr=False).width


def note(message: str) -> None:
    """Say something beside the result."""
    click.echo(message, err=True)


@contextmanager
def progress(
    *, below: "Callable[[], Iterable[RenderableType]] | None" = None, per_second: float = 10
) -> Iterator[Report]:
    """Show how far the work is: a bar on a terminal, else a line now and then.

    Args:
        below: makes what is shown below the bar, each time anew.
        per_second: how often a terminal shows it.

    Yields:
        A function that takes what is done now, how many are done, and of how many (0: unknown).
    """
    if not sys.stderr.isatty():
        yield lines(note, time.monotonic)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    class Bar(Progress):
        """A bar with something below it."""

        def get_renderables(self) -> Iterable["RenderableType"]:
            yield from super().get_renderables()
            if below is not None:
                yield from below()

    with Bar(
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        "{task.description}",
        console=_console(stderr=True),
        transient=True,
        refresh_per_second=per_second,
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
            of = f"/{total}" if total else ""
            say(f"{message} ({done}{of})" if done else message)
            said, said_at = message, clock()
        total_before = total

    return report


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH_OF_FILES
    return Console(
        file=stream,
        highlight=False,
        markup=False,
        width=width,
        color_system=None if os.environ.get("NO_COLOR") else "auto",  # bold is a colour too
    )
