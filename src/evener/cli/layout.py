"""The one function that lays out any artifact for people, and the table that most of them are."""

from collections.abc import Iterable, Sequence
from functools import singledispatch

from rich import box
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Group:
    """Lay out rows below a title; a column whose name starts with ">" is set to the right."""
    made = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        justify: JustifyMethod = "right" if column.startswith(">") else "left"
        made.add_column(column.lstrip(">"), justify=justify, overflow="fold")  # never cut off
    for row in rows:
        made.add_row(*row)
    return Group(Text(title, style="bold"), made)


@singledispatch
def lay_out(value: object) -> RenderableType:
    """Lay out an artifact for people."""
    raise TypeError(
        f"{type(value).__name__} has no layout; register one in evener.cli.run_tables, "
        "evener.cli.build_tables or evener.cli.train_tables"
    )
