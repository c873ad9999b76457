"""Start the verb that the command line names, and turn whatever happens into an exit code.

0    done
1    the input is valid, but a limit is missed or cannot be met
2    the user's input is at fault
3    Evener is at fault
130  stopped with Ctrl-C
141  whoever read the output went away, as in `evener plan NET | head -1`
"""

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final, TextIO

import click

from evener import __version__
from evener.cli import output
from evener.cli.verb import HELP, Invocation, debug_option
from evener.errors import STOPPED, EvenerError

VERBS: Final = (
    "init",
    "build",
    "data",
    "search",
    "train",
    "verify",
    "processors",
    "profile",
    "plan",
    "split",
    "run",
    "serve",
    "bench",
    "show",
    "selfcheck",
)
REPORT_TO: Final = "https://github.com/evener/evener/issues"


class Verbs(click.Group):
    """Finds each verb in the module of its name, imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the verbs in the order of the flow."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a verb; None if there is none of that name."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"evener.cli.{cmd_name}").command
        return command


@click.group(cls=Verbs, context_settings=HELP)
@click.version_option(__version__, message="evener %(version)s")
@debug_option
def cli() -> None:
    """Evolve a network from data, split it over every processor, and run it.

    Start with a dataset: evener init my-digits, then evener build my-digits. Start with a trained
    network: evener plan model.onnx, then evener run model.onnx --frames 100.

    "evener VERB -h" explains a verb and shows commands to copy.
    """


def execute(arguments: Sequence[str]) -> int:
    """Run one command line.

    Args:
        arguments: what follows `evener`.

    Returns:
        The exit code; what went wrong is on stderr by then.
    """
    invocation = Invocation(arguments=tuple(arguments))
    try:
        output.prepare()
        with output.writing():
            context = cli.make_context("evener", list(arguments), obj=invocation)
        with context:
            code: int | None = cli.invoke(context)
        with output.writing():
            sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last handler there is: each becomes an exit code
        return explain(invocation, error)
    return code or 0


def explain(invocation: Invocation, error: BaseException) -> int:
    """Tell the user what went wrong.

    Args:
        invocation: what was called.
        error: what came of it; its notes say where.

    Returns:
        The exit code.
    """
    if isinstance(error, BrokenPipeError):
        _forget(sys.stdout)
        return 141
    if invocation.debug:
        traceback.print_exception(error)
    return _tell(invocation, error)


def _tell(invocation: Invocation, error: BaseException) -> int:
    if _was_stopped(error):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ending: further ones change nothing
        _say(invocation, "stopped; what was finished is kept, and the next start goes on from it")
        return STOPPED
    if isinstance(error, output.StdoutError):
        _forget(sys.stdout)
    match error:
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.format_message(), err=True)
            return 2
        case click.ClickException():
            _say(invocation, f"{_uncapitalised(error.format_message())}; see {invocation.name} -h")
            return 2
        case EvenerError():
            _say(invocation, f"{_where(error)}{error}")
            return error.exit_code
        case UnicodeEncodeError() if error.reason == "surrogates not allowed":
            _say(invocation, f"the name {error.object!r} is not UTF-8; rename the file or folder")
            return 2
        case _:
            _say(
                invocation,
                f"{_where(error)}this is a fault of evener: {type(error).__name__}: {error}; run "
                f"again with --debug for the traceback, and report it at {REPORT_TO}",
            )
            return 3


def _where(error: BaseException) -> str:
    """Return on which rank an error was raised, as its note says; "" if on none."""
    notes: Sequence[str] = getattr(error, "__notes__", ())
    return next((f"{note}: " for note in notes if note.startswith("on rank ")), "")


def _was_stopped(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error, as where it came while a library was being loaded."""
    while error is not None and not isinstance(error, KeyboardInterrupt | click.Abort):
        error = error.__cause__ or error.__context__
    return error is not None


def _say(invocation: Invocation, message: str) -> None:
    try:
        click.echo(f"{invocation.name}: {' '.join(message.split())}", err=True)
    except OSError:  # the exit code is left, where stderr takes nothing
        _forget(sys.stderr)


def _uncapitalised(message: str) -> str:
    return message[:1].lower() + message[1:].rstrip(".")


def _forget(stream: TextIO | None) -> None:
    # Python flushes it once more on its way out; that must not raise again.
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
