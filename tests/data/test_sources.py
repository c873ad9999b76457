"""What frames are read from is found by its name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.data.pixels import Pixels
from evener.data.sources import Reading, open_source
from evener.errors import InputError, InvalidFileError

X = (Tensor(name="x", shape=(1, 2), dtype="float32"),)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hold the same three frames in every form that needs no extra."""
    monkeypatch.chdir(tmp_path)
    rows = np.array([[[1, 2]], [[3, 4]], [[5, 6]]], np.float32)
    np.savez("f.npz", x=rows)
    Path("f.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    Path("f.tsv").write_text("a\tb\n1\t2\n3\t4\n5\t6\n")
    for name in ("f.jsonl", "f.ndjson"):
        Path(name).write_text("".join(f'{{"x": {row.tolist()}}}\n' for row in rows))
    return tmp_path


@pytest.mark.parametrize("name", ["f.npz", "f.csv", "f.tsv", "f.jsonl", "f.ndjson"])
def test_the_same_frames_come_from_every_form(name: str, folder: Path) -> None:
    source = open_source(folder / name, X, Reading())

    assert [one.frame[0].tolist() for one in source.frames] == [[[1, 2]], [[3, 4]], [[5, 6]]]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "count"), [("f.npz", 2), ("f.csv", None)])
def test_a_limit_ends_any_source(name: str, count: int | None) -> None:
    source = open_source(Path(name), X, Reading(limit=2))

    assert source.count == count
    assert len(list(source.frames)) == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "choices", "message"),
    [
        ("f.npz", {"columns": ("a", "b")}, "--columns and --id are for tables, and f.npz is none"),
        ("-", {"id_column": "a"}, "--columns and --id are for tables, and - is none"),
        ("f.csv", {"pixels": Pixels(fit="pad")}, "--fit are for pictures, and f.csv holds none"),
        ("f.txt", {}, r"f.txt is no source of frames: give a folder of pictures, camera:0, - or"),
    ],
)
def test_a_choice_that_is_not_for_the_source_is_refused(
    name: str, choices: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        open_source(Path(name), X, Reading(**choices))


@pytest.mark.parametrize(
    ("extra", "name", "message"),
    [
        ("PIL", "none.png", "cannot read the picture none.png"),
        ("av", "none.mp4", "cannot read none.mp4"),
        ("av", "camera:4096", "cannot read /dev/video4096"),
        ("pyarrow", "none.parquet", "cannot read none.parquet"),
    ],
)
def test_each_name_leads_to_its_reader(extra: str, name: str, message: str) -> None:
    pytest.importorskip(extra, reason="needs an extra")
    picture = (Tensor(name="x", shape=(1, 3, 2, 2), dtype="float32"),)

    with pytest.raises(InvalidFileError, match=message):
        list(open_source(Path(name), picture, Reading()).frames)
