"""Answers are written as they come, and the file is there whole or not at all."""

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.data.answers import answers_to, check_writable
from evener.data.source import Sourced
from evener.errors import InputError, InvalidFileError, MissingExtraError
from evener.network.frames import Array, load_frames

CLASSES = Tensor(name="y", shape=(1, 2), dtype="float32")
NAMES = ("no", "yes")


def write(
    path: Path,
    outputs: Sequence[Tensor],
    answers: Sequence[Sequence[Array]],
    *,
    labels: Sequence[str] = (),
    ids: bool = False,
    numbers: Sequence[int] | None = None,
) -> None:
    with answers_to(path, outputs, labels=labels, ids=ids) as keep:
        for number, answer in zip(numbers or range(len(answers)), answers, strict=True):
            keep(number, Sourced((), "", f"id{number}" if ids else None), answer)


def scores(*pairs: tuple[float, float]) -> list[tuple[Array]]:
    return [(np.array([pair], np.float32),) for pair in pairs]


def test_what_is_written_as_npz_is_read_again_whatever_the_names(tmp_path: Path) -> None:
    outputs = (
        Tensor(name="file", shape=(2,), dtype="float32"),
        Tensor(name="gpu_0/softmax_1", shape=(), dtype="int64"),
    )
    answers = [(np.array([i, -i], np.float32), np.array(i)) for i in range(3)]
    path = tmp_path / "new" / "out.npz"

    write(path, outputs, answers)

    with np.load(path) as stored:
        assert list(stored) == ["file", "gpu_0/softmax_1"]
        assert stored["file"].shape == (3, 2)
    for one, other in zip(load_frames(path, outputs), answers, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_arrays_that_are_used_again_are_written_as_they_were(tmp_path: Path) -> None:
    again = np.zeros((1, 2), np.float32)
    with answers_to(tmp_path / "out.npz", (CLASSES,), labels=(), ids=False) as keep:
        for number in range(3):
            again[:] = number
            keep(number, Sourced((), ""), (again,))

    with np.load(tmp_path / "out.npz") as stored:
        assert stored["y"][:, 0, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["npz", "jsonl", "csv"])
def test_the_same_answers_make_the_same_file(kind: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"{name}.{kind}", (CLASSES,), scores((0.5, 0.25)))

    assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_each_answer_is_a_line_of_json(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"

    write(path, (CLASSES,), scores((0.5, 0.25), (1, float("nan"))), ids=True, numbers=[4, 6])

    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"frame": 4, "id": "id4", "outputs": {"y": [[0.5, 0.25]]}},
        {"frame": 6, "id": "id6", "outputs": {"y": [[1.0, None]]}},
    ]


def test_each_answer_is_a_row_of_csv(tmp_path: Path) -> None:
    write(tmp_path / "named.csv", (CLASSES,), scores((0.7, 0.3), (0, 1)), labels=NAMES, ids=True)
    write(tmp_path / "plain.csv", (CLASSES,), scores((0.7, 0.3)))

    assert (tmp_path / "named.csv").read_text().splitlines() == [
        "frame,id,prediction,score",
        "0,id0,no,0.7",
        "1,id1,yes,1.0",
    ]
    assert (tmp_path / "plain.csv").read_text() == "frame,prediction,score\n0,0,0.7\n"


def test_a_table_of_parquet_holds_what_one_of_csv_does(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet'")
    answers = scores(*((number % 3, 1) for number in range(2500)))  # more than go at once

    for kind in ("csv", "parquet"):
        write(tmp_path / f"out.{kind}", (CLASSES,), answers, labels=NAMES, ids=True)

    stored = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    with (tmp_path / "out.csv").open() as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    assert len(stored) == len(rows) == 2500
    for one, other in zip(stored, rows, strict=True):
        assert {key: str(value) for key, value in one.items()} == other


@pytest.mark.parametrize("kind", ["npz", "jsonl", "csv", "parquet"])
def test_a_run_that_fails_leaves_what_was_there(kind: str, tmp_path: Path) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    path = tmp_path / f"out.{kind}"
    path.write_text("before")

    with pytest.raises(ValueError, match="zip"):  # the second answer has no number
        write(path, (CLASSES,), scores((1, 2), (3, 4)), numbers=[0])

    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_disk_is_told_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evener.artifacts import files

    monkeypatch.setattr(
        files._Written, "__init__", lambda self, _, path: _open_full(self, path), raising=True
    )

    def _open_full(raw: Any, path: Path) -> None:  # noqa: ANN401 - a stand-in
        super(files._Written, raw).__init__("/dev/full", "wb")
        raw._path = path

    with pytest.raises(InvalidFileError, match=r"cannot write .*out.jsonl: No space left"):
        write(tmp_path / "out.jsonl", (CLASSES,), scores(*[(1, 2)] * 1000))


def test_a_place_that_cannot_be_written_is_refused_and_left(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()

    with pytest.raises(InvalidFileError, match="cannot write"):
        write(tmp_path / "taken" / "out.npz", (CLASSES,), [])
    with pytest.raises(InputError, match="cannot write .*; choose a file in a folder you may"):
        check_writable(tmp_path / "taken" / "out.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"does not end in .npz, .jsonl, .csv, .parquet: write"):
        write(tmp_path / "out.txt", (CLASSES,), [])


def test_without_pyarrow_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'evener\[parquet\]'"):
        write(tmp_path / "out.parquet", (CLASSES,), [])
    assert not list(tmp_path.iterdir())
