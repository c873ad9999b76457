"""Loading the dataset that a project names."""

import sys
from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.project import DataSection
from evener.data.load import load_dataset
from evener.errors import InvalidDataError, MissingExtraError

ROWS = [f"{index},{index % 3},{'yes' if index % 2 else 'no'}" for index in range(20)]


def table(folder: Path, rows: list[str] = ROWS) -> DataSection:
    (folder / "table.csv").write_text("\n".join(["a,b,label", *rows]))
    return DataSection(source="table.csv")


def test_a_table_becomes_a_dataset(tmp_path: Path) -> None:
    dataset = load_dataset(table(tmp_path), tmp_path)

    assert dataset.name == "table"
    assert dataset.classes == ("no", "yes")
    assert dataset.labels.tolist() == [0, 1] * 10
    assert dataset.features.flags.c_contiguous
    assert dataset.features.dtype == np.float32
    assert dataset.row_counts == {"train": 12, "validation": 4, "test": 4}


def test_a_part_holds_its_rows_and_labels(tmp_path: Path) -> None:
    dataset = load_dataset(table(tmp_path), tmp_path)

    features, labels = dataset.rows("test")
    assert features[:, 0].tolist() == dataset.split.test.tolist()
    assert labels.tolist() == [index % 2 for index in dataset.split.test]


def test_the_arrays_cannot_be_changed(tmp_path: Path) -> None:
    dataset = load_dataset(table(tmp_path), tmp_path)

    with pytest.raises(ValueError, match="read-only"):
        dataset.features[0, 0] = 1


def test_csv_and_npz_with_the_same_rows_have_the_same_classes_and_split(tmp_path: Path) -> None:
    features = [[index, index % 3] for index in range(20)]
    np.savez(tmp_path / "a.npz", x=features, label=["yes" if i % 2 else "no" for i in range(20)])

    one = load_dataset(table(tmp_path), tmp_path)
    other = load_dataset(DataSection(source="a.npz"), tmp_path)

    assert np.array_equal(one.features, other.features)
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.split.train, other.split.train)


def test_the_hash_follows_content_and_split_only(tmp_path: Path) -> None:
    section = table(tmp_path)
    first = load_dataset(section, tmp_path).sha256

    assert load_dataset(section, tmp_path).sha256 == first
    assert load_dataset(DataSection(source="table.csv", seed=1), tmp_path).sha256 != first
    (tmp_path / "copy.csv").write_bytes((tmp_path / "table.csv").read_bytes())
    assert load_dataset(DataSection(source="copy.csv"), tmp_path).sha256 == first
    changed = load_dataset(table(tmp_path, ["0.5,0,no", *ROWS[1:]]), tmp_path).sha256
    assert changed != first


def test_the_digits_have_one_target(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"digits has no target 'lable' .*mean 'label'"):
        load_dataset(DataSection(source="digits", target="lable"), tmp_path)


def test_classes_too_rare_to_split_are_named_with_their_file(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidDataError, match=r"table\.csv: 1 of 3 classes have fewer than 3 rows: 'rare' \(1\);"
    ):
        load_dataset(table(tmp_path, [*ROWS, "1,2,rare"]), tmp_path)


def test_an_unknown_source_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidDataError, match=r"'digts' is no known source of rows; give one of 'digits', a "
    ):
        load_dataset(DataSection(source="digts"), tmp_path)


@pytest.mark.parametrize(("value", "shown"), [("nan", "nan"), ("-inf", "-inf"), ("1e39", "inf")])
def test_values_that_are_no_float32_are_named_with_their_place(
    tmp_path: Path, value: str, shown: str
) -> None:
    section = table(tmp_path, [*ROWS, f"1,{value},no", f"2,{value},no"])

    with pytest.raises(
        InvalidDataError,
        match=rf"column 'b' is {shown} as float32 in 2 of 22 rows, first in line 22; 2 values in",
    ) as caught:
        load_dataset(section, tmp_path)
    assert caught.value.column == "b"


def test_digits_need_scikit_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)

    with pytest.raises(MissingExtraError, match=r"'digits' needs the extra 'train': pip install"):
        load_dataset(DataSection(source="digits"), tmp_path)
