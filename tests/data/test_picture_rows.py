"""Reading a folder of pictures as rows to learn from."""

from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.project import DataSection
from evener.data.load import load_dataset
from evener.data.picture_rows import read_picture_rows
from evener.data.split import TEST, TRAIN, VALIDATION
from evener.errors import InvalidDataError

Image = pytest.importorskip("PIL.Image", reason="needs the extra 'images'")


def save(path: Path, colour: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), colour).save(path)


def test_each_picture_is_a_row_of_the_class_of_its_folder(tmp_path: Path) -> None:
    save(tmp_path / "red" / "1.png", (255, 0, 0))
    save(tmp_path / "blue" / "1.png", (0, 0, 51))

    table = read_picture_rows(tmp_path, "colour", size=(2, 3), colours="rgb")

    assert table.targets == {"colour": ["blue", "red"]}
    assert table.picture == (3, 3, 2)
    channels = table.features.reshape(2, 3, 6)
    assert np.allclose(channels[1, 0], 1)
    assert np.allclose(channels[0], np.array([[0], [0], [0.2]]))


def test_folders_of_parts_keep_the_split(tmp_path: Path) -> None:
    for part in ("train", "val", "test"):
        for colour in ("red", "blue"):
            save(tmp_path / part / colour / "1.png", (9, 9, 9))

    table = read_picture_rows(tmp_path, "label", size=(2, 2), colours="grey")

    assert table.parts is not None
    assert table.parts.tolist() == [TEST, TEST, TRAIN, TRAIN, VALIDATION, VALIDATION]
    assert table.targets["label"] == ["blue", "red"] * 3


def test_a_project_may_name_the_folder(tmp_path: Path) -> None:
    for number in range(10):
        save(tmp_path / "photos" / "red" / f"{number}.png", (255, number, 0))
        save(tmp_path / "photos" / "blue" / f"{number}.png", (0, number, 255))

    dataset = load_dataset(DataSection(source="photos", size=(4, 2), colours="grey"), tmp_path)

    assert (dataset.picture, dataset.classes) == ((1, 2, 4), ("blue", "red"))
    assert dataset.row_counts == {"train": 12, "validation": 4, "test": 4}


def test_a_picture_in_no_folder_is_named(tmp_path: Path) -> None:
    save(tmp_path / "red" / "1.png", (255, 0, 0))
    save(tmp_path / "lost.png", (255, 0, 0))

    with pytest.raises(InvalidDataError, match="the picture lost.png is in no folder"):
        read_picture_rows(tmp_path, "label", size=(2, 2), colours="rgb")
