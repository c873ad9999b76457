"""Artifacts are written whole, read back equal, and refused when they are not what they claim."""

import json
import os
from pathlib import Path

import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.files import load, peek, save, sweep, write_first, write_whole
from evener.artifacts.page import Page
from evener.artifacts.requirements import Verdict, Verdicts
from evener.artifacts.trace import Trace
from evener.errors import InvalidFileError

NETWORK = Architecture(hidden=(64, 32))


def test_an_artifact_is_read_back_as_it_was(tmp_path: Path) -> None:
    sha256 = save(tmp_path / "a.json", NETWORK, made_from={"data": "ab"}, took_s=2.5)

    kept = load(tmp_path / "a.json", Architecture)

    assert kept.value == NETWORK
    assert (kept.sha256, kept.made_from, kept.made.took_s) == (sha256, {"data": "ab"}, 2.5)


def test_whole_numbers_in_fields_of_floats_are_read_back(tmp_path: Path) -> None:
    verdict = Verdict(name="size", relation="<=", limit=2, hard=True, value=1, holds=True)
    save(tmp_path / "a.json", Verdicts(verdicts=(verdict,)))

    assert load(tmp_path / "a.json", Verdicts).value.verdicts == (verdict,)


def test_the_hash_knows_no_dates_and_no_durations(tmp_path: Path) -> None:
    first = save(tmp_path / "a.json", NETWORK, took_s=1)
    second = save(tmp_path / "b.json", NETWORK, took_s=2)

    assert first == second


def test_a_name_that_is_not_utf_8_is_kept_with_escapes(tmp_path: Path) -> None:
    page = Page(path=os.fsdecode(b"r\xff.html"), sha256="ab" * 32)
    sha256 = save(tmp_path / "a.json", page)

    kept = load(tmp_path / "a.json", Page)

    assert (kept.value.path, kept.sha256) == (r"r\udcff.html", sha256)


def test_the_hash_knows_what_it_was_made_from(tmp_path: Path) -> None:
    first = save(tmp_path / "a.json", NETWORK, made_from={"data": "1"})
    second = save(tmp_path / "b.json", NETWORK, made_from={"data": "2"})

    assert first != second


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    save(path, NETWORK)
    path.write_text(path.read_text().replace("32", "33"))

    with pytest.raises(InvalidFileError, match="does not match its own sha256"):
        load(path, Architecture)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "plan"}, "is of the kind plan, but architecture is wanted"),
        ({"schema": 9}, "has schema 9 of architecture, this version reads 1"),
        ({"content": {"hiden": []}}, "unknown field `hiden`"),
        ({"content": {"hidden": "wide"}}, "Expected `array`"),
        ({"kind": None}, "is of the kind none, but architecture is wanted"),
        ({"content": {"trees": "3"}}, "Expected `int`, got `str`"),
        ({"made": None}, "no architecture this version can read"),
    ],
)
def test_a_file_of_another_shape_says_what_is_wrong(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / "a.json"
    save(path, NETWORK)
    path.write_text(json.dumps(peek(path) | change))

    with pytest.raises(InvalidFileError, match=message):
        load(path, Architecture)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[1]", "holds no JSON object"),
    ],
)
def test_what_is_no_artifact_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)

    with pytest.raises(InvalidFileError, match=message) as caught:
        load(path, Trace)

    assert caught.value.path == str(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="cannot read .*none.json: No such file"):
        load(tmp_path / "none.json", Trace)


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "folder"
    place.mkdir()

    with pytest.raises(InvalidFileError, match="cannot write"):
        write_whole(place, b"new")

    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_of_several_that_write_first_the_first_ones_file_stays(tmp_path: Path) -> None:
    write_first(tmp_path / "code", b"2")
    write_first(tmp_path / "code", b"3")

    assert (tmp_path / "code").read_bytes() == b"2"
    assert [path.name for path in tmp_path.iterdir()] == ["code"]


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(InvalidFileError, match="cannot write"):
        write_whole(tmp_path / "file" / "a.json", b"new")


def test_what_a_link_leads_to_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "link").symlink_to("deep/new.json")

    for content in (b"first", b"second"):
        write_whole(tmp_path / "link", content)

        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "deep" / "new.json").read_bytes() == content
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["new.json"]


def test_a_pipe_is_no_target(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)

    for target in (pipe, tmp_path / "link"):
        with pytest.raises(InvalidFileError, match="is a device or a pipe, and no regular file"):
            write_whole(target, b"new")
    assert pipe.is_fifo()


def test_a_device_is_no_target() -> None:
    with pytest.raises(InvalidFileError, match="cannot write /dev/null: it is a device"):
        write_whole(Path("/dev/null"), b"new")

    assert Path("/dev/null").is_char_device()


def test_a_link_in_a_circle_is_no_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")

    with pytest.raises(InvalidFileError, match="cannot write .*: Too many levels of symbolic"):
        write_whole(tmp_path / "link", b"new")


def test_a_file_without_a_schema_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"kind": "architecture"}')

    with pytest.raises(InvalidFileError, match="names no schema of architecture, this version"):
        load(tmp_path / "a.json", Architecture)


def test_sweeping_removes_partial_files_only(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / ".partial-0").write_text("half")
    (tmp_path / "deep" / "whole").write_text("whole")

    sweep(tmp_path)

    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["whole"]
