"""`evener init` writes a project file that the build reads, and never overwrites one."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from evener.artifacts.project import (
    DataSection,
    PlanSection,
    SearchSection,
    TrainSection,
    load_project,
    parse_project,
)
from evener.artifacts.requirements import parse_requirement

Evener = Callable[..., tuple[int, str, str]]


def test_the_digits_come_with_requirements(evener: Evener, tmp_path: Path) -> None:
    folder = tmp_path / "new"

    code, out, err = evener("init", folder)

    assert (code, out) == (0, "")
    assert err == f"wrote {folder / 'evener.toml'}; next: evener build {folder}\n"
    project = load_project(folder)
    assert project.data == DataSection(source="digits")
    assert project.requirements == (
        parse_requirement("accuracy", ">= 0.97"),
        parse_requirement("latency_p99", "<= 20 ms"),
        parse_requirement("throughput", ">= 200 /s"),
        parse_requirement("size", "<= 2 MB ?"),
    )


def test_what_is_commented_out_are_the_defaults(evener: Evener, tmp_path: Path) -> None:
    evener("init", tmp_path)
    text = (tmp_path / "evener.toml").read_text()
    lines = [
        line.removeprefix("# ") if line.startswith("# ") and "=" in line else line
        for line in text.splitlines()
    ]

    project = parse_project(tomllib.loads("\n".join(lines)))

    assert project.data == DataSection(source="digits")
    assert project.search == SearchSection()
    assert project.train == TrainSection()
    assert project.plan == PlanSection()
    for section in (DataSection, SearchSection, TrainSection, PlanSection):
        for key in section.__struct_fields__:
            assert f"{key} =" in text


def test_a_table_is_named_relative_to_the_project(evener: Evener, tmp_path: Path) -> None:
    (tmp_path / "flowers.csv").write_text("width,height,species\n1,2,rose\n")

    code, _, _ = evener("init", tmp_path / "p", "--data", tmp_path / "flowers.csv")

    assert code == 0
    assert load_project(tmp_path / "p").data == DataSection(
        source="../flowers.csv", target="species"
    )


def test_any_column_may_be_the_target_whatever_its_name(evener: Evener, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('"say ""hi"" \\ {x}",b\n1,2\n', encoding="utf-8-sig")

    code, _, _ = evener(
        *("init", tmp_path / "p", "--data", tmp_path / "t.csv", "--target", 'say "hi" \\ {x}')
    )

    assert code == 0
    assert load_project(tmp_path / "p").data.target == 'say "hi" \\ {x}'


@pytest.mark.parametrize("header", ["a;b;kind", "a\tb\tkind", " a , b , kind ", "a,b,kind"])
def test_the_head_of_a_table_is_read_as_the_build_reads_it(
    header: str, evener: Evener, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(f"{header}\n")

    code, _, _ = evener("init", tmp_path / "p", "--data", tmp_path / "t.csv")

    assert code == 0
    assert load_project(tmp_path / "p").data.target == "kind"


def test_any_language_may_name_a_column_or_a_file(evener: Evener, tmp_path: Path) -> None:
    (tmp_path / "größe 🌷.csv").write_text("a,sorte 🌹\n1,2\n")

    code, _, _ = evener("init", tmp_path / "p", "--data", tmp_path / "größe 🌷.csv")

    assert code == 0
    assert load_project(tmp_path / "p").data == DataSection(
        source="../größe 🌷.csv", target="sorte 🌹"
    )


def test_a_file_that_is_no_table_is_refused(evener: Evener, tmp_path: Path) -> None:
    code, _, err = evener("init", tmp_path / "p", "--data", "rows.npz")

    assert code == 2
    assert "--data rows.npz is neither 'digits' nor a .csv or .tsv file" in err
    assert not (tmp_path / "p").exists()


def test_the_next_command_can_be_copied(evener: Evener, tmp_path: Path) -> None:
    _, _, err = evener("init", tmp_path / "my digits")

    assert err.endswith(f"next: evener build '{tmp_path / 'my digits'}'\n")


def test_nothing_is_overwritten(evener: Evener, tmp_path: Path) -> None:
    path = tmp_path / "evener.toml"
    path.write_text("mine")

    code, _, err = evener("init", tmp_path)

    assert code == 2
    assert f"{path} is already there and is not overwritten; choose another folder" in err
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "target", "message"),
    [
        (b"", None, "has 0 columns in its first line"),
        (b"only\n1\n", None, "has 1 columns in its first line"),
        (b"\xff\xfe\x00", None, "is not a CSV table in UTF-8"),
        (
            b"width,species\n",
            "specie",
            "has no column 'specie' to predict; did you mean 'species'?",
        ),
        (b"width,species\n", "zzz", "has no column 'zzz' to predict; columns: width, species"),
    ],
)
def test_a_table_that_cannot_be_learned_from_leaves_nothing_behind(
    content: bytes, target: str | None, message: str, evener: Evener, tmp_path: Path
) -> None:
    table = tmp_path / "t.csv"
    table.write_bytes(content)
    options = ("--target", target) if target else ()

    code, out, err = evener("init", tmp_path / "p", "--data", table, *options)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not (tmp_path / "p").exists()


def test_a_missing_table_is_named(evener: Evener, tmp_path: Path) -> None:
    code, _, err = evener("init", tmp_path / "p", "--data", tmp_path / "none.csv")

    assert code == 2
    assert f"cannot read {tmp_path / 'none.csv'}: No such file or directory" in err


def test_the_digits_have_one_target(evener: Evener, tmp_path: Path) -> None:
    code, _, err = evener("init", tmp_path / "p", "--target", "ink")

    assert code == 2
    assert "--target ink: the digits have the one target 'label'" in err


def test_a_folder_that_cannot_be_made_is_an_input_error(evener: Evener, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    code, _, err = evener("init", tmp_path / "file" / "p")

    assert code == 2
    assert "cannot write" in err
