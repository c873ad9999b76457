"""Real tables, texts and pictures load as they are: those of the folder EVENER_TEST_DATA."""

import os
from pathlib import Path
from typing import Final

import pytest

from evener.artifacts.project import parse_project
from evener.data.dataset import Dataset
from evener.data.load import load_dataset

FOLDER: Final = os.environ.get("EVENER_TEST_DATA")
pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="EVENER_TEST_DATA does not name a folder of real datasets"
)
REUTERS: Final[dict[str, object]] = {
    "source": "reuters-21578/reuters21578.csv.gz",
    "target": "topics",
    "separator": " ",
    "split_column": "lewissplit",
    "only": ["topics_attr=YES"],
    "text": ["title", "body"],
    "text_features": 500,
    "drop": ["newid", "cgisplit", "date"],
}


def loaded(**data: object) -> Dataset:
    return load_dataset(parse_project({"data": data}).data, Path(FOLDER or ""))


@pytest.mark.parametrize(
    ("name", "target", "task", "rows", "features"),
    [
        ("titanic_train", "Survived", "classes", 891, 13),
        ("bank-full", "y", "classes", 45_211, 51),
        ("pima_diabetes", "Outcome", "classes", 768, 8),
        ("boston_house_prices", "MEDV", "numbers", 506, 13),
        ("california_housing", "median_house_value", "numbers", 20_640, 14),
    ],
)
def test_a_table_loads_as_it_is(
    name: str, target: str, task: str, rows: int, features: int
) -> None:
    dataset = loaded(source=f"tabular/{name}.csv.gz", target=target)

    assert dataset.task == task
    assert dataset.features.shape == (rows, features)


def test_adult_keeps_its_test_rows_and_its_missing_values_are_noted() -> None:
    dataset = loaded(
        source="tabular/adult_train.csv.gz",
        test_source="tabular/adult_test.csv.gz",
        target="income",
    )

    assert dataset.classes == ("<=50K", ">50K")
    assert dataset.row_counts["test"] == 16_281
    assert any(note.startswith("'workclass' has no value in ") for note in dataset.notes)


def test_mnist_is_pictures_with_its_own_test_split() -> None:
    dataset = loaded(source="mnist/mnist.npz")

    assert (dataset.picture, dataset.outputs) == ((1, 28, 28), 10)
    assert dataset.row_counts == {"train": 48_000, "validation": 12_000, "test": 10_000}
    assert (float(dataset.features.min()), float(dataset.features.max())) == (0, 1)


def test_reuters_r52_is_single_labelled_documents_of_classes_in_both_parts() -> None:
    dataset = loaded(task="classes", **REUTERS)

    assert dataset.outputs == 52
    assert dataset.row_counts["train"] + dataset.row_counts["validation"] == 6532
    assert dataset.row_counts["test"] == 2568


def test_all_of_reuters_has_several_labels_a_document() -> None:
    dataset = loaded(**REUTERS)

    assert dataset.task == "labels"
    assert 1.1 < dataset.targets.sum(axis=1).mean() < 1.4


def test_imdb_is_two_files_of_texts() -> None:
    dataset = loaded(
        source="imdb/train.csv.gz",
        test_source="imdb/test.csv.gz",
        text="text",
        text_features=200,
        drop=["id", "rating"],
    )

    assert dataset.features.shape == (50_000, 200)
    assert dataset.row_counts["test"] == 25_000
