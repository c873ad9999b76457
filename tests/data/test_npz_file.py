"""Reading NPZ files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from evener.data.npz_file import read_npz, read_npz_columns
from evener.data.split import TEST, TRAIN
from evener.errors import InvalidDataError, InvalidFileError


def written(folder: Path, **arrays: ArrayLike) -> Path:
    path = folder / "arrays.npz"
    np.savez(path, allow_pickle=True, **arrays)
    return path


def test_images_are_flattened_row_by_row(tmp_path: Path) -> None:
    images = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)

    table = read_npz(written(tmp_path, x=images, label=[3, 1, 1, 3]), ("label",))

    assert np.allclose(table.features * 255, images.reshape(4, 6))
    assert table.picture == (1, 2, 3)
    assert table.feature_names[:2] == ("x0", "x1")
    assert list(table.targets["label"]) == [3, 1, 1, 3]
    assert table.row_name(2) == "row 2"


def test_the_array_of_features_may_be_called_features(tmp_path: Path) -> None:
    table = read_npz(written(tmp_path, features=[[1.0], [2.0]], kind=["a", "b"]), ("kind",))

    assert table.features.shape == (2, 1)
    assert table.targets == {"kind": ["a", "b"]}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"cannot read .*gone\.npz: No such file"):
        read_npz(tmp_path / "gone.npz", ("label",))


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"PK\x03\x04 cut off"])
def test_a_file_of_another_kind_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "arrays.npz"
    path.write_bytes(content)

    with pytest.raises(InvalidFileError, match=r"is not an NPZ file of plain arrays: .*savez"):
        read_npz(path, ("label",))


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    objects = np.array([{}, {}], dtype=object)

    with pytest.raises(InvalidFileError, match="not an NPZ file of plain arrays: Object arrays"):
        read_npz(written(tmp_path, x=objects, label=[0, 1]), ("label",))


def test_a_single_array_says_so(tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros((2, 2)))

    with pytest.raises(InvalidFileError, match="holds one array, not the named arrays"):
        read_npz(path, ("label",))


def test_a_target_that_is_not_there_is_answered_with_the_nearest_array(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"no array 'label'.*did you mean 'labels'"):
        read_npz(written(tmp_path, x=[[1.0]], labels=[0]), ("label",))


def test_features_that_are_not_there_say_what_to_call_them(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="no array of features: name one features or x"):
        read_npz(written(tmp_path, rows=[[1.0]], label=[0]), ("label",))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": [["a"]], "label": [0]}, r"'x' holds <U1, not numbers"),
        ({"x": [1.0, 2.0], "label": [0, 1]}, r"'x' has the shape \(2,\); it must be \(rows, feat"),
        ({"x": np.zeros((0, 3)), "label": []}, r"'x' has the shape \(0, 3\)"),
        ({"x": [[1.0], [2.0]], "label": [0]}, r"'label' has the shape \(1,\); it must be \(2,\)"),
        ({"x": [[1.0]], "label": [1j]}, r"'label' holds complex128; store integers or text"),
    ],
)
def test_a_wrong_array_is_named_with_its_shape_or_type(
    tmp_path: Path, arrays: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidDataError, match=message):
        read_npz(written(tmp_path, **arrays), ("label",))


def test_keras_names_keep_their_test_split(tmp_path: Path) -> None:
    x, y = np.zeros((3, 2, 2), np.uint8), np.array([[1], [2], [1]])
    path = written(tmp_path, x_train=x, y_train=y, x_test=x[:2], y_test=y[:2])

    table = read_npz(path, ("label",))

    assert table.features.shape == (5, 4)
    assert list(table.targets["label"]) == [1, 2, 1, 1, 2]
    assert table.parts is not None
    assert table.parts.tolist() == [TRAIN] * 3 + [TEST] * 2


def test_a_target_of_two_dimensions_is_as_many_targets(tmp_path: Path) -> None:
    path = written(tmp_path, x=[[1.0], [2.0]], tags=[[0, 1], [1, 1]])

    targets = read_npz(path, ("tags",)).targets

    assert {name: list(column) for name, column in targets.items()} == {
        "tags0": [0, 1],
        "tags1": [1, 1],
    }


def test_arrays_of_texts_are_columns(tmp_path: Path) -> None:
    table = read_npz_columns(written(tmp_path, text=["good", "bad"], label=[1, 0]))

    assert table.columns["text"] == ["good", "bad"]
    assert list(table.columns["label"]) == [1, 0]


def test_columns_of_other_lengths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="one length; there are: text 1, label 2"):
        read_npz_columns(written(tmp_path, text=["good"], label=[1, 0]))
