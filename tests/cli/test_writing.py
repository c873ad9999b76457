"""No verb overwrites what Evener did not write, or what the verb reads."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener.artifacts.files import Kept, load, save
from evener.artifacts.plan import Plan
from evener.artifacts.profile import Profile
from evener.artifacts.timeline import HEAD

Evener = Callable[..., tuple[int, str, str]]
Calls = dict[str, dict[str, Any]]


@pytest.mark.usefixtures("workflow_calls")
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    evener: Evener, workflow_calls: Calls, tmp_path: Path
) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("in the way")

    refused = [(blocker / "x.json", "is no place"), (tmp_path, "it is a folder")]
    refused += [(Path("/dev/null"), "it is a device or a pipe")]
    refused += [(tmp_path / ("n" * 300), "File name too long")]
    for target, why in refused:
        code, out, err = evener("plan", "tiny", "-o", target)

        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"cannot write {target}: " in err
        assert why in err
    assert not workflow_calls
    assert list(tmp_path.iterdir()) == [blocker]


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "tiny", "-o"),
        ("profile", "tiny", "-o"),
        ("split", "tiny", "--cuts", "0", "-o"),
        ("run", "tiny", "--frames", "4", "--out"),
        ("run", "tiny", "--frames", "4", "--trace"),
        ("run", "tiny", "--frames", "4", "--annotate"),
        ("show", "trace", "t.json", "--svg"),
    ],
    ids=" ".join,
)
def test_no_verb_makes_the_folder_of_what_it_writes(
    command: tuple[str, ...], evener: Evener, workflow_calls: Calls, tmp_path: Path
) -> None:
    target = tmp_path / "missing" / "deep" / "answers.npz"

    code, out, err = evener(*command, target)

    assert (code, out) == (2, "")
    assert f"cannot write {target}: there is no folder {target.parent}; make it first" in err
    assert not workflow_calls
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_noticed_before_the_work(
    evener: Evener, workflow_calls: Calls, tmp_path: Path, plan: Plan
) -> None:
    target = tmp_path / "old.json"
    save(target, plan)
    tmp_path.chmod(0o500)  # writing renames, which the folder must allow

    code, _, err = evener("plan", "tiny", "-o", target)

    tmp_path.chmod(0o700)
    assert code == 2
    assert f"cannot write {target}: {tmp_path} is no place you may write to" in err
    assert not workflow_calls


@pytest.mark.parametrize(
    ("verb", "message"),
    [
        (("plan", "rel.onnx", "-o"), "rel.onnx is already there, holds no plan made by Evener"),
        (("profile", "x", "-o"), "rel.onnx is already there, holds no profile made by Evener"),
        (("run", "x", "--frames", "9", "--out"), "'rel.onnx' does not end in .npz"),
    ],
)
def test_what_evener_did_not_write_is_not_overwritten(
    verb: tuple[str, ...],
    message: str,
    evener: Evener,
    workflow_calls: Calls,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rel.onnx").write_bytes(b"a network")

    code, out, err = evener(*verb, "rel.onnx")

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not workflow_calls
    assert Path("rel.onnx").read_bytes() == b"a network"


@pytest.mark.parametrize("kind", ["npz", "jsonl", "csv", "parquet"])
def test_answers_overwrite_no_other_file_of_that_name(
    kind: str, evener: Evener, workflow_calls: Calls, tmp_path: Path
) -> None:
    target = tmp_path / f"notes.{kind}"
    target.write_text("notes")

    code, _, err = evener("run", "x", "--frames", "9", "--out", target)

    assert code == 2
    assert f"{target} is already there, holds no answers as .{kind}, and is not overwritten" in err
    assert not workflow_calls


@pytest.mark.parametrize(
    "command",
    [
        "run x --frames f.npz --out f.npz",
        "run t.json --frames 3 --trace t.json",
        "run x --frames f.npz --out ./link.npz",
        "run x --frames 9 --plan f.npz --out f.npz",
        "run x --frames 9 --profile f.npz --out f.npz",
        "run f.npz --frames 9 --out f.npz",
        "plan plan.json -o plan.json",
        "plan x --profile plan.json -o plan.json",
        "profile profile.json -o profile.json",
    ],
)
def test_what_a_command_reads_is_not_where_it_writes(
    command: str,
    evener: Evener,
    workflow_calls: Calls,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plan: Plan,
    kept_profile: Kept[Profile],
) -> None:
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("f.npz", "w") as archive:
        archive.writestr("x.npy", b"")
    Path("link.npz").symlink_to("f.npz")
    Path("t.json").write_bytes(HEAD)
    save(Path("plan.json"), plan)
    save(Path("profile.json"), kept_profile.value)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    code, out, err = evener(*command.split())

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "which this command reads; choose another name" in err
    assert not workflow_calls
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.usefixtures("workflow_calls")
def test_a_plan_overwrites_a_plan_and_an_empty_file(
    evener: Evener, tmp_path: Path, plan: Plan
) -> None:
    target = tmp_path / "p.json"
    target.touch()

    for _ in range(2):
        assert evener("plan", "tiny", "-o", target)[0] == 0
        assert load(target, Plan).value == plan
