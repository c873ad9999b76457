"""Steps run once per inputs, survive kills, and never trust a damaged file."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evener.artifacts.architecture import Architecture
from evener.artifacts.files import file_sha256
from evener.artifacts.page import Page
from evener.errors import InputError, InvalidFileError
from evener.workflow.code import COMPARE_CODE, PLAN_CODE, RUN_CODE, SEARCH_CODE, TRAIN_CODE
from evener.workflow.steps import Steps, code_version, open_steps

WORKFLOW = Path(__file__).parents[2] / "src" / "evener" / "workflow"


class Work:
    """Counts how often it was done."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Architecture:
        self.times += 1
        return Architecture(hidden=(8,))


def test_a_step_runs_once_for_the_same_inputs(tmp_path: Path) -> None:
    work = Work()

    first = Steps(tmp_path).step("search", Architecture, {"seed": 0}, work)
    steps = Steps(tmp_path)
    second = steps.step("search", Architecture, {"seed": 0}, work)

    assert work.times == 1
    assert first == second
    assert (steps.ran, steps.kept) == ([], ["search"])


def test_other_inputs_run_it_again(tmp_path: Path) -> None:
    work = Work()

    Steps(tmp_path).step("search", Architecture, {"seed": 0}, work)
    Steps(tmp_path).step("search", Architecture, {"seed": 1}, work)

    assert work.times == 2


@pytest.mark.parametrize(
    "damage",
    [
        Path.unlink,
        lambda path: path.write_text("{"),
        lambda path: path.write_text(path.read_text().replace("8", "9")),
        lambda path: path.write_text(json.dumps({"kind": "plan"})),
    ],
)
def test_a_damaged_artifact_is_made_again(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    work = Work()
    Steps(tmp_path).step("search", Architecture, {}, work)

    damage(tmp_path / "architecture.json")
    kept = Steps(tmp_path).step("search", Architecture, {}, work)

    assert work.times == 2
    assert kept.value == Architecture(hidden=(8,))


def test_a_step_whose_side_file_changed_is_made_again(tmp_path: Path) -> None:
    page = tmp_path / "page.html"

    def make() -> Page:
        page.write_text("<html>")
        return Page(path=page.name, sha256=file_sha256(page))

    def run() -> Steps:
        steps = Steps(tmp_path)
        steps.step("report", Page, {}, make, still_good=lambda made: made.whole_in(tmp_path))
        return steps

    assert run().ran == ["report"]
    assert run().kept == ["report"]
    page.write_text("changed")
    assert run().ran == ["report"]
    page.unlink()
    assert run().ran == ["report"]


def test_a_step_that_fails_leaves_no_artifact(tmp_path: Path) -> None:
    def make() -> Architecture:
        raise InputError("no rows")

    with pytest.raises(InputError, match="no rows"):
        Steps(tmp_path).step("data", Architecture, {}, make)

    assert list(tmp_path.iterdir()) == []


def test_two_builds_of_one_project_cannot_run_at_once(tmp_path: Path) -> None:
    with (
        open_steps(tmp_path),
        pytest.raises(InputError, match="another build of .* is running"),
        open_steps(tmp_path),
    ):
        pass


def test_what_a_killed_build_left_half_written_is_swept(tmp_path: Path) -> None:
    partial = tmp_path / ".evener" / "deep" / ".partial-1234"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"half")

    with open_steps(tmp_path):
        pass

    assert not partial.exists()


def test_a_build_that_made_nothing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no rows"), open_steps(tmp_path):
        raise InputError("no rows")

    assert list(tmp_path.iterdir()) == []


def test_a_build_that_made_something_keeps_it(tmp_path: Path) -> None:
    with open_steps(tmp_path) as steps:
        steps.step("search", Architecture, {}, Work())

    assert (tmp_path / ".evener" / "architecture.json").exists()


def test_a_project_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(InvalidFileError, match="cannot write .*file"),
        open_steps(tmp_path / "file"),
    ):
        pass


def test_the_code_version_differs_between_packages() -> None:
    assert code_version("artifacts") != code_version("units.py")


@pytest.mark.parametrize(
    "part", sorted({*PLAN_CODE, *SEARCH_CODE, *TRAIN_CODE, *RUN_CODE, *COMPARE_CODE})
)
def test_what_counts_for_a_version_of_code_is_there(part: str) -> None:
    assert code_version(part) != code_version()


def test_source_that_is_not_there_has_no_version() -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing.py is no source of Evener"):
        code_version("workflow/nothing.py")


def imported(module: str, besides: set[str]) -> set[str]:
    """Return the modules of the workflow that one rests on, and those that these rest on."""
    found, left = set[str](), [module]
    while left:
        name = left.pop()
        found.add(name)
        text = (WORKFLOW / f"{name}.py").read_text()
        new = set(re.findall(r"^\s*from evener\.workflow\.(\w+) import", text, re.MULTILINE))
        left += new - found - besides
    return found


def test_all_that_a_search_rests_on_counts() -> None:
    # Who computes, what is kept and what is told change no result; costs of plans say what they
    # depend on.
    besides = {"chunks", "learned", "weight_files", "search_keys", "opened", "network_cost"}
    besides |= {"nothing_found", "search_progress"}

    reached = imported("searching", besides)

    assert "finalists" in reached
    assert {f"workflow/{name}.py" for name in reached} <= set(SEARCH_CODE)


def test_modules_that_choose_a_plan_or_make_a_network_count() -> None:
    chosen = {f"workflow/{name}.py" for name in ("live", "plan", "race", "shift")}

    assert chosen <= set(PLAN_CODE)
    assert {"search/pruning", "workflow/pruning.py", "workflow/final.py"} <= set(TRAIN_CODE)
