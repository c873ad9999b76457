"""A folder is there with all its files or not at all."""

from pathlib import Path

import pytest

from evener.artifacts.files import sweep
from evener.artifacts.folder import check_place, new_folder
from evener.errors import InvalidFileError


def test_it_appears_when_its_files_are_written(tmp_path: Path) -> None:
    path = tmp_path / "above" / "made"

    with new_folder(path) as partial:
        (partial / "a").write_text("1")
        assert not path.exists()

    assert [each.relative_to(tmp_path) for each in sorted(tmp_path.rglob("*"))] == [
        Path("above"),
        Path("above/made"),
        Path("above/made/a"),
    ]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_one_that_was_not_finished(
    error: type[BaseException], tmp_path: Path
) -> None:
    def make_half() -> None:
        with new_folder(tmp_path / "made") as partial:
            (partial / "a").write_text("1")
            raise error

    with pytest.raises(error):
        make_half()

    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("1")
    (tmp_path / "empty").mkdir()
    (tmp_path / "astray").symlink_to("nowhere")

    for name in ("file", "empty", "astray"):
        with (
            pytest.raises(InvalidFileError, match=f"{name} exists already, and nothing is over"),
            new_folder(tmp_path / name),
        ):
            pytest.fail("must not be entered")


def test_one_that_came_to_be_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "made"

    def make_too_late() -> None:
        with new_folder(path):
            path.mkdir()
            (path / "theirs").write_text("keep")

    with pytest.raises(InvalidFileError, match="cannot write the folder"):
        make_too_late()

    assert [each.name for each in tmp_path.iterdir()] == ["made"]
    assert (path / "theirs").read_text() == "keep"


def test_a_place_that_cannot_hold_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("1")

    with pytest.raises(InvalidFileError, match="Not a directory"), new_folder(tmp_path / "file/a"):
        pytest.fail("must not be entered")


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    (tmp_path / ".partial-1").mkdir()
    (tmp_path / ".partial-1" / ".partial-2").write_text("half")

    sweep(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_place_to_write_into_is_a_folder_or_may_be_made_in_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loose").symlink_to(tmp_path / "nothing")

    check_place(tmp_path)
    check_place(tmp_path / "new" / "newer")
    for name in ("file", "file/below", "loose"):
        there = tmp_path / name.partition("/")[0]
        with pytest.raises(InvalidFileError, match=f"{there} is no folder that you may write to"):
            check_place(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "loose"]
