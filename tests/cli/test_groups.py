"""A long help lists its options under headings."""

import click
import pytest
from click.testing import CliRunner

from evener.cli.groups import HEADINGS, OTHERS, grouped
from evener.cli.main import cli


def test_every_option_stands_under_one_heading() -> None:
    names = [name for group in HEADINGS.values() for name in group]

    assert len(set(names)) == len(names)
    assert [name for group in grouped([*names, "--new"]).values() for name in group] == [
        *names,
        "--new",
    ]


def test_what_no_heading_knows_stands_under_others_last() -> None:
    assert list(grouped(["--json", "--shape"])) == ["Network", OTHERS]


@pytest.mark.parametrize("verb", ["plan", "run", "serve"])
def test_a_long_help_has_headings_and_leaves_no_option_out(verb: str) -> None:
    shown = CliRunner().invoke(cli, [verb, "--help"]).output
    command = cli.get_command(click.Context(cli), verb)

    assert "\nNetwork:\n" in shown
    assert f"\n{OTHERS}:\n" in shown
    assert "NET" not in map(str.strip, shown.splitlines())  # an argument is no option
    assert command is not None
    for param in command.params:
        for name in (*param.opts, *param.secondary_opts):
            assert not name.startswith("-") or name in shown


def test_a_short_help_has_one_list() -> None:
    assert "\nOptions:\n" in CliRunner().invoke(cli, ["show", "--help"]).output
