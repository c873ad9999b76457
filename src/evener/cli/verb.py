"""What every verb shares: the layout of its help, and what the last error handler must know."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from evener.cli import output
from evener.cli.groups import LONG, grouped

_FLAGS_WIDTH: Final = 30  # as click has it; longer ones get a line of their own
HELP: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@dataclass(slots=True)
class Invocation:
    """One start of the command line, as far as it is known while it runs.

    Attributes:
        verb: the verb that was called, "" before it is known.
        debug: whether errors show their traceback.
        arguments: what followed `evener`.
    """

    verb: str = ""
    debug: bool = False
    arguments: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What was called, such as "evener plan"."""
        return f"evener {self.verb}".strip()


def _note_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    ctx.ensure_object(Invocation).debug |= value


debug_option: Final = click.option(  # before the verb and after it
    "--debug",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_note_debug,
    help="Show the traceback of an error.",
)


class Verb(click.Command):
    """A verb whose help ends with commands to copy and with what comes next.

    Args:
        examples: whole command lines; tests parse each.
        what_next: one or two sentences.
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - click's own parameters, handed on
        examples: Sequence[str],
        what_next: str,
        **kwargs: Any,  # noqa: ANN401 - as above
    ) -> None:
        kwargs["context_settings"] = HELP | kwargs.get("context_settings", {})
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.what_next = what_next
        debug_option(self)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - click's own parameters, handed on
    ) -> click.Context:
        """Note which verb it is, then parse."""
        if parent is not None:
            parent.ensure_object(Invocation).verb = info_name or ""
        with output.writing():  # of the help, if that is asked for
            return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, under headings if there are many."""
        records: dict[str, tuple[str, str]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                records[param.opts[-1]] = record
        if len(records) < LONG:
            super().format_options(ctx, formatter)
            return
        width = min(_FLAGS_WIDTH, max(len(flags) for flags, _ in records.values()))
        for heading, names in grouped(records).items():
            rows = [(f"{flags:<{width}}", text) for flags, text in map(records.__getitem__, names)]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the examples, then what comes next."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        with formatter.section("What next"):
            formatter.write_text(self.what_next)
