"""`evener init` writes a project file that the build reads, and never overwrites one."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.project import (
    DataSection,
    PlanSection,
    SearchSection,
    ServeSection,
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
    assert project.serve == ServeSection()
    for section in (DataSection, SearchSection, TrainSection, PlanSection, ServeSection):
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
    code, _, err = evener("init", tmp_path / "p", "--data", "rows.txt")

    assert code == 2
    assert "--data rows.txt is neither 'digits' nor a .csv, .tsv or .npz file" in err
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("target", ["label", "kind"])
def test_an_npz_file_is_a_dataset(target: str, evener: Evener, tmp_path: Path) -> None:
    named = {target: np.array([0, 1])}
    np.savez(tmp_path / "rows.npz", allow_pickle=False, x=np.ones((2, 3), np.float32), **named)
    options = () if target == "label" else ("--target", target)

    code, _, _ = evener("init", tmp_path / "p", "--data", tmp_path / "rows.npz", *options)

    assert code == 0
    assert load_project(tmp_path / "p").data == DataSection(source="../rows.npz", target=target)


def test_an_npz_file_without_the_target_says_what_it_has(evener: Evener, tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=np.ones((2, 3), np.float32), kind=np.array([0, 1]))

    code, _, err = evener("init", tmp_path / "p", "--data", tmp_path / "rows.npz")

    assert code == 2
    assert "has no array 'label' to predict; arrays: x, kind" in err
    assert not (tmp_path / "p").exists()


def test_a_project_behind_a_link_finds_its_table(evener: Evener, tmp_path: Path) -> None:
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "near").symlink_to("far/deep")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")

    code, _, _ = evener("init", tmp_path / "near" / "p", "--data", tmp_path / "t.csv")

    assert code == 0
    source = load_project(tmp_path / "near" / "p").data.source
    assert source == "../../../t.csv"
    assert (tmp_path / "near" / "p" / source).read_text() == "a,b\n1,2\n"


def test_a_table_that_is_a_link_keeps_its_name(evener: Evener, tmp_path: Path) -> None:
    (tmp_path / "today").write_text("a,b\n1,2\n")
    (tmp_path / "t.csv").symlink_to("today")

    code, _, _ = evener("init", tmp_path / "p", "--data", tmp_path / "t.csv")

    assert code == 0
    assert load_project(tmp_path / "p").data.source == "../t.csv"


def test_a_path_in_a_message_goes_straight(evener: Evener, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    _, _, err = evener("init", tmp_path / "p", "--data", tmp_path / "a" / ".." / "none.csv")

    assert f"cannot read {tmp_path / 'none.csv'}: No such file" in err


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("new\nline", r"the folder 'new\nline' has a control character in its name"),
        ("a\x1b[1m/p", r"the folder 'a\x1b[1m/p' has a control character in its name"),
        ("real.json", "real.json is a file; name a folder"),
        ("", "invalid value for 'FOLDER': the name is empty: name a file or folder"),
    ],
)
def test_a_folder_that_can_be_none_is_refused_before_anything_is_written(
    folder: str, message: str, evener: Evener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("real.json").write_text("{}")

    code, out, err = evener("init", folder)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["real.json"]


def test_a_link_in_place_of_the_project_file_is_not_written_through(
    evener: Evener, tmp_path: Path
) -> None:
    (tmp_path / "evener.toml").symlink_to("elsewhere")

    code, _, err = evener("init", tmp_path)

    assert code == 2
    assert "is already there and is not overwritten" in err
    assert not (tmp_path / "elsewhere").exists()


def test_a_name_that_is_not_utf_8_is_shown_with_escapes(evener: Evener, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"new\xffbin")

    code, out, err = evener("init", folder)

    assert (code, out) == (0, "")
    assert r"new\udcffbin" in err
    assert load_project(folder).data == DataSection(source="digits")


def test_a_table_whose_name_evener_toml_cannot_hold_is_refused(
    evener: Evener, tmp_path: Path
) -> None:
    table = tmp_path / os.fsdecode(b"t\xff.csv")
    table.write_text("a,b\n1,2\n")

    code, _, err = evener("init", tmp_path / "p", "--data", table)

    assert code == 2
    assert r"the name '../t\udcff.csv' is not UTF-8, as evener.toml must be" in err
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
        (b"only\n1\n", None, "has 1 column in its first line"),
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


@pytest.mark.parametrize(
    ("rows", "metric", "least"),
    [
        ("1,rose\n2,iris\n3,rose\n", "accuracy", ">= 0.8 ?"),
        ("1,2.5\n2,3.25\n3,\n", "r2", ">= 0.5 ?"),
        ("", "accuracy", ">= 0.8 ?"),
    ],
)
def test_what_is_required_of_a_table_fits_its_target(
    rows: str, metric: str, least: str, evener: Evener, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(f"a,b\n{rows}")

    code, _, _ = evener("init", tmp_path / "p", "--data", tmp_path / "t.csv")

    assert code == 0
    assert load_project(tmp_path / "p").requirements[0] == parse_requirement(metric, least)


def test_what_is_required_of_arrays_fits_their_target(evener: Evener, tmp_path: Path) -> None:
    marks = np.array([[0, 1], [1, 1], [1, 0]])
    np.savez(tmp_path / "rows.npz", allow_pickle=False, x=np.ones((3, 2)), label=marks)

    code, _, _ = evener("init", tmp_path / "p", "--data", tmp_path / "rows.npz")

    assert code == 0
    assert load_project(tmp_path / "p").requirements[0] == parse_requirement("f1", ">= 0.5 ?")
