"""The documentation cannot lie: commands exist, links lead somewhere, nothing is left out."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from evener.artifacts.board import known_boards, load_board, parse_board
from evener.artifacts.project import parse_project
from evener.artifacts.requirements import METRICS
from evener.cli.main import VERBS, cli
from evener.cli.page import page
from evener.units import SCALES

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> Iterator[tuple[str, str, str]]:
    """Yield the page, the words behind the language and the text of each block."""
    for one in PAGES:
        for found in _BLOCK.finditer(one.read_text()):
            if found[1] == language:
                yield str(one.relative_to(ROOT)), found[2].strip(), found[3]


def commands() -> list[tuple[str, str]]:
    return [
        (where, line.removeprefix("$ ").strip())
        for where, _, text in blocks("console")
        for line in text.splitlines()
        if line.startswith("$ ")
    ]


def test_the_page_of_the_command_line_is_what_the_programs_print() -> None:
    assert (ROOT / "docs/cli.md").read_text() == page()


@pytest.mark.parametrize(("where", "line"), commands())
def test_every_command_in_the_documentation_exists(where: str, line: str) -> None:
    program, *arguments = shlex.split(line, comments=True)

    assert program in {"evener", "make"}, where
    if program == "make":
        assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return
    name, *rest = arguments
    verb = cli.get_command(click.Context(cli), name)
    assert verb is not None, f"{where} names the verb {name}"
    verb.make_context(name, rest)


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_has_a_page_that_explains_every_option(name: str) -> None:
    text = (ROOT / f"docs/verbs/{name}.md").read_text()
    verb = cli.get_command(click.Context(cli), name)

    assert verb is not None
    assert f"$ evener {name}" in text
    options = {one.opts[-1] for one in verb.params if isinstance(one, click.Option)}
    unexplained = {option for option in options - {"--debug"} if f"`{option}`" not in text}
    assert not unexplained


def test_the_readme_names_every_verb_page() -> None:
    text = (ROOT / "README.md").read_text()

    assert all(f"(docs/verbs/{name}.md)" in text for name in VERBS)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_explained(name: str) -> None:
    text = (ROOT / "docs/requirements.md").read_text()
    metric = METRICS[name]

    row = next(line for line in text.splitlines() if line.startswith(f"| `{name}` "))
    assert f"`{metric.better}`" in row
    assert metric.means in row


@pytest.mark.parametrize("dimension", ["time", "size", "rate", "energy"])
def test_every_unit_of_a_requirement_is_named(dimension: str) -> None:
    text = (ROOT / "docs/requirements.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith(f"| {dimension} | `"))

    assert all(f"`{unit}`" in row for unit in SCALES[dimension] if unit.isascii())


@pytest.mark.parametrize(("where", "kind", "text"), list(blocks("toml")))
def test_every_file_of_settings_in_the_documentation_is_accepted(
    where: str, kind: str, text: str
) -> None:
    raw = tomllib.loads(text)

    assert parse_board(raw).networks if kind == "board" else parse_project(raw).data.source, where


def test_the_page_of_the_boards_names_each_with_its_networks() -> None:
    text = (ROOT / "docs/boards.md").read_text()

    for name in known_boards():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}` "))
        assert all(f"`{network}`" in row for network in load_board(name).networks)


@pytest.mark.parametrize("one", PAGES, ids=lambda one: str(one.relative_to(ROOT)))
def test_links_lead_somewhere(one: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", one.read_text())

    assert not [target for target in targets if not (one.parent / target).exists()]


@pytest.mark.parametrize(
    "word",
    [
        *("block", "cut", "segment", "stage", "lane", "core set", "credits", "latency", "profile"),
        *("single", "all cores", "copies", "processor", "runtime", "session", "plan", "trace"),
    ],
)
def test_the_words_of_the_design_are_explained(word: str) -> None:
    assert f"* **{word.capitalize()}**: " in (ROOT / "docs/glossary.md").read_text()


def test_the_example_project_is_accepted() -> None:
    from evener.artifacts.project import load_project

    assert load_project(ROOT / "examples/digits").data.source == "digits"
