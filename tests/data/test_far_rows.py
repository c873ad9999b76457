"""Rows that no network could answer are refused as they are read."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evener.artifacts.project import DataSection
from evener.data.far_rows import check_far
from evener.data.load import load_dataset
from evener.data.split import Split
from evener.errors import InvalidDataError

SPLIT = Split(np.arange(6), np.arange(6, 8), np.arange(8, 10))


def rows() -> NDArray[np.float32]:
    return np.linspace(0, 1, 20, dtype=np.float32).reshape(10, 2)


def check(features: NDArray[np.float32]) -> None:
    check_far(features, SPLIT, ("a", "b"), where="t.npz", row_name=lambda row: f"row {row}")


@pytest.mark.parametrize(("row", "part"), [(7, "validation"), (9, "test")])
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_row_that_leaves_float32_is_named_with_its_feature(
    row: int, part: str, sign: str
) -> None:
    features = rows()
    features[row, 1] = float(f"{sign}3e38")

    with pytest.raises(
        InvalidDataError,
        match=rf"t.npz: 1 of 2 {part} rows so far .* in row {row} 'b' is {sign}3e\+38",
    ) as caught:
        check(features)
    assert caught.value.column == "b"


def test_what_is_far_in_training_rows_too_is_near() -> None:
    features = rows()
    features[0, 1], features[9, 1] = -3e38, 3e38

    check(features)


def test_a_feature_that_is_the_same_in_all_training_rows_may_differ_elsewhere() -> None:
    features = rows()
    features[:, 0] = 0
    features[9, 0] = 255

    check(features)


def test_a_tiny_range_makes_a_number_far() -> None:
    features = rows()
    features[:6, 0] *= np.float32(1e-33)

    with pytest.raises(InvalidDataError, match="'a' is "):
        check(features)


def test_arrays_are_refused_before_anything_is_learned(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    label = np.arange(60) % 2
    np.savez(tmp_path / "t.npz", allow_pickle=False, x=x, label=label)
    section = DataSection(source="t.npz", target="label")
    held = int(load_dataset(section, tmp_path).split.test[0])
    x[held, 1] = 1e37
    np.savez(tmp_path / "t.npz", allow_pickle=False, x=x, label=label)

    with pytest.raises(InvalidDataError, match=rf"test rows so far .* row {held} 'x1' is 1e\+37"):
        load_dataset(section, tmp_path)
