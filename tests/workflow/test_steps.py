"""Steps run once per inputs, survive kills, and never trust a damaged file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evener.artifacts.files import write_whole
from evener.errors import InputError, InvalidFileError
from evener.workflow.steps import Steps, code_version, open_steps


def writer(folder: Path) -> tuple[Callable[[], dict[str, Path]], list[int]]:
    calls: list[int] = []

    def make() -> dict[str, Path]:
        calls.append(1)
        write_whole(folder / "out.bin", b"made")
        return {"out": folder / "out.bin"}

    return make, calls


def test_a_step_runs_once_for_the_same_inputs(tmp_path: Path) -> None:
    make, calls = writer(tmp_path)

    first = Steps(tmp_path).step("train", {"seed": 0}, make)
    steps = Steps(tmp_path)
    second = steps.step("train", {"seed": 0}, make)

    assert len(calls) == 1
    assert first == second == {"out": tmp_path / "out.bin"}
    assert (steps.ran, steps.kept) == ([], ["train"])


def test_other_inputs_run_it_again(tmp_path: Path) -> None:
    make, calls = writer(tmp_path)

    Steps(tmp_path).step("train", {"seed": 0}, make)
    Steps(tmp_path).step("train", {"seed": 1}, make)

    assert len(calls) == 2


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"x"), Path.unlink])
def test_a_changed_or_missing_file_is_made_again(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    make, calls = writer(tmp_path)
    Steps(tmp_path).step("train", {}, make)

    damage(tmp_path / "out.bin")
    Steps(tmp_path).step("train", {}, make)

    assert len(calls) == 2
    assert (tmp_path / "out.bin").read_bytes() == b"made"


def test_a_damaged_record_is_made_again(tmp_path: Path) -> None:
    make, calls = writer(tmp_path)
    Steps(tmp_path).step("train", {}, make)

    (tmp_path / "steps" / "train.json").write_text("{")
    Steps(tmp_path).step("train", {}, make)

    assert len(calls) == 2


def test_a_step_that_fails_leaves_no_record(tmp_path: Path) -> None:
    def make() -> dict[str, Path]:
        raise InputError("no rows")

    with pytest.raises(InputError, match="no rows"):
        Steps(tmp_path).step("data", {}, make)

    assert not (tmp_path / "steps" / "data.json").exists()


def test_two_builds_of_one_project_cannot_run_at_once(tmp_path: Path) -> None:
    with (
        open_steps(tmp_path),
        pytest.raises(InputError, match="another build of .* is running"),
        open_steps(tmp_path),
    ):
        pass


def test_what_a_killed_build_left_half_written_is_swept(tmp_path: Path) -> None:
    partial = tmp_path / ".evener" / "steps" / ".partial-1234"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"half")

    with open_steps(tmp_path):
        pass

    assert not partial.exists()


def test_a_project_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(InvalidFileError, match="cannot write .*file"),
        open_steps(tmp_path / "file"),
    ):
        pass


def test_the_code_version_differs_between_packages() -> None:
    assert code_version("artifacts") != code_version("units.py")
