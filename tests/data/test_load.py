"""Loading the dataset that a project names."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from evener.artifacts.project import DataSection
from evener.data.load import load_dataset
from evener.errors import InvalidDataError, InvalidProjectError, MissingExtraError

ROWS = [f"{index},{index % 3},{'yes' if index % 2 else 'no'}" for index in range(20)]


def table(folder: Path, rows: list[str] = ROWS) -> DataSection:
    (folder / "table.csv").write_text("\n".join(["a,b,label", *rows]))
    return DataSection(source="table.csv")


def test_numbers_that_are_brought_to_a_limit_are_noted(tmp_path: Path) -> None:
    rows = [f"{index},{index},{'yes' if index % 2 else 'no'}" for index in range(20)]
    plain = load_dataset(table(tmp_path, rows), tmp_path)
    far = int(plain.split.test[0])
    rows[far] = f"{far},1e9,{'yes' if far % 2 else 'no'}"

    found = load_dataset(table(tmp_path, rows), tmp_path)

    assert plain.notes == ()
    values = plain.rows("train")[0][:, 1]
    beyond = 1000 * (values.max() - values.min())
    limits = f"{values.min() - beyond:.6g} or {values.max() + beyond:.6g}"
    assert found.notes == (
        f"'b' lies far beyond the training rows in 1 row, and counts as {limits} there",
    )


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


def test_classes_too_rare_for_every_part_are_noted(tmp_path: Path) -> None:
    dataset = load_dataset(table(tmp_path, [*ROWS, "1,2,rare"]), tmp_path)

    assert dataset.classes == ("no", "rare", "yes")
    assert dataset.notes == (
        "1 of 3 classes have fewer than 3 rows and are not in every part of the split: rare (1)",
    )
    assert 20 in dataset.split.train


def test_an_unknown_source_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidDataError, match=r"'digts' is no known source of rows; give one of 'digits', a "
    ):
        load_dataset(DataSection(source="digts"), tmp_path)


@pytest.mark.parametrize(("value", "shown"), [("-inf", "-inf"), ("1e39", "inf")])
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


def test_a_measured_target_is_predicted_as_a_number(tmp_path: Path) -> None:
    rows = [f"{index},{'x' if index % 2 else 'y'},{index / 3}" for index in range(30)]

    dataset = load_dataset(table(tmp_path, rows), tmp_path)

    assert (dataset.task, dataset.classes, dataset.outputs) == ("numbers", ("label",), 1)
    assert dataset.targets[:, 0].tolist() == pytest.approx([index / 3 for index in range(30)])
    assert len(dataset.labels) == 0


def test_several_targets_are_several_labels(tmp_path: Path) -> None:
    rows = [f"{index},{index % 2},{index // 10 % 2}" for index in range(40)]
    section = table(tmp_path, rows)

    dataset = load_dataset(msgspec.structs.replace(section, target=("b", "label")), tmp_path)

    assert (dataset.task, dataset.classes) == ("labels", ("b", "label"))
    assert dataset.targets[11].tolist() == [1, 1]
    assert dataset.feature_names == ("a",)


def test_rows_without_a_target_are_left_out(tmp_path: Path) -> None:
    dataset = load_dataset(table(tmp_path, [*ROWS, "7,7,"]), tmp_path)

    assert len(dataset.features) == 20
    assert dataset.notes == ("1 row without a target left out",)


def test_a_file_of_test_rows_is_the_test_split(tmp_path: Path) -> None:
    section = table(tmp_path)
    (tmp_path / "test.csv").write_text("a,b,label\n100,1,no\n101,2,yes\n")

    dataset = load_dataset(msgspec.structs.replace(section, test_source="test.csv"), tmp_path)

    assert dataset.rows("test")[0][:, 0].tolist() == [100, 101]
    assert dataset.row_counts == {"train": 16, "validation": 4, "test": 2}


def test_a_column_may_say_the_split_and_others_which_rows_count(tmp_path: Path) -> None:
    words = ["TRAIN", "TEST", "train", "UNUSED"]
    rows = [
        f"{index},{words[index % 4]},{('old', 'new')[index >= 20]},{('no', 'yes')[index // 4 % 2]}"
        for index in range(60)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["a,part,age,label", *rows]))
    section = DataSection(source="t.csv", split_column="part", only=("age=new",))

    dataset = load_dataset(section, tmp_path)

    assert dataset.feature_names == ("a",)
    assert dataset.row_counts["test"] == 10
    assert dataset.row_counts["train"] + dataset.row_counts["validation"] == 20
    assert dataset.features.min() == 20
    assert dataset.notes == ("30 rows left out by data.only or data.split_column",)


def test_classes_that_are_not_both_learned_and_tested_are_left_out(tmp_path: Path) -> None:
    rows = [f"{i},{'train' if i < 20 else 'test'},{'yes' if i % 2 else 'no'}" for i in range(30)]
    rows += ["1,train,late", "2,test,new"]
    (tmp_path / "t.csv").write_text("\n".join(["a,part,label", *rows]))

    dataset = load_dataset(DataSection(source="t.csv", split_column="part"), tmp_path)

    assert dataset.classes == ("no", "yes")
    (note,) = dataset.notes
    assert note.startswith("2 rows left out, of classes that do not occur both in training and")
    assert note.endswith(": late, new")


def test_columns_may_be_dropped(tmp_path: Path) -> None:
    section = msgspec.structs.replace(table(tmp_path), drop=("a",))

    assert load_dataset(section, tmp_path).feature_names == ("b",)
    with pytest.raises(InvalidDataError, match=r"no column 'c', and data\.drop names it"):
        load_dataset(msgspec.structs.replace(section, drop=("c",)), tmp_path)


def test_texts_become_the_weights_of_their_words(tmp_path: Path) -> None:
    lines = [
        f'{{"text": "a {word} film", "label": "{word}"}}'
        for word in ("good", "bad")
        for _ in range(9)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    section = DataSection(source="t.jsonl", text="text", text_features=2)

    dataset = load_dataset(section, tmp_path)

    assert dataset.feature_names == ("text:bad", "text:good")
    assert dataset.features[0].tolist() == [0, 1]
    assert dataset.encoding is not None


def test_texts_of_an_npz_file_are_read_alike(tmp_path: Path) -> None:
    words = ["good", "bad"] * 9
    np.savez(tmp_path / "t.npz", text=[f"a {word} film" for word in words], label=words)

    dataset = load_dataset(DataSection(source="t.npz", text="text"), tmp_path)

    assert dataset.feature_names == ("text:bad", "text:film", "text:good")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"only": ("c=1",)}, r"no column 'c', and data\.only names it"),
        ({"only": ("b=9",)}, r"data\.only and data\.split_column leave no row"),
        ({"split_column": "b"}, r"data\.only and data\.split_column leave no row"),
        ({"text": "c"}, r"no column 'c', and data\.text names it"),
    ],
)
def test_a_choice_that_does_not_fit_the_table_is_named(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidDataError, match=message):
        load_dataset(msgspec.structs.replace(table(tmp_path), **change), tmp_path)


def test_choices_for_tables_are_refused_where_there_are_numbers() -> None:
    with pytest.raises(InvalidProjectError, match="data.drop is for tables, and digits is none"):
        load_dataset(DataSection(source="digits", drop=("pixel_0_0",)), Path())
