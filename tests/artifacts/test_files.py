"""Artifacts are written whole, read back equal, and refused when they are not what they claim."""

import json
from pathlib import Path

import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.files import load, peek, save, sweep, write_whole
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


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(InvalidFileError, match="cannot write"):
        write_whole(tmp_path / "file" / "a.json", b"new")


def test_sweeping_removes_partial_files_only(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / ".partial-0").write_text("half")
    (tmp_path / "deep" / "whole").write_text("whole")

    sweep(tmp_path)

    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["whole"]
