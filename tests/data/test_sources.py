"""What frames are read from is found by its name."""

import gzip
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.data.pixels import Pixels
from evener.data.sources import Reading, open_source
from evener.errors import InputError, InvalidDataError, InvalidFileError

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
    named = [f'{{"a": {row[0, 0]}, "b": {row[0, 1]}}}\n' for row in rows]
    Path("rows.jsonl").write_text("".join(named))
    for name in ("f.csv", "f.tsv", "f.jsonl", "rows.jsonl"):
        Path(f"{name}.gz").write_bytes(gzip.compress(Path(name).read_bytes()))
    return tmp_path


FORMS = (
    *("f.npz", "f.csv", "f.tsv", "f.jsonl", "f.ndjson", "rows.jsonl"),
    *("f.csv.gz", "f.tsv.gz", "f.jsonl.gz", "rows.jsonl.gz"),
)


@pytest.mark.parametrize("name", FORMS)
def test_the_same_frames_come_from_every_form(name: str, folder: Path) -> None:
    source = open_source(folder / name, X, Reading())

    assert [one.frame[0].tolist() for one in source.frames] == [[[1, 2]], [[3, 4]], [[5, 6]]]


@pytest.mark.parametrize("name", ["f.csv.gz", "f.jsonl.gz", "rows.jsonl.gz"])
@pytest.mark.parametrize("harm", [lambda data: data[:-9], lambda data: data[:12] + data[14:]])
def test_a_compressed_file_that_was_damaged_is_named(
    name: str, harm: Callable[[bytes], bytes], folder: Path
) -> None:
    path = folder / name
    path.write_bytes(harm(path.read_bytes()))

    with pytest.raises(InvalidFileError, match=r"is damaged: .*; compress it again") as caught:
        list(open_source(path, X, Reading()).frames)

    assert caught.value.path == str(path)


def test_lines_with_the_name_of_an_input_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text('{"id": "a", "n": 0.5}\n')
    one_number = (Tensor(name="n", shape=(), dtype="float32"),)

    [found] = open_source(tmp_path / "f.jsonl", one_number, Reading()).frames

    assert (found.id, found.frame[0].tolist()) == ("a", [0.5])


def test_a_column_may_have_the_name_of_an_input_that_takes_more_numbers(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text('{"x": 1, "y": 2}\n')

    [found] = open_source(tmp_path / "f.jsonl", X, Reading()).frames

    assert found.frame[0].tolist() == [[1, 2]]


def test_columns_that_are_named_make_lines_rows(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text('{"n": 3, "m": 4}\n')
    one_number = (Tensor(name="n", shape=(1,), dtype="float32"),)

    [found] = open_source(tmp_path / "f.jsonl", one_number, Reading(columns=("m",))).frames

    assert found.frame[0].tolist() == [4]


def test_a_pipe_of_lines_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f.jsonl")
    with ThreadPoolExecutor(1) as writer:
        writer.submit((tmp_path / "f.jsonl").write_text, '{"x": [1, 2]}\n{"x": [3, 4]}\n')
        found = list(open_source(tmp_path / "f.jsonl", X, Reading()).frames)

    assert [one.frame[0].tolist() for one in found] == [[[1, 2]], [[3, 4]]]


def test_a_column_without_a_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text('{"": 1, "b": 2}\n')

    with pytest.raises(InvalidDataError, match="a column without a name|no name"):
        list(open_source(tmp_path / "f.jsonl", X, Reading()).frames)


def test_rows_of_json_lines_may_leave_columns_out(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text('{"a": 1}\n\n{"b": 2, "a": 3}\n')

    with pytest.raises(InvalidDataError, match="line 1 of .*: column 'b' has no value"):
        list(open_source(tmp_path / "f.jsonl", X, Reading()).frames)


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
