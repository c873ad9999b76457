"""Frames with labels come from an npz file or from a folder of them."""

from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.errors import InvalidDataError, InvalidFileError
from evener.network.labelled import load_labelled

X = (Tensor(name="x", dtype="float32", shape=(2,)),)


def write(path: Path, count: int, **more: object) -> Path:
    np.savez(path, x=np.full((count, 2), count, np.float32), **more)  # type: ignore[arg-type] # arrays by name
    return path


def test_a_file_may_say_the_class_of_each_frame(tmp_path: Path) -> None:
    found = load_labelled(write(tmp_path / "f.npz", 3, labels=np.array([2, 0, 1])), X)

    assert len(found.frames) == 3
    assert found.labels is not None
    assert found.labels.tolist() == [2, 0, 1]
    second = found.every_second(1)
    assert (len(second.frames), second.labels.tolist()) == (1, [0])  # type: ignore[union-attr] # has labels


def test_a_folder_counts_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    write(tmp_path / "b.npz", 1)
    write(tmp_path / "a.npz", 2)

    found = load_labelled(tmp_path, X)

    assert [frame[0][0] for frame in found.frames] == [2, 2, 1]
    assert found.labels is None
    assert found.every_second(0).labels is None


def test_a_network_may_have_an_input_of_that_name(tmp_path: Path) -> None:
    labels = Tensor(name="labels", dtype="int64", shape=())
    path = write(tmp_path / "f.npz", 3, labels=np.array([2, 0, 1]))

    found = load_labelled(path, (*X, labels))

    assert found.labels is None
    assert [int(frame[1]) for frame in found.frames] == [2, 0, 1]


@pytest.mark.parametrize(
    "labels", [np.array([1, 2]), np.array([1.0, 2.0, 3.0]), np.eye(3, dtype=int)]
)
def test_labels_are_one_integer_for_each_frame(tmp_path: Path, labels: object) -> None:
    path = write(tmp_path / "f.npz", 3, labels=labels)

    with pytest.raises(InvalidDataError, match="give one integer for each of the 3 frames"):
        load_labelled(path, X)


def test_all_files_of_a_folder_have_labels_or_none(tmp_path: Path) -> None:
    write(tmp_path / "a.npz", 1, labels=np.array([1]))
    write(tmp_path / "b.npz", 1)

    with pytest.raises(InvalidDataError, match=r"b\.npz holds no 'labels', and other files of"):
        load_labelled(tmp_path, X)


def test_a_folder_without_frames_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"holds no npz file of frames; write some with"):
        load_labelled(tmp_path, X)
