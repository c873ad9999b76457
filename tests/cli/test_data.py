"""`evener data describe` says what data become."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Evener = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    rows = [f"{'' if i % 5 == 1 else i},{'x' if i % 2 else 'y'},7,{i % 3}" for i in range(30)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,c,label", *rows]))
    (tmp_path / "evener.toml").write_text('[data]\nsource = "rows.csv"\n')
    return tmp_path


def test_a_project_is_described_with_what_was_missing_or_left_out(
    evener: Evener, project: Path
) -> None:
    code, out, _ = evener("data", "describe", project)

    assert code == 0
    assert "dataset rows: 4 features, rows: 18 train, 6 validation, 6 test; classes: 0, 1, 2" in out
    assert "note: 'a' has no value in" in out
    assert "note: left out, the same in every training row: c" in out


def test_a_file_is_described_by_its_target(evener: Evener, project: Path) -> None:
    code, out, _ = evener("data", "describe", project / "rows.csv", "--target", "b", "--json")

    assert code == 0
    told = json.loads(out)
    assert (told["task"], told["classes"], told["rows"]["train"]) == ("classes", ["x", "y"], 18)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("describe", "rows.csv", "-o", "x.npz"), "-o is for data convert"),
        (("describe", ".", "--target", "a"), "a project names its target itself"),
        (("describe", "rows.csv", "--target", "z"), "has no column 'z' to predict"),
        (("describe", "gone.csv"), "cannot read gone.csv"),
        (("convert", "rows.csv"), "data convert writes a file: name it"),
        (("convert", "rows.csv", "-o", "x.npz", "--target", "a"), "--target is for data describe"),
    ],
)
def test_what_does_not_go_together_is_refused(
    evener: Evener,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(project)

    code, _, err = evener("data", *arguments)

    assert code == 2
    assert message in err
