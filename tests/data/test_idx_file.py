"""Reading IDX files, as MNIST comes."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evener.artifacts.project import DataSection
from evener.data.idx_file import read_idx
from evener.data.load import load_dataset
from evener.data.split import TEST, TRAIN
from evener.errors import InvalidDataError, InvalidFileError

PICTURES = np.arange(30 * 6, dtype=np.uint8).reshape(30, 2, 3)
LABELS = np.arange(30, dtype=np.uint8) % 3


def idx(array: NDArray[np.uint8]) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def save(folder: Path, part: str, rows: slice, *, packed: bool = False) -> Path:
    for kind, array in (("images-idx3", PICTURES[rows]), ("labels-idx1", LABELS[rows])):
        content = idx(array)
        name = f"{part}-{kind}-ubyte{'.gz' if packed else ''}"
        (folder / name).write_bytes(gzip.compress(content) if packed else content)
    return folder / f"{part}-images-idx3-ubyte{'.gz' if packed else ''}"


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_of_pictures_brings_its_labels(tmp_path: Path, packed: bool) -> None:
    table = read_idx(save(tmp_path, "train", slice(30), packed=packed), "label")

    assert np.allclose(table.features * 255, PICTURES.reshape(30, 6))
    assert list(table.targets["label"]) == LABELS.tolist()
    assert (table.picture, table.parts) == ((1, 2, 3), None)


def test_a_folder_keeps_its_test_files_apart(tmp_path: Path) -> None:
    save(tmp_path, "train", slice(0, 24))
    save(tmp_path, "t10k", slice(24, 30), packed=True)

    table = read_idx(tmp_path, "label")
    dataset = load_dataset(DataSection(source=str(tmp_path)), Path())

    assert table.parts is not None
    assert table.parts.tolist() == [TRAIN] * 24 + [TEST] * 6
    assert dataset.split.test.tolist() == list(range(24, 30))
    assert dataset.picture == (1, 2, 3)


def test_a_folder_without_training_files_says_which_is_missing(tmp_path: Path) -> None:
    save(tmp_path, "t10k", slice(0, 6))

    with pytest.raises(InvalidFileError, match="holds no train-images-idx3-ubyte"):
        read_idx(tmp_path, "label")


def test_pictures_without_labels_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path, "train", slice(30))
    path.with_name("train-labels-idx1-ubyte").unlink()

    with pytest.raises(InvalidFileError, match="labels lie beside their pictures, named alike"):
        read_idx(path, "label")


def test_labels_of_others_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path, "train", slice(30))
    path.with_name("train-labels-idx1-ubyte").write_bytes(idx(LABELS[:5]))

    with pytest.raises(InvalidDataError, match="holds 30 pictures, and .* 5 labels"):
        read_idx(path, "label")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no IDX file of bytes in 3 dimensions: it begins with"),
        (b"\0\0\x0d\3" + b"\0" * 12, "is no IDX file of bytes in 3 dimensions"),
        (idx(PICTURES)[:-1], "holds 179 values; it is cut off"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = save(tmp_path, "train", slice(30))
    path.write_bytes(content)

    with pytest.raises(InvalidFileError, match=message):
        read_idx(path, "label")
